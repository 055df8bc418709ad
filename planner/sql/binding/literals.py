"""Literals of the query text as typed constants."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from math import isinf

from sqlglot import exp

from forerun.planner.algebra.clock_texts import is_by_clock
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
    parse_type,
)
from forerun.planner.sql.binding.coercion import cast
from forerun.planner.sql.binding.shown import CONSTANT
from forerun.planner.sql.syntax.text import QueryText

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"( ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?)?")
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_OF_A_SECOND = {"MILLISECOND": 3, "MICROSECOND": 6}
"""By unit: the decimals of a second that one of it is."""
_WHOLE_WEEK = 7


def number(text: QueryText, node: exp.Expr, digits: str) -> Literal:
    """A number of the text, as its type holds it. Raises :class:`forerun.planner.errors.SqlError`
    for one that its type does not have."""
    literal = node.meta[CONSTANT] = _number(text, node, digits)
    return literal


def _number(text: QueryText, node: exp.Expr, digits: str) -> Literal:
    """Without a suffix INT, BIGINT or DECIMAL by its size, DOUBLE with an exponent; with one of the
    type that it names."""
    found = _NUMBER.fullmatch(digits)
    try:
        value = Decimal(found[1] if found else digits)
    except InvalidOperation:
        raise text.error(node, f"{digits} is not a number") from None
    suffix = found[2].upper() if found else ""
    if suffix in _SUFFIXED:
        type_ = _SUFFIXED[suffix]
        # The sign is read later: with it the lowest of all is one more than the highest.
        most = 2 ** (_BITS[suffix] - 1) - (0 if isinstance(node.parent, exp.Neg) else 1)
        if value != int(value) or value > most:
            raise text.error(node, f"{digits} is not a {type_}")
        return Literal(str(int(value)), type_)
    if suffix == "F":
        if abs(value) > _MOST_FLOAT:
            raise text.error(node, f"{digits} is not a FLOAT")
        return Literal(repr(float(value)), FLOAT)
    if suffix == "D" or (suffix != "BD" and "e" in digits.lower()):
        if isinf(float(value)):
            raise text.error(node, f"{digits} is not a DOUBLE")
        return Literal(repr(float(value)), DOUBLE)
    if not suffix and "." not in digits:
        if -(2**31) <= value < 2**31:
            return Literal(str(int(value)), INT)
        if -(2**63) <= value < 2**63:
            return Literal(str(int(value)), BIGINT)
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    precision = max(len(f"{value:f}".replace(".", "").lstrip("0")), scale, 1)
    if precision > 38:
        raise text.error(node, f"{digits} has more than 38 digits")
    return Literal(f"{value:f}", decimal(precision, scale))


_NUMBER = re.compile(r"([\d.]+(?:[eE][+-]?\d+)?)(BD|[LSYDF]?)", re.IGNORECASE)
_SUFFIXED = {"L": BIGINT, "S": DataType("SMALLINT"), "Y": DataType("TINYINT")}
_MOST_FLOAT = Decimal("3.4028234663852886E38")
_BITS = {"L": 64, "S": 16, "Y": 8}


def negated(literal: Literal) -> Literal:
    """``-5`` as one literal. The sign can bring a number into INT's or BIGINT's range."""
    flipped = (literal.text or "").removeprefix("-")
    if literal.text is not None and not literal.text.startswith("-"):
        flipped = f"-{flipped}"
    if literal.type == BIGINT and int(flipped) == -(2**31):
        return Literal(flipped, INT)
    if literal.type == decimal(19, 0) and int(flipped) == -(2**63):
        return Literal(flipped, BIGINT)
    return Literal(flipped, literal.type)


def written_cast(value: Scalar, to: DataType) -> Scalar:
    """A CAST the user wrote, or a typed literal (``DATE'...'``, ``1.5D``), which parses the same.

    Only texts that are exactly in the type's own form are folded, anything else stays a cast.
    """
    if isinstance(value, Literal) and value.text is not None:
        if value.type == STRING:
            if to == DATE and _is_date(value.text):
                return Literal(value.text, DATE)
            if to in (TIMESTAMP, TIMESTAMP_NTZ) and _is_moment(value.text):
                return Literal(value.text, to)
            if to.name == "DECIMAL" and re.fullmatch(r"-?\d+(\.\d+)?", value.text):
                folded = cast(Literal(value.text, _natural(value.text)), to)
                return folded if isinstance(folded, Literal) else Call("cast", (value,), to)
        if to == DOUBLE and (value.type.is_integer or value.type.name == "DECIMAL"):
            return Literal(repr(float(Decimal(value.text))), DOUBLE)
    return cast(value, to)


def _is_date(text: str) -> bool:
    """A day of the calendar, written as Spark prints it."""
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    return _is_date(text[:10]) and _TIME.fullmatch(text[10:]) is not None


def require_moment(text: QueryText, node: exp.Expr, written: str, to: DataType) -> None:
    """Refuse a literal of a type whose text is no moment, which is an error where Spark parses."""
    found = _LOOSE.fullmatch(written.strip())
    month, day = (int(part or 1) for part in (found[1], found[2])) if found else (0, 0)
    if _EPOCH.match(written) or is_by_clock(written):
        return
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise text.error(node, f"'{written}' is no {to}")


_EPOCH = re.compile(r"\s*epoch(?![A-Za-z])", re.IGNORECASE)
_LOOSE = re.compile(r"[+-]?\d{4,7}(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
"""What Spark reads as a date: less than two digits for a month or a day, or none of them."""


def _natural(digits: str) -> DataType:
    whole, _, fraction = digits.lstrip("-").partition(".")
    return decimal(min(38, max(1, len(whole) + len(fraction))), min(38, len(fraction)))


def type_of(text: QueryText, node: exp.DataType) -> DataType:
    """The type a CAST names."""
    try:
        return parse_type(node.sql(dialect="spark"))
    except ValueError as error:
        raise text.error(node, str(error)) from None


def hexadecimal(node: exp.HexString) -> Scalar:
    """``X'1F'``: bytes have no text of their own, so they are written as what makes them."""
    return Call("unhex", (Literal(node.name.upper(), STRING),), BINARY)


def interval(text: QueryText, node: exp.Interval) -> Literal:
    """``INTERVAL '3' MONTH``, ``INTERVAL 3 MONTHS``, ``INTERVAL '1-2' YEAR TO MONTH``."""
    literal = node.meta[CONSTANT] = _interval(text, node)
    return literal


def _interval(text: QueryText, node: exp.Interval) -> Literal:
    value = node.this
    sign = ""
    if isinstance(value, exp.Neg):
        sign, value = "-", value.this
    unit = node.args.get("unit")
    if not isinstance(value, exp.Literal) or unit is None:
        raise text.unsupported(
            node, "INTERVAL with a computed length", "use make_interval or date_add"
        )
    amount = sign + value.name.strip()
    amount = amount.removeprefix("--")
    if isinstance(unit, exp.IntervalSpan):
        first, last = unit.this.name.upper(), unit.expression.name.upper()
        type_ = DataType(f"INTERVAL {_unit(text, unit, first)} TO {last}")
        _check_length(text, node, amount, f"{first.removesuffix('S')} TO {last.removesuffix('S')}")
        return Literal(amount, type_)
    name = unit.name.upper()
    if name in ("WEEK", "WEEKS") and re.fullmatch(r"[+-]?\d+", amount):
        return Literal(str(int(amount) * _WHOLE_WEEK), DataType("INTERVAL DAY"))
    if (digits := _OF_A_SECOND.get(name.removesuffix("S"))) and re.fullmatch(r"[+-]?\d+", amount):
        seconds = f"{Decimal(amount).scaleb(-digits):f}"
        _check_length(text, node, seconds, "SECOND")
        return Literal(seconds, DataType("INTERVAL SECOND"))
    single = _unit(text, node, name)
    _check_length(text, node, amount, single)
    return Literal(amount, DataType(f"INTERVAL {single}"))


def _check_length(text: QueryText, node: exp.Expr, amount: str, unit: str) -> None:
    """Refuse what is no length of time in a unit, or between two of them."""
    pattern = _LENGTHS.get(unit)
    if pattern is None:
        raise text.error(node, f"there is no INTERVAL {unit}")
    found = re.fullmatch(rf"[+-]?(?=(\d*))(?:{pattern})", amount.strip())
    if found is None or int(found[1] or 0) > _LONGEST[unit[0]]:
        raise text.error(node, f"'{amount}' is no INTERVAL {unit}")


_HOUR, _SIXTY, _SECOND = r"(?:[01]?\d|2[0-3])", r"[0-5]?\d", r"[0-5]?\d(?:\.\d{1,9})?"
_LENGTHS = {
    "YEAR": r"\d+", "MONTH": r"\d+", "DAY": r"\d+", "HOUR": r"\d+", "MINUTE": r"\d+",
    "SECOND": r"\d+(?:\.\d{0,9})?|\.\d{1,9}",
    "YEAR TO MONTH": r"\d+-(?:0?\d|1[01])",
    "DAY TO HOUR": rf"\d+ {_HOUR}", "DAY TO MINUTE": rf"\d+ {_HOUR}:{_SIXTY}",
    "DAY TO SECOND": rf"\d+ {_HOUR}:{_SIXTY}:{_SECOND}",
    "HOUR TO MINUTE": rf"\d+:{_SIXTY}", "HOUR TO SECOND": rf"\d+:{_SIXTY}:{_SECOND}",
    "MINUTE TO SECOND": rf"\d+:{_SECOND}",
}  # fmt: skip
_LONGEST = {
    "Y": 178_956_970, "M": 153_722_867_280, "D": 106_751_991, "H": 2_562_047_788,
    "S": 9_223_372_036_854,
}  # fmt: skip
"""The most of a unit that Spark holds, by its first letter: of minutes, months have less."""


def _unit(text: QueryText, node: exp.Expr, name: str) -> str:
    singular = name.removesuffix("S")
    if singular not in _UNITS:
        raise text.unsupported(node, f"INTERVAL in {name}")
    return singular
