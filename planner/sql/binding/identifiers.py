"""Names of output columns: the alias, the column's own name, or what Spark would call it."""

from __future__ import annotations

import re

from sqlglot import exp

PATH = "path"
"""The mark of a column with fields: what it is called inside of an expression."""
_SUFFIX = re.compile(r"(?<=[\d.])(BD|[LSYDF])\Z", re.IGNORECASE)
_BY_THEIR_NAME = ("window", "session_window")
"""Functions whose column Spark calls by their names alone."""
_INTERNAL = re.compile(r"[^A-Za-z0-9_]+")


def output_name(node: exp.Expr) -> str:
    """The name Spark gives an item of a SELECT list."""
    if isinstance(node, exp.Alias):
        return str(node.alias)
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in _BY_THEIR_NAME:
        return str(node.this).lower()
    inner = node
    while isinstance(inner, exp.Dot | exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Column):  # a name of several parts is called by the last one
        return str(node.name)
    return _pretty(node)


def internal_name(name: str) -> str:
    """A short form for generated SQL, without characters that tables or files may refuse."""
    cleaned = _INTERNAL.sub("_", name).strip("_")
    return cleaned[:40].rstrip("_") or "expression"


_INFIX: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.EQ: "=",
    exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.And: "AND", exp.Or: "OR",
    exp.NullSafeEQ: "<=>", exp.IntDiv: "div",
}  # fmt: skip


def _pretty(node: exp.Expr) -> str:
    if isinstance(node, exp.Paren | exp.Alias):
        return _pretty(node.this)
    if PATH in node.meta:
        return str(node.meta[PATH])
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return f"{_pretty(node.this)}.{node.expression.name}"
    if isinstance(node, exp.Bracket):
        return f"{_pretty(node.this)}[{', '.join(_pretty(one) for one in node.expressions)}]"
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _SUFFIX.sub("", str(node.this))
    if (operator := _pretty_operator(node)) is not None:
        return operator
    if isinstance(node, exp.Anonymous):
        return _pretty_call(node)
    if isinstance(node, exp.Subquery):
        return f"scalarsubquery({', '.join(c.name for c in node.find_all(exp.Column))})"
    return str(node.sql(dialect="spark"))


def _pretty_operator(node: exp.Expr) -> str | None:
    if type(node) in _INFIX:
        return f"({_pretty(node.this)} {_INFIX[type(node)]} {_pretty(node.expression)})"
    if isinstance(node, exp.NEQ):
        return f"(NOT ({_pretty(node.this)} = {_pretty(node.expression)}))"
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == "positive":
        return f"(+ {', '.join(_pretty(one) for one in node.expressions)})"
    if isinstance(node, exp.Not):
        return f"(NOT {_pretty(node.this)})"
    if isinstance(node, exp.Neg) and not isinstance(node.this, exp.Literal):
        return f"(- {_pretty(node.this)})"
    return None


def _pretty_call(node: exp.Anonymous) -> str:
    args = node.expressions
    distinct = "DISTINCT " if args and isinstance(args[0], exp.Distinct) else ""
    if distinct:
        args = args[0].expressions
    shown = ", ".join(_pretty_argument(argument) for argument in args)
    return f"{str(node.this).lower()}({distinct}{shown})"


def _pretty_argument(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return f"{_pretty(node.this)} AS {node.alias}"
    return "1" if isinstance(node, exp.Star) else _pretty(node)
