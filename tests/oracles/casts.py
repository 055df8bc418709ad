"""CAST under ANSI rules: what cannot be converted is an error, never NULL."""

from __future__ import annotations

import math
import re
import struct
from datetime import date, datetime, time, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation

from forerun.planner.algebra.nested import element_type, struct_fields
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import DataType
from tests.oracles.typing_rules import INTEGER_BITS
from tests.oracles.values import (
    EXACT,
    ArithmeticOverflowError,
    CastError,
    NotInterpretedError,
    Value,
)

_INTEGER = re.compile(r"^[+-]?\d+$")
_NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?$")
_DATE = re.compile(r"^(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?$")
_TIME = re.compile(
    r"^(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?$"
)
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_SPECIAL = {
    "nan": math.nan, "inf": math.inf, "infinity": math.inf, "+inf": math.inf,
    "+infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf,
}  # fmt: skip


def to_integer(value: int, type_: DataType) -> int:
    """The value if it fits the integer type, else the overflow error."""
    limit = 1 << (INTEGER_BITS[type_.name] - 1)
    if not -limit <= value < limit:
        raise ArithmeticOverflowError(f"{value} does not fit {type_}")
    return value


def to_decimal(value: Decimal, type_: DataType) -> Decimal:
    """Round HALF_UP to the type's scale; more digits than its precision are an error."""
    rounded = value.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, EXACT)
    if len(rounded.as_tuple().digits) > type_.precision and rounded != 0:
        raise ArithmeticOverflowError(f"{value} does not fit {type_}")
    return rounded + 0 if rounded == 0 else rounded


def java_double(value: float) -> str:
    """A double as Java prints it: 1.0, 1.0E7, NaN, Infinity."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    magnitude = abs(value)
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        text = repr(value)
        return text if "e" not in text else format(Decimal(text), "f")
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) - 1 + int(exponent)
    tail = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{tail}E{power}"


def to_text(value: Value, source: DataType) -> str:
    """CAST(x AS STRING)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        text = value.strftime("%Y-%m-%d %H:%M:%S")
        return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text
    if isinstance(value, int | str | date):
        return str(value)
    raise NotInterpretedError(f"cast {source} as STRING")


def parse_date(text: str) -> date:
    match = _DATE.match(text.strip())
    if match is None:
        raise CastError(f"{text!r} is not a DATE")
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        raise CastError(f"{text!r} is not a DATE") from None


def parse_timestamp(text: str) -> datetime:
    """A timestamp literal in a UTC session; an offset in the text is applied."""
    day, _, clock = text.strip().replace("T", " ").partition(" ")
    start = datetime.combine(parse_date(day), time())
    if not clock.strip():
        return start
    match = _TIME.match(clock.strip())
    if match is None:
        raise CastError(f"{text!r} is not a TIMESTAMP")
    micro = int((match[4] or "").ljust(6, "0")[:6])
    moment = start + timedelta(
        hours=int(match[1]), minutes=int(match[2]), seconds=int(match[3] or 0), microseconds=micro
    )
    zone = match[5] or "Z"
    if zone in ("Z", "UTC"):
        return moment
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return moment - offset if zone[0] == "+" else moment + offset


def _from_text(text: str, target: DataType) -> Value:
    trimmed = text.strip()
    if target.is_integer:
        if not _INTEGER.match(trimmed):
            raise CastError(f"{text!r} is not {target}")
        try:
            return to_integer(int(trimmed), target)
        except ArithmeticOverflowError as error:
            raise CastError(str(error)) from None
    if target.is_floating or target.name == "DECIMAL":
        return _number_from_text(trimmed, target)
    if target.name == "BOOLEAN":
        if trimmed.lower() in _TRUE:
            return True
        if trimmed.lower() in _FALSE:
            return False
        raise CastError(f"{text!r} is not BOOLEAN")
    if target.name == "DATE":
        return parse_date(text)
    if target.name in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return parse_timestamp(text)
    if target.name == "BINARY":
        return text.encode()
    raise NotInterpretedError(f"cast STRING as {target}")


def _number_from_text(text: str, target: DataType) -> Value:
    if target.is_floating and text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if not _NUMBER.match(text):
        raise CastError(f"{text!r} is not {target}")
    if target.is_floating:
        return to_float(float(text.rstrip("dDfF")), target)
    return to_decimal(Decimal(text), target)


def to_float(value: float, type_: DataType) -> float:
    """A FLOAT keeps 24 bits of the value."""
    if type_.name != "FLOAT":
        return value
    try:
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(single)


def _from_number(value: Value, source: DataType, target: DataType) -> Value:
    if target.name == "BOOLEAN":
        return value != 0
    if target.is_floating:
        return to_float(float(value), target)
    if isinstance(value, float) and not math.isfinite(value):
        raise ArithmeticOverflowError(f"{value} does not fit {target}")
    if target.is_integer:
        return to_integer(_truncate(value), target)
    if target.name == "DECIMAL":
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        return to_decimal(exact, target)
    raise NotInterpretedError(f"cast {source} as {target}")


def _truncate(value: Value) -> int:
    if isinstance(value, Decimal):
        return int(value.to_integral_value(ROUND_DOWN))
    return int(value)


def cast(value: Value, source: DataType, target: DataType) -> Value:
    """CAST(value AS target) for a value of type ``source``; NULL stays NULL."""
    if value is None or source == target:
        return value
    if target.name == "STRING":
        return to_text(value, source)
    if isinstance(value, str):
        return _from_text(value, target)
    if kind_of(source) == kind_of(target) == "r":
        pairs = zip(value, struct_fields(source), struct_fields(target), strict=True)
        return tuple(cast(one, given, wanted) for one, (_, given), (_, wanted) in pairs)
    if kind_of(source) == kind_of(target) == "a":
        return tuple(cast(one, element_type(source), element_type(target)) for one in value)
    if isinstance(value, bool):
        return value if target.name == "BOOLEAN" else _from_number(int(value), source, target)
    if isinstance(value, int | float | Decimal):
        try:
            return _from_number(value, source, target)
        except InvalidOperation as error:
            raise ArithmeticOverflowError(str(error)) from None
    return _from_temporal(value, source, target)


def _from_temporal(value: Value, source: DataType, target: DataType) -> Value:
    if target.name in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return value if isinstance(value, datetime) else datetime.combine(value, time())
    if target.name == "DATE":
        return value.date() if isinstance(value, datetime) else value
    raise NotInterpretedError(f"cast {source} as {target}")
