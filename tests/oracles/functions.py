"""Spark's functions, by name: from argument values (and types) to the value.

The flag says whether the function is NULL as soon as an argument is.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

from forerun.planner.algebra.types import DATE, STRING, TIMESTAMP, DataType
from tests.oracles.casts import cast, to_integer, to_text
from tests.oracles.intervals import add_months
from tests.oracles.values import EXACT, EvaluationError, NotInterpretedError, Value, compare

Values = list[Value]
Types = list[DataType]
Function = Callable[[Values, Types, DataType], Value]
FUNCTIONS: dict[str, tuple[Function, bool]] = {}


def _define(*names: str, strict: bool = True) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        for name in names:
            FUNCTIONS[name] = (function, strict)
        return function

    return register


def _simple(names: str, function: Callable[..., Value]) -> None:
    """A function that looks at values only."""
    for name in names.split():
        FUNCTIONS[name] = (lambda values, types, result: function(*values), True)


def _day(value: Value) -> date:
    if isinstance(value, str):
        return cast(value, STRING, DATE)
    return value.date() if isinstance(value, datetime) else value


def _moment(value: Value) -> datetime:
    if isinstance(value, str):
        return cast(value, STRING, TIMESTAMP)
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


# Numbers


@_define("positive")
def _positive(values: Values, types: Types, result: DataType) -> Value:
    return values[0]


@_define("abs")
def _abs(values: Values, types: Types, result: DataType) -> Value:
    return to_integer(abs(values[0]), types[0]) if types[0].is_integer else abs(values[0])


@_define("round")
def _round(values: Values, types: Types, result: DataType) -> Value:
    """HALF_UP; a double is rounded by its shortest decimal text, as Java's BigDecimal does."""
    value, places = values[0], values[1] if len(values) > 1 else 0
    if isinstance(value, float):
        if not math.isfinite(value):
            return value
        return float(_at(Decimal(repr(value)), places, ROUND_HALF_UP))
    rounded = _at(Decimal(value), places, ROUND_HALF_UP)
    if types[0].is_integer:
        return to_integer(int(rounded), types[0])
    return rounded if places >= 0 else _at(rounded, 0, ROUND_HALF_UP)


def _at(value: Decimal, places: int, rounding: str) -> Decimal:
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= places:
        return value
    return value.quantize(Decimal(1).scaleb(-places), rounding, EXACT)


def _to_whole(rounding: str) -> Function:
    def function(values: Values, types: Types, result: DataType) -> Value:
        value = values[0]
        if len(values) > 1:
            return _at(Decimal(value), values[1], rounding)
        if isinstance(value, Decimal):
            return value.quantize(Decimal(1), rounding, EXACT)
        if isinstance(value, float):
            whole = math.floor if rounding == ROUND_FLOOR else math.ceil
            return cast(float(whole(value)), DataType("DOUBLE"), DataType("BIGINT"))
        return value

    return function


_define("floor")(_to_whole(ROUND_FLOOR))
_define("ceil", "ceiling")(_to_whole(ROUND_CEILING))


@_define("sign", "signum")
def _sign(values: Values, types: Types, result: DataType) -> Value:
    value = float(values[0])
    return value if math.isnan(value) or value == 0 else math.copysign(1.0, value)


def _real(function: Callable[[float], float]) -> Function:
    def evaluate(values: Values, types: Types, result: DataType) -> Value:
        try:
            return function(float(values[0]))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return evaluate


_define("sqrt")(_real(math.sqrt))
_define("exp")(_real(math.exp))


@_define("ln")
def _ln(values: Values, types: Types, result: DataType) -> Value:
    return None if values[0] <= 0 else math.log(values[0])


@_define("power", "pow")
def _power(values: Values, types: Types, result: DataType) -> Value:
    try:
        return math.pow(float(values[0]), float(values[1]))
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


@_define("isnan", strict=False)
def _isnan(values: Values, types: Types, result: DataType) -> Value:
    return isinstance(values[0], float) and math.isnan(values[0])


@_define("greatest", strict=False)
def _greatest(values: Values, types: Types, result: DataType) -> Value:
    return _extreme(values, 1)


@_define("least", strict=False)
def _least(values: Values, types: Types, result: DataType) -> Value:
    return _extreme(values, -1)


def _extreme(values: Values, sign: int) -> Value:
    best = None
    for value in values:
        if value is not None and (best is None or compare(value, best) * sign > 0):
            best = value
    return best


