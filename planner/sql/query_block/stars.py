"""``*`` and ``t.*``: the columns that they mean, in a SELECT list and among arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import function, is_aggregate
from forerun.planner.algebra.nested import struct_fields
from forerun.planner.algebra.scalar import Ref
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.scope import Field, parts_of, written_path
from forerun.planner.sql.syntax.text import require_only


class Meant(NamedTuple):
    """A column, or a field of a struct, that a star means: its name, its tree, its column."""

    name: str
    node: exp.Expr
    value: Ref | None = None


def is_star(node: exp.Expr) -> bool:
    """Return whether an expression is ``*`` or ``t.*``."""
    return isinstance(node, exp.Star) or _is_qualified(node)


def meant(binder: Binder, node: exp.Expr) -> list[Meant]:
    """Return what a star means. Raises :class:`SqlError` where there is nothing of the kind."""
    if isinstance(node, exp.Star):
        return _of(binder, node, [f for f in binder.scope.fields if f.starred], "column")
    return _qualified(binder, node)


def spread(binder: Binder, node: exp.Expr) -> bool:
    """Write what each star among the arguments of functions and in the lists of IN means in its
    place, as Spark does: ``hash(*)`` is ``hash(a, b)``. ``count(*)`` stays. Return whether there
    was one."""
    found = [one for one in _lists(node) if any(map(is_star, one.expressions))]
    for within in found:
        _refuse_count(binder, within)
        within.set("expressions", list(_spread(binder, within.expressions)))
    return bool(found)


def _lists(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the calls and lists below, without those of subqueries."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, exp.Query):
            continue
        if isinstance(one, exp.Anonymous | exp.In | exp.Distinct) and not _counts_rows(one):
            yield one
        stack += one.iter_expressions()


def _spread(binder: Binder, arguments: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    for argument in arguments:
        if is_star(argument):
            yield from (one.node for one in meant(binder, argument))
        else:
            yield argument


def _is_qualified(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Star)


def _counts_rows(node: exp.Expr) -> bool:
    """Return whether a call has a ``*`` that stands for the row itself."""
    return _takes_star(node) and [type(one) for one in node.expressions] == [exp.Star]


def _takes_star(node: exp.Expr) -> bool:
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    return is_aggregate(name) and function(name).takes_star


def _refuse_count(binder: Binder, within: exp.Expr) -> None:
    """Refuse ``count(t.*)``, as Spark does, unless it is written in capitals."""
    call = within.parent if isinstance(within, exp.Distinct) else within
    given = within.expressions
    if call is None or not _takes_star(call) or not str(call.this).islower() or len(given) != 1:
        return
    if _is_qualified(given[0]) and len(parts_of(given[0])) == 2:
        hint = "write count(*), or name the columns: count(a, b) counts rows that have no NULL"
        written = f"{call.this}({given[0].table}.*)"
        raise binder.text.error(call, f"{written} is not allowed", hint)


def _qualified(binder: Binder, node: exp.Expr) -> list[Meant]:
    """``t.*`` and, where no table is called so, ``s.*`` of a struct."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Star):
        raise TypeError(f"no star: {type(node).__name__}")
    text, scope, star = binder.text, binder.scope, node.this
    *parts, _ = parts_of(node)
    fields = [f for f in scope.fields if [f.qualifier.lower()] == [p.lower() for p in parts]]
    if fields:
        return _of(binder, star, fields, "column")
    if len(parts) == 1 and not scope.matches(parts[0], None):
        raise text.unknown(star, "table or alias", parts[0], scope.qualifiers)
    of_struct = binder.bind(written_path(tuple(parts), node))
    inside = struct_fields(of_struct.type)
    if not inside:
        hint = "only tables and structs have .*"
        raise text.error(star, f"{parts[-1]}.* of a value of type {of_struct.type}", hint)
    return _of(binder, star, [(name, (*parts, name)) for name, _ in inside], "field")


def _of(
    binder: Binder,
    star: exp.Star,
    found: Sequence[Field | tuple[str, tuple[str, ...]]],
    kind: str,
) -> list[Meant]:
    """The columns that a ``*`` means, or the fields with their paths, without those of EXCEPT."""
    text = binder.text
    require_only(text, star, "except_", "except")
    if not found:
        raise text.error(star, "* without a table in FROM")
    names = [one.name if isinstance(one, Field) else one[0] for one in found]
    dropped = {part.name.lower(): part for part in star.args.get("except_") or ()}
    for name, part in dropped.items():
        if name not in {known.lower() for known in names}:
            raise text.unknown(part, kind, part.name, names)
        meant = {one.column for one in found if isinstance(one, Field) and one.name.lower() == name}
        if len(meant) > 1:
            hint = "leave it out of the star of its table: t.* EXCEPT (...)"
            raise text.error(part, f"column {part.name} is ambiguous", hint)
    columns = []
    for name, one in zip(names, found, strict=True):
        if name.lower() in dropped:
            continue
        if isinstance(one, Field):
            path = (one.qualifier, name) if one.qualifier else (name,)
            columns.append(Meant(name, written_path(path, star), Ref(one.column)))
        else:
            columns.append(Meant(name, written_path(one[1], star)))
    return columns
