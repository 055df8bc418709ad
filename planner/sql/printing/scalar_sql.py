"""Scalars as Spark SQL text. What Spark reads back has the same value and the same type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from forerun.planner.algebra.aggregates.functions import function, is_aggregate
from forerun.planner.algebra.higher_order import LAMBDA, VARIABLE
from forerun.planner.algebra.nested import ELEMENT, FIELD
from forerun.planner.algebra.relational import AggregateCall, SortKey, WindowCall
from forerun.planner.algebra.scalar import CONNECTIVES, INFIX, Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import ColumnId, DataType
from forerun.planner.sql.printing.names import quote

_ESCAPES = {
    "\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000", "\x1a": "\\Z",
}  # fmt: skip
# NUL is not \0: before two more digits of the text Spark takes that for one octal character.
_SUFFIX = {"TINYINT": "Y", "SMALLINT": "S", "INT": "", "BIGINT": "L"}
# Not every engine reads the sign together with the digits, so these go through a cast.
_LOWEST = {"TINYINT": -(2**7), "SMALLINT": -(2**15), "INT": -(2**31), "BIGINT": -(2**63)}
_OPERATORS = INFIX | {"div", "&", "|", "^"}


@dataclass(frozen=True, slots=True)
class SqlPiece:
    """Text of a value. ``atomic``: it needs no parentheses as an operand. ``plain``: it is just
    the name of a column, so writing it twice computes nothing twice."""

    text: str
    atomic: bool = False
    plain: bool = False


Names = Mapping[ColumnId, SqlPiece]


def string_literal(text: str) -> str:
    """A string that Spark reads back as the same characters."""
    return "'" + "".join(_ESCAPES.get(char, char) for char in text) + "'"


def literal_sql(literal: Literal) -> SqlPiece:
    """A constant with exactly its type."""
    text, type_ = literal.text, literal.type
    if text is None:
        known = type_.is_known and type_.name != "VOID"
        return SqlPiece(f"CAST(NULL AS {type_.sql})" if known else "NULL", atomic=True)
    if type_.name == "STRING":
        return SqlPiece(string_literal(text), atomic=True)
    if type_.name == "BOOLEAN":
        return SqlPiece(text, atomic=True)
    if type_.name in _SUFFIX and int(text) != _LOWEST[type_.name]:
        return SqlPiece(text + _SUFFIX[type_.name], atomic=not text.startswith("-"))
    if type_.name == "DECIMAL":
        return _decimal(text, type_)
    if type_.name == "DOUBLE" and re.fullmatch(r"-?[\d.]+([eE][+-]?\d+)?", text):
        exponent = text if "e" in text.lower() else f"{text}E0"
        return SqlPiece(f"{exponent.upper()}D", atomic=not text.startswith("-"))
    if type_.name in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        return SqlPiece(f"{type_.name}{string_literal(text)}", atomic=True)
    if type_.name.startswith("INTERVAL "):
        unit = type_.name.removeprefix("INTERVAL ")
        return SqlPiece(f"INTERVAL {string_literal(text)} {unit}", atomic=True)
    return SqlPiece(f"CAST({string_literal(text)} AS {type_.sql})", atomic=True)


def _decimal(text: str, type_: DataType) -> SqlPiece:
    digits = Decimal(text).as_tuple()
    scale = -digits.exponent if isinstance(digits.exponent, int) else 0
    if "E" not in text.upper() and (max(len(digits.digits), scale), scale) == (
        type_.precision,
        type_.scale,
    ):
        return SqlPiece(f"{text}BD", atomic=not text.startswith("-"))
    return SqlPiece(f"CAST('{text}' AS {type_.sql})", atomic=True)


_OTHER_DIGITS = ("/", "round", "bround")
"""To which other engines give other decimal types. To Spark, whose types ours are, a cast is
nothing."""


def scalar_sql(scalar: Scalar, names: Names) -> SqlPiece:
    """The text of an expression over columns whose texts are in ``names``."""
    if isinstance(scalar, Ref):
        return names[scalar.column.id]
    if isinstance(scalar, Literal):
        return literal_sql(scalar)
    args = [scalar_sql(arg, names) for arg in scalar.args]
    if scalar.name in _OTHER_DIGITS and scalar.type.name == "DECIMAL":
        text = (
            _infix("/", args) if scalar.name == "/" else _call(scalar.name, [a.text for a in args])
        )
        return SqlPiece(f"CAST({text} AS {scalar.type.sql})", atomic=True)
    if scalar.name in CONNECTIVES:
        return SqlPiece(chained([_operand(arg) for arg in args], f" {scalar.name.upper()} "))
    if scalar.name in _OPERATORS and len(args) == 2:
        return SqlPiece(_infix(scalar.name, args))
    special = _SPECIAL.get(scalar.name)
    if special is not None:
        return special(scalar, args)
    if scalar.name.endswith("_unit") and isinstance(scalar.args[0], Literal):
        rest = ", ".join(arg.text for arg in args[1:])
        name = scalar.name.removesuffix("_unit")
        return SqlPiece(f"{name}({scalar.args[0].text}, {rest})", atomic=True)
    return SqlPiece(_call(scalar.name, [arg.text for arg in args]), atomic=True)


MOST_FLAT = 64
"""So many parts of a chain follow one another without parentheses."""


def chained(parts: Sequence[str], separator: str) -> str:
    """Parts joined by AND, OR or UNION ALL: flat, or in halves with parentheses around each where
    there are many. A parser that calls itself for every part (Sail ends with a crash at 500) then
    goes as deep as the logarithm of their number."""
    if len(parts) <= MOST_FLAT:
        return separator.join(parts)
    half = len(parts) // 2
    return f"({chained(parts[:half], separator)}){separator}({chained(parts[half:], separator)})"


def _operand(piece: SqlPiece) -> str:
    return piece.text if piece.atomic else f"({piece.text})"


def _infix(name: str, args: list[SqlPiece]) -> str:
    left, right = args
    return f"{_operand(left)} {name.upper()} {_operand(right)}"


def _call(name: str, args: list[str]) -> str:
    shown = name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else quote(name)
    return f"{shown}({', '.join(args)})"


def _cast(scalar: Call, args: list[SqlPiece]) -> SqlPiece:
    return SqlPiece(f"{scalar.name.upper()}({args[0].text} AS {scalar.type.sql})", atomic=True)


def _case(_: Call, args: list[SqlPiece]) -> SqlPiece:
    pairs = zip(args[0:-1:2], args[1:-1:2], strict=True)
    branches = " ".join(f"WHEN {when.text} THEN {then.text}" for when, then in pairs)
    return SqlPiece(f"CASE {branches} ELSE {args[-1].text} END", atomic=True)


def _in(_: Call, args: list[SqlPiece]) -> SqlPiece:
    return SqlPiece(f"{_operand(args[0])} IN ({', '.join(arg.text for arg in args[1:])})")


def _like(scalar: Call, args: list[SqlPiece]) -> SqlPiece:
    escape = f" ESCAPE {args[2].text}" if len(args) == 3 else ""
    return SqlPiece(f"{_operand(args[0])} {scalar.name.upper()} {_operand(args[1])}{escape}")


def _is_null(_: Call, args: list[SqlPiece]) -> SqlPiece:
    return SqlPiece(f"isnull({args[0].text})", atomic=True)


def _not(_: Call, args: list[SqlPiece]) -> SqlPiece:
    return SqlPiece(f"NOT {_operand(args[0])}")


def _negative(_: Call, args: list[SqlPiece]) -> SqlPiece:
    return SqlPiece(f"-{_operand(args[0])}")


def _bit_not(_: Call, args: list[SqlPiece]) -> SqlPiece:
    return SqlPiece(f"~{_operand(args[0])}")


def _trim(scalar: Call, args: list[SqlPiece]) -> SqlPiece:
    where = scalar.name.removeprefix("trim_").upper()
    removed = f" {args[1].text}" if len(args) == 2 else ""
    return SqlPiece(f"trim({where}{removed} FROM {args[0].text})", atomic=True)


def _part(_: Call, args: list[SqlPiece]) -> SqlPiece:
    """Write a field in brackets, too: after a dot it might be read as the column of a table."""
    return SqlPiece(f"{_operand(args[0])}[{args[1].text}]", atomic=True)


def _variable(scalar: Call, _: list[SqlPiece]) -> SqlPiece:
    return SqlPiece(_variable_name(scalar), atomic=True)


def _variable_name(scalar: Scalar) -> str:
    name = scalar.args[0] if isinstance(scalar, Call) else scalar
    if not isinstance(name, Literal) or name.text is None:
        raise TypeError("a variable is called by a constant name")
    return name.text


def _lambda(scalar: Call, args: list[SqlPiece]) -> SqlPiece:
    names = [_variable_name(variable) for variable in scalar.args[1:]]
    shown = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return SqlPiece(f"{shown} -> {args[0].text}")


_SPECIAL: dict[str, Callable[[Call, list[SqlPiece]], SqlPiece]] = {
    "cast": _cast, "try_cast": _cast, "case": _case, "in": _in, "like": _like, "ilike": _like,
    "rlike": _like, "isnull": _is_null, "not": _not, "neg": _negative, "~": _bit_not,
    "trim_both": _trim, "trim_leading": _trim, "trim_trailing": _trim,
    FIELD: _part, ELEMENT: _part, LAMBDA: _lambda, VARIABLE: _variable,
}  # fmt: skip


def aggregate_sql(call: AggregateCall, names: Names) -> str:
    """``sum(DISTINCT x) FILTER (WHERE p)``, ``f(x) WITHIN GROUP (ORDER BY y)``."""
    parts = [scalar_sql(arg, names).text for arg in call.args]
    ordered = f" WITHIN GROUP (ORDER BY {parts.pop()} {call.within})" if call.within else ""
    args = ", ".join(parts) or ("" if ordered else "*")
    text = f"{call.name}({'DISTINCT ' if call.distinct else ''}{args}){ordered}"
    if call.where is not None:
        text = f"{text} FILTER (WHERE {scalar_sql(call.where, names).text})"
    in_order = function(call.name).in_order if call.determined else ""
    return f"{in_order}({text})" if in_order else text


def window_sql(call: WindowCall, names: Names) -> str:
    """``f(x) OVER (PARTITION BY ... ORDER BY ... frame)``."""
    args = ", ".join(scalar_sql(arg, names).text for arg in call.args)
    if is_aggregate(call.name) and not args:
        args = "*"
    over = []
    if call.partition:
        over.append("PARTITION BY " + ", ".join(names[c.id].text for c in call.partition))
    if call.order:
        over.append("ORDER BY " + ", ".join(sort_sql(key, names[key.column.id].text)
                                            for key in call.order))  # fmt: skip
    if call.frame:
        over.append(call.frame)
    distinct = "DISTINCT " if call.distinct else ""
    nulls = " IGNORE NULLS" if call.ignore_nulls else ""
    return f"{call.name}({distinct}{args}){nulls} OVER ({' '.join(over)})"


def sort_sql(key: SortKey, text: str) -> str:
    """A sort key with its direction; the place of NULLs is always said."""
    direction = "ASC" if key.ascending else "DESC"
    return f"{text} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