@_define("nullif", strict=False)
def _nullif(values: Values, types: Types, result: DataType) -> Value:
    left, right = values
    equal = left is not None and right is not None and compare(left, right) == 0
    return None if equal else left


@_define("nvl2", strict=False)
def _nvl2(values: Values, types: Types, result: DataType) -> Value:
    return values[1] if values[0] is not None else values[2]


# Text


@_define("concat", "||")
def _concat(values: Values, types: Types, result: DataType) -> Value:
    return "".join(to_text(value, type_) for value, type_ in zip(values, types, strict=True))


@_define("substring", "substr")
def _substring(values: Values, types: Types, result: DataType) -> Value:
    """Positions count from 1; 0 is as 1; negative ones count from the end."""
    text, start = to_text(values[0], types[0]), values[1]
    length = values[2] if len(values) > 2 else len(text) + abs(start)
    begin = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
    end = max(0, begin + length)
    return text[max(0, begin) : end] if length > 0 else ""


_simple("upper ucase", str.upper)
_simple("lower lcase", str.lower)
_simple("length char_length character_length", len)
_simple("startswith", str.startswith)
_simple("endswith", str.endswith)
_simple("contains", lambda text, part: part in text)
_simple("reverse", lambda text: text[::-1])
_simple("repeat", lambda text, times: text * max(0, times))
_simple("instr", lambda text, part: text.find(part) + 1)
_simple("left", lambda text, n: text[: max(0, n)])
_simple("right", lambda text, n: text[-n:] if n > 0 else "")
_simple("replace", lambda text, old, new="": text.replace(old, new) if old else text)
_simple("ascii", lambda text: ord(text[0]) if text else 0)


@_define("trim", "ltrim", "rtrim", "btrim")
def _trim(values: Values, types: Types, result: DataType) -> Value:
    if len(values) != 1:
        raise NotInterpretedError("trim with characters")
    return values[0].strip(" ")


_simple("trim_both", lambda text, marks=" ": text.strip(marks))
_simple("trim_leading", lambda text, marks=" ": text.lstrip(marks))
_simple("trim_trailing", lambda text, marks=" ": text.rstrip(marks))
_simple("locate", lambda part, text: text.find(part) + 1)
_simple("ltrim", lambda text: text.lstrip(" "))
_simple("rtrim", lambda text: text.rstrip(" "))


def _pad(text: str, length: int, pad: str, *, left: bool) -> str:
    if len(text) >= length or not pad:
        return text[: max(0, length)]
    fill = (pad * length)[: length - len(text)]
    return fill + text if left else text + fill


_simple("lpad", lambda text, n, pad=" ": _pad(text, n, pad, left=True))
_simple("rpad", lambda text, n, pad=" ": _pad(text, n, pad, left=False))


@_define("overlay")
def _overlay(values: Values, types: Types, result: DataType) -> Value:
    text, put, place, *length = values
    rest = place - 1 + (length[0] if length else len(put))
    return text[: place - 1] + put + text[rest:]


@_define("concat_ws", strict=False)
def _concat_ws(values: Values, types: Types, result: DataType) -> Value:
    if values[0] is None:
        return None
    parts = zip(values[1:], types[1:], strict=True)
    return values[0].join(to_text(value, type_) for value, type_ in parts if value is not None)


# Dates

