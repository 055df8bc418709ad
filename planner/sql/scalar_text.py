"""Scalars as Spark SQL text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from planner.algebra.relational import AggregateCall, SortKey, WindowCall
from planner.algebra.scalar import INFIX, Call, Literal, Ref, Scalar
from planner.algebra.types import ColumnId, DataType

Names = Mapping[ColumnId, str]
"""The text that stands for each column in the clause that is printed."""

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_INTEGER_SUFFIX = {"TINYINT": "Y", "SMALLINT": "S", "INT": "", "BIGINT": "L"}
_LOWEST = {"TINYINT": -(2**7), "SMALLINT": -(2**15), "INT": -(2**31), "BIGINT": -(2**63)}


def string(text: str) -> str:
    """A string literal that Spark reads as exactly this text."""
    return "'" + "".join(_ESCAPES.get(char, char) for char in text) + "'"


def literal(value: Literal) -> str:
    """A constant with exactly its type."""
    type_, text = value.type, value.text
    if text is None:
        return "NULL" if type_.name in ("VOID", "UNKNOWN") else f"CAST(NULL AS {type_.sql})"
    if type_.name == "BOOLEAN":
        return text.upper()
    if type_.is_integer and int(text) != _LOWEST[type_.name]:
        digits = f"{int(text)}{_INTEGER_SUFFIX[type_.name]}"
        return f"({digits})" if digits.startswith("-") else digits
    if type_.is_floating and math.isfinite(float(text)):
        return f"CAST({string(text)} AS {type_.sql})"
    if type_.name == "STRING":
        return string(text)
    if type_.name in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        return f"{type_.name}{string(text)}"
    if type_.name == "BINARY":
        return f"X{string(text)}"
    if type_.name.startswith("INTERVAL"):
        return f"INTERVAL {string(text)} {type_.name.removeprefix('INTERVAL').strip()}"
    return f"CAST({string(text)} AS {type_.sql})"


def scalar(expression: Scalar, names: Names) -> str:
    """An expression, fully parenthesized where operators nest."""
    if isinstance(expression, Ref):
        return names[expression.column.id]
    if isinstance(expression, Literal):
        return literal(expression)
    args = tuple(scalar(arg, names) for arg in expression.args)
    special = _SPECIAL.get(expression.name)
    if special is not None:
        return special(expression, args)
    if expression.name in INFIX or expression.name == "div":
        return f"({args[0]} {expression.name} {args[1]})"
    if expression.name.endswith("_unit"):
        return _with_unit(expression, args)
    return f"{expression.name}({', '.join(args)})"


def _cast(call: Call, args: tuple[str, ...]) -> str:
    return f"{call.name.upper()}({args[0]} AS {_type(call.type)})"


def _type(type_: DataType) -> str:
    return type_.sql


def _case(_call: Call, args: tuple[str, ...]) -> str:
    *pairs, otherwise = args
    branches = [f"WHEN {pairs[i]} THEN {pairs[i + 1]}" for i in range(0, len(pairs), 2)]
    return f"CASE {' '.join(branches)} ELSE {otherwise} END"


def _like(call: Call, args: tuple[str, ...]) -> str:
    text = f"{args[0]} {call.name.upper()} {args[1]}"
    return f"({text} ESCAPE {args[2]})" if len(args) > 2 else f"({text})"


def _in(_call: Call, args: tuple[str, ...]) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _joined(word: str) -> Callable[[Call, tuple[str, ...]], str]:
    return lambda _call, args: "(" + f" {word} ".join(args) + ")"


def _trim(call: Call, args: tuple[str, ...]) -> str:
    where = call.name.removeprefix("trim_").upper()
    removed = f"{args[1]} " if len(args) > 1 else ""
    return f"TRIM({where} {removed}FROM {args[0]})"


def _with_unit(call: Call, args: tuple[str, ...]) -> str:
    """``date_add(MONTH, 1, d)``: the first argument is a keyword."""
    unit = call.args[0]
    word = unit.text if isinstance(unit, Literal) else None
    if word is None or not word.isalpha():
        raise ValueError(f"{call.name} begins with a unit, not {args[0]}")
    return f"{call.name.removesuffix('_unit')}({word}, {', '.join(args[1:])})"


_SPECIAL: dict[str, Callable[[Call, tuple[str, ...]], str]] = {
    "and": _joined("AND"),
    "or": _joined("OR"),
    "not": lambda _c, a: f"(NOT {a[0]})",
    "neg": lambda _c, a: f"(- {a[0]})",
    "isnull": lambda _c, a: f"({a[0]} IS NULL)",
    "isnotnull": lambda _c, a: f"({a[0]} IS NOT NULL)",
    "cast": _cast,
    "try_cast": _cast,
    "case": _case,
    "like": _like,
    "ilike": _like,
    "rlike": _like,
    "in": _in,
    "trim_both": _trim,
    "trim_leading": _trim,
    "trim_trailing": _trim,
}


def aggregate(call: AggregateCall, names: Names) -> str:
    """An aggregate call with DISTINCT and FILTER."""
    args = ", ".join(scalar(arg, names) for arg in call.args) or "*"
    text = f"{call.name}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.where is not None:
        text += f" FILTER (WHERE {scalar(call.where, names)})"
    return text


def sort_key(key: SortKey, names: Names) -> str:
    direction = "ASC" if key.ascending else "DESC"
    nulls = "FIRST" if key.nulls_first else "LAST"
    return f"{names[key.column.id]} {direction} NULLS {nulls}"


def window(call: WindowCall, names: Names) -> str:
    """A window call with its OVER clause."""
    args = ", ".join(scalar(arg, names) for arg in call.args)
    if not args and call.name == "count":
        args = "*"
    text = f"{call.name}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.ignore_nulls:
        text += " IGNORE NULLS"
    parts = []
    if call.partition:
        parts.append("PARTITION BY " + ", ".join(names[c.id] for c in call.partition))
    if call.order:
        parts.append("ORDER BY " + ", ".join(sort_key(key, names) for key in call.order))
    if call.frame:
        parts.append(call.frame)
    return f"{text} OVER ({' '.join(parts)})"
