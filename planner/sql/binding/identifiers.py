"""Names of output columns: the alias, the column's own name, or what Spark would call it."""

from __future__ import annotations

import re

from sqlglot import exp

from forerun.planner.sql.binding.shown import FIELD, called_as, own_name, shown
from forerun.planner.sql.syntax.parser import LITERAL

_INTERNAL = re.compile(r"[^A-Za-z0-9_]+")


def output_name(node: exp.Expr) -> str:
    """Return the name that Spark gives an item of a SELECT list (``ResolveAliases``). Arithmetic
    of moments and lengths of time has it after it is bound."""
    if isinstance(node, exp.Alias):
        return str(node.alias)
    while isinstance(node, exp.Paren):
        node = node.this
    return own_name(node) or own_name(_cast(node)) or shown(node)


def _cast(node: exp.Expr) -> exp.Expr | None:
    """Return what a cast is of, if Spark calls the cast as it calls that: a column, but no field of
    one. ``int(a)`` is a cast, too."""
    inner = called_as(node)
    if isinstance(node, exp.Cast | exp.TryCast) and not node.meta.get(LITERAL):
        inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    of_field = isinstance(inner, exp.Dot) or (inner is not None and inner.meta.get(FIELD))
    return None if of_field else inner


def internal_name(name: str) -> str:
    """A short form for generated SQL, without characters that tables or files may refuse."""
    cleaned = _INTERNAL.sub("_", name).strip("_")
    return cleaned[:40].rstrip("_") or "expression"