_simple("year", lambda value: _day(value).year)
_simple("month", lambda value: _day(value).month)
_simple("day dayofmonth", lambda value: _day(value).day)
_simple("quarter", lambda value: (_day(value).month + 2) // 3)
_simple("dayofweek", lambda value: _day(value).isoweekday() % 7 + 1)
_simple("weekday", lambda value: _day(value).weekday())
_simple("dayofyear", lambda value: _day(value).timetuple().tm_yday)
_simple("weekofyear", lambda value: _day(value).isocalendar()[1])
_simple("hour", lambda value: _moment(value).hour)
_simple("minute", lambda value: _moment(value).minute)
_simple("second", lambda value: _moment(value).second)
_simple("datediff date_diff", lambda end, start: (_day(end) - _day(start)).days)
_simple("add_months", lambda start, months: add_months(_day(start), months))
_simple("to_date date", _day)


@_define("date_add", "dateadd")
def _date_add(values: Values, types: Types, result: DataType) -> Value:
    return _day(values[0]) + timedelta(days=values[1])


@_define("date_sub")
def _date_sub(values: Values, types: Types, result: DataType) -> Value:
    return _day(values[0]) - timedelta(days=values[1])


@_define("last_day")
def _last_day(values: Values, types: Types, result: DataType) -> Value:
    day = _day(values[0])
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _start_of(moment: date, unit: str) -> date | None:
    unit = unit.upper()
    if unit in ("YEAR", "YYYY", "YY"):
        return moment.replace(month=1, day=1)
    if unit == "QUARTER":
        return moment.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
    if unit in ("MONTH", "MM", "MON"):
        return moment.replace(day=1)
    if unit == "WEEK":
        return moment - timedelta(days=moment.weekday())
    return None


_LENGTHS = {
    "MICROSECOND": timedelta(microseconds=1), "MILLISECOND": timedelta(milliseconds=1),
    "SECOND": timedelta(seconds=1), "MINUTE": timedelta(minutes=1), "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1), "WEEK": timedelta(weeks=1),
}  # fmt: skip
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


@_define("datediff_unit", "date_diff_unit", "timestampdiff_unit")
def _whole_units(values: Values, types: Types, result: DataType) -> Value:
    """Units that are over between two moments, towards zero."""
    unit, start, end = values[0], _moment(values[1]), _moment(values[2])
    if end < start:
        return -_whole_units([unit, end, start], types, result)
    if unit in _LENGTHS:
        return (end - start) // _LENGTHS[unit]
    begun = (end.year - start.year) * 12 + end.month - start.month
    over = (end.day, end.time()) >= (start.day, start.time())
    return (begun if over else begun - 1) // _MONTHS[unit]


@_define("dateadd_unit", "date_add_unit", "timestampadd_unit")
def _later_by_units(values: Values, types: Types, result: DataType) -> Value:
    unit, number, moment = values[0], values[1], _moment(values[2])
    if unit in _LENGTHS:
        return moment + number * _LENGTHS[unit]
    return add_months(moment, number * _MONTHS[unit])


@_define("trunc")
def _trunc(values: Values, types: Types, result: DataType) -> Value:
    return _start_of(_day(values[0]), values[1])


@_define("pmod")
def _pmod(values: Values, types: Types, result: DataType) -> Value:
    """Of a whole number by a positive one."""
    return values[0] % values[1]


@_define("div")
def _div(values: Values, types: Types, result: DataType) -> Value:
    """Of a whole number by a positive one, towards zero."""
    number, by = values
    return number // by if number >= 0 else -(-number // by)


@_define("unix_date")
def _unix_date(values: Values, types: Types, result: DataType) -> Value:
    return (values[0] - date(1970, 1, 1)).days


@_define("unix_micros")
def _unix_micros(values: Values, types: Types, result: DataType) -> Value:
    return (_moment(values[0]) - _EPOCH) // timedelta(microseconds=1)


@_define("timestamp_micros")
def _timestamp_micros(values: Values, types: Types, result: DataType) -> Value:
    return _EPOCH + timedelta(microseconds=values[0])


_EPOCH = datetime(1970, 1, 1)


@_define("sequence")
def _sequence(values: Values, types: Types, result: DataType) -> Value:
    """Of whole numbers, and of moments by lengths of time."""
    first, last, *given = values
    if not isinstance(first, int):
        first, last = _moment(first), _moment(last)
        step = given[0] if given else timedelta(days=1)
        return tuple(first + step * n for n in range((last - first) // step + 1))
    step = given[0] if given else (1 if first <= last else -1)
    return tuple(range(first, last + (1 if step > 0 else -1), step))


@_define("date_trunc")
def _date_trunc(values: Values, types: Types, result: DataType) -> Value:
    unit, moment = values[0].upper(), _moment(values[1])
    if unit in ("DAY", "DD"):
        return moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "HOUR":
        return moment.replace(minute=0, second=0, microsecond=0)
    return _start_of(moment.replace(hour=0, minute=0, second=0, microsecond=0), unit)


@_define("extract", "date_part", "datepart")
def _extract(values: Values, types: Types, result: DataType) -> Value:
    name = {"DOW": "dayofweek", "DOY": "dayofyear", "WEEK": "weekofyear"}.get(
        values[0].upper(), values[0].lower()
    )
    if name not in FUNCTIONS:
        raise NotInterpretedError(f"extract {values[0]}")
    return FUNCTIONS[name][0](values[1:], types[1:], result)


@_define("assert_true", "raise_error")
def _raise(values: Values, types: Types, result: DataType) -> Value:
    if values[0] is True:
        return None
    raise EvaluationError("USER_RAISED_EXCEPTION")
