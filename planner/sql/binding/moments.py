"""Functions of moments that take a word: the unit of ``dateadd``, the field of EXTRACT."""

from __future__ import annotations

from sqlglot import exp

from forerun.planner.algebra.functions import result_type
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import BIGINT, INT, STRING, TIMESTAMP, UNKNOWN
from forerun.planner.sql.binding.binder import Binder

_UNITS = {
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND",
    "MILLISECOND", "MICROSECOND",
}  # fmt: skip
_DIFFERENCES = ("datediff", "date_diff", "timestampdiff")
_EXTRACTED = {
    "YEAR": "year", "YEARS": "year", "QUARTER": "quarter", "MONTH": "month", "MONTHS": "month",
    "WEEK": "weekofyear", "WEEKS": "weekofyear", "DAY": "day", "DAYS": "day",
    "DAYOFWEEK": "dayofweek", "DOW": "dayofweek", "DOY": "dayofyear", "HOUR": "hour",
    "HOURS": "hour", "MINUTE": "minute", "MINUTES": "minute",
}  # fmt: skip

_OTHER_FIELDS = {
    "Y", "YR", "YRS", "YEAROFWEEK", "QTR", "MON", "MONS", "W", "D", "DAYOFWEEK_ISO", "DOW_ISO",
    "H", "HR", "HRS", "M", "MIN", "MINS", "S", "SEC", "SECOND", "SECONDS", "SECS",
}  # fmt: skip
"""Fields of a moment for which no function stands in their place."""
_OF_LENGTHS = {
    "m": {"YEAR", "Y", "YEARS", "YR", "YRS", "MONTH", "MON", "MONS", "MONTHS"},
    "w": {
        "DAY", "D", "DAYS", "HOUR", "H", "HOURS", "HR", "HRS", "MINUTE", "M", "MIN", "MINS",
        "MINUTES", "SECOND", "S", "SEC", "SECONDS", "SECS",
    },
}  # fmt: skip
"""The fields of an interval, by its kind (``ExtractIntervalPart``)."""


def with_unit(binder: Binder, name: str, arguments: list[exp.Expr]) -> Scalar:
    """``date_add(MONTH, 1, d)``: the unit is a keyword, kept as a string argument."""
    unit, *rest = arguments
    if not isinstance(unit, exp.Var) or unit.name.upper() not in _UNITS:
        raise binder.text.error(unit, f"{name} with three arguments begins with a unit like DAY")
    args, difference = tuple(binder.bind(argument) for argument in rest), name in _DIFFERENCES
    for place, arg in enumerate(args):
        amount = place == 0 and not difference
        if kind_of(arg.type) and kind_of(arg.type) not in ("vilcsfe" if amount else "vsdtn"):
            raise binder.text.error(rest[place], f"{name} does not take {arg.type} here")
    moment = args[-1].type if args[-1].type.name == "TIMESTAMP_NTZ" else TIMESTAMP
    type_ = BIGINT if difference else moment if args[-1].type.is_known else UNKNOWN
    return Call(f"{name}_unit", (Literal(unit.name.upper(), STRING), *args), type_)


def extract(binder: Binder, node: exp.Expr) -> Scalar:
    """``EXTRACT(field FROM value)``."""
    return part(binder, node, node.this.name, node.args["expression"])


def named_field(arguments: list[exp.Expr]) -> str:
    """Return the field that ``date_part('year', d)`` names; empty where it is no plain text."""
    first = arguments[0] if len(arguments) == 2 else None
    return str(first.this) if isinstance(first, exp.Literal) and first.is_string else ""


def part(binder: Binder, node: exp.Expr, name: str, of: exp.Expr) -> Scalar:
    """A field of a moment or of an interval, as EXTRACT and ``date_part`` give it."""
    field, value = name.upper(), binder.bind(of)
    function = _EXTRACTED.get(field)
    if function is None and field not in _OTHER_FIELDS:
        raise binder.text.error(node, f"EXTRACT has no field {field}")
    kind = kind_of(value.type)
    if kind and kind not in "vsdtnmw":
        raise binder.text.error(of, f"EXTRACT does not take {value.type}")
    has = _OF_LENGTHS.get(kind)
    if has and field not in has:
        raise binder.text.error(node, f"EXTRACT has no field {field} of {value.type}")
    if function is not None and not value.type.name.startswith("INTERVAL"):
        return Call(function, (value,), INT)
    types, constants = (STRING, value.type), (field, None)
    return Call(
        "date_part", (Literal(field, STRING), value), result_type("date_part", types, constants)
    )
