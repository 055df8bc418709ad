"""Bands: conditions that bound how far a column is from another one, as ``b.at BETWEEN a.at - 10
AND a.at + 10``.

A band is read from two comparisons of the same two columns, each with a constant added to one of
them. Columns are whole numbers, DECIMALs of up to 18 digits, dates or timestamps; distances are
whole numbers of their :class:`CountingUnit`. What is read is never narrower than what the
comparisons say: ``<`` is read as ``<=``, and days that are added to a timestamp may be longer or
shorter by a change of clocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from forerun.planner.algebra.functions import decimal_result
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, walk
from forerun.planner.algebra.types import BIGINT, INT, Column, DataType, decimal


@dataclass(frozen=True, slots=True)
class CountingUnit:
    """A way to count the values of a type in whole numbers: ``function`` makes a BIGINT of a value
    (empty: it is a number already, of which the last of its digits counts), which grows with it;
    ``per`` of them are one on the number line of statistics, where dates and timestamps are days.
    Lengths that people have intervals of are between the ``shortest`` and the ``longest``."""

    function: str
    returns: DataType
    per: int
    shortest: int = 2
    longest: int = 2**33


_SECOND = 1_000_000
_LENGTHS = {
    "INTERVAL SECOND": _SECOND, "INTERVAL MINUTE": 60 * _SECOND, "INTERVAL HOUR": 3600 * _SECOND,
    "INTERVAL DAY": 86_400 * _SECOND,
}  # fmt: skip
"""Microseconds of the lengths of time that are constant, by the type of their literal."""
_DAY = _LENGTHS["INTERVAL DAY"]
_CLOCKS = 30 * 3600 * _SECOND
"""The most by which a day of a time zone may be longer or shorter than 24 hours, all changes of its
offset taken together: offsets are from -16 to +15 hours, with the local mean times of the past."""
_UNITS = {
    "DATE": CountingUnit("unix_date", INT, 1, shortest=1, longest=2**12),
    "TIMESTAMP": CountingUnit("unix_micros", BIGINT, _DAY, shortest=2**20, longest=2**48),
}
_MOST_DIGITS = 18
"""A DECIMAL of so many digits is a BIGINT without its point, and times any power of ten that it
takes to get there it has 38 digits at most."""
_MOST_DAYS = 4_000_000
"""More days than there are between the dates of Spark, so no sum of dates wraps around."""


@dataclass(frozen=True, slots=True)
class Band:
    """``low <= point - base <= high``, in the :class:`CountingUnit` of their type, as the
    comparisons in ``parts`` say."""

    base: Column
    point: Column
    low: int
    high: int
    parts: frozenset[Scalar] = frozenset()

    @property
    def unit(self) -> CountingUnit:
        """The unit of the two columns; a band is only made of types that have one."""
        found = unit_of(self.base.type)
        if found is None:
            raise ValueError(f"{self.base.type} has no unit")
        return found


def unit_of(type_: DataType) -> CountingUnit | None:
    """Return how a type is counted, None if it is not."""
    if type_.is_integer:
        return CountingUnit("", type_, 1)
    if type_.name == "DECIMAL" and type_.precision <= _MOST_DIGITS:
        return CountingUnit("", type_, 10**type_.scale)
    return _UNITS.get(type_.name)


def counted(value: Scalar) -> Scalar:
    """Return the BIGINT that a value of a type that has a unit is counted as. It never fails, and
    is NULL where the value is."""
    unit, type_ = unit_of(value.type), value.type
    if unit is None:
        raise ValueError(f"{type_} has no unit")
    if unit.function:
        value = Call(unit.function, (value,), unit.returns)
    elif type_.scale:
        tens = Literal(str(unit.per), decimal(type_.scale + 1, 0))
        value = Call("*", (value, tens), decimal_result("*", type_, tens.type))
    return value if value.type == BIGINT else Call("cast", (value,), BIGINT)


def bucket(column: Column, width: int) -> Call:
    """Return the number of the bucket that a column's value is in, towards zero: those next to zero
    share one, so that no value is out of range."""
    return Call("div", (counted(Ref(column)), Literal(str(width), BIGINT)), BIGINT)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A :func:`bucket` of a width, of a column whose type is counted in a unit."""

    column: Column
    unit: CountingUnit
    width: int


def as_bucket(scalar: Scalar) -> Bucket | None:
    """Return what a scalar is a :func:`bucket` of, None if it is none."""
    columns = {node.column for node in walk(scalar) if isinstance(node, Ref)}
    match scalar:
        case Call("div", (_, Literal() as by)) if len(columns) == 1:
            (column,), width = columns, _whole(by)
            unit = unit_of(column.type)
            if unit is not None and width and scalar == bucket(column, width):
                return Bucket(column, unit, width)
    return None


def buckets_apart(band: Band, width: int) -> range:
    """Return by how many buckets of a width the point of a pair in the band may be from its
    base."""
    least, most = band.low // width, -(-band.high // width)
    # Towards zero, two values on both sides of it are a bucket less apart.
    if band.low > 0:
        least = max(0, least - 1)
    if band.high < 0:
        most = min(0, most + 1)
    return range(least, most + 1)


def bands(parts: Iterable[Scalar]) -> tuple[Band, ...]:
    """Return the bands among the conjuncts of a condition, by the ids of their columns."""
    lows: dict[tuple[Column, Column], int] = {}
    highs: dict[tuple[Column, Column], int] = {}
    read: dict[frozenset[Column], list[Scalar]] = {}
    for part in parts:
        for one, other, most in _bounds(part):
            read.setdefault(frozenset({one, other}), []).append(part)
            if one.id < other.id:
                lows[one, other] = max(-most, lows.get((one, other), -most))
            else:
                highs[other, one] = min(most, highs.get((other, one), most))
    both = sorted(lows.keys() & highs.keys(), key=lambda pair: (pair[0].id, pair[1].id))
    made = (Band(*p, lows[p], highs[p], frozenset(read[frozenset(p)])) for p in both)
    return tuple(band for band in made if band.low <= band.high and _is_sure(band))


def _is_sure(band: Band) -> bool:
    """Return whether no sum of the comparisons can have wrapped around to where they are true: a
    whole number past the largest is the smallest where ANSI mode is off, so a band of them has to
    reach to both sides, and then one of its two comparisons is false."""
    if band.base.type.is_integer:
        return band.low <= 0 <= band.high
    return band.base.type.name != "DATE" or max(-band.low, band.high) <= _MOST_DAYS


Bound = tuple[Column, Column, int]
"""``one - other <= most``."""
_COMPARISONS = {"<": False, "<=": False, ">": True, ">=": True}
"""Comparisons, and whether the greater side stands first."""


def _bounds(part: Scalar) -> tuple[Bound, ...]:
    """Return what a comparison says of how far two columns are apart."""
    if not isinstance(part, Call) or part.name not in _COMPARISONS:
        return ()
    smaller, greater = reversed(part.args) if _COMPARISONS[part.name] else part.args
    match widened(smaller), widened(greater):
        case Call("abs", (distance,)), Literal() as by:
            return tuple(
                bound for one, other, most in _apart(distance, by)
                for bound in ((one, other, most), (other, one, most))
            )  # fmt: skip
        case Call() as distance, Literal() as by:
            return _apart(distance, by)
        case Literal() as by, Call() as distance:
            return tuple((other, one, -least) for one, other, least in _apart(distance, by))
    one, other = _shifted(smaller), _shifted(greater)
    if one is None or other is None or (one.moved and other.moved):
        return ()
    if one.column == other.column or not are_alike(one.column.type, other.column.type):
        return ()
    return ((one.column, other.column, other.most - one.least),)


def widened(value: Scalar) -> Scalar:
    """Return what is cast to a type that holds all of its values and is counted alike, or the
    value."""
    match value:
        case Call("cast", (of,), type_) if are_alike(of.type, type_):
            number = type_.name == "DECIMAL" or type_.is_integer
            wide = type_.precision >= of.type.precision and type_.width >= of.type.width
            return of if number and wide else value
    return value


def _apart(distance: Scalar, by: Literal) -> tuple[Bound, ...]:
    """Return the bound that a distance of two columns, the first minus the second, is at most a
    number; nothing if it is the distance of none, or the number has no place in their unit.
    Differences of whole numbers may wrap around, so they are none."""
    match widened(distance):
        case Call("datediff", (Ref(one), Ref(other))) if one.type.name == other.type.name == "DATE":
            number = _whole(by)
        case Call("-", (left, right), type_) if type_.name == "DECIMAL":
            match widened(left), widened(right):
                case Ref(one), Ref(other) if are_alike(one.type, type_) and are_alike(
                    other.type, type_
                ):
                    number = _in_last_digits(by, type_.scale)
                case _:
                    return ()
        case _:
            return ()
    if one == other or number is None or unit_of(one.type) is None or unit_of(other.type) is None:
        return ()
    return ((one, other, number),)


def are_alike(one: DataType, other: DataType) -> bool:
    """Return whether values of the two types are counted in the same unit."""
    if one.name == other.name == "DECIMAL":
        return one.scale == other.scale
    return (one.is_integer and other.is_integer) or one == other


@dataclass(frozen=True, slots=True)
class _Shifted:
    """A column with a constant added, which is between ``least`` and ``most``."""

    column: Column
    least: int = 0
    most: int = 0
    moved: bool = False


def _shifted(value: Scalar) -> _Shifted | None:
    value = widened(value)
    match value:
        case Ref(column) if unit_of(column.type) is not None:
            return _Shifted(column)
        case Call("+" | "date_add", (of, Literal() as by)):
            sign = 1
        case Call("-" | "date_sub", (of, Literal() as by)):
            sign = -1
        case Call("+", (Literal() as by, of)):
            sign = 1
        case _:
            return None
    column_, length = _shifted(of), _length(by, value.type)
    if column_ is None or column_.moved or length is None or not are_alike(of.type, value.type):
        return None
    slack = _CLOCKS if value.type.name == "TIMESTAMP" and by.type.name == "INTERVAL DAY" else 0
    return _Shifted(column_.column, sign * length - slack, sign * length + slack, moved=True)


def _length(by: Literal, of: DataType) -> int | None:
    """Return a constant that is added to a value of a type in the unit of the type, None if it is
    not constant in it."""
    if of.name == "DECIMAL":
        return _in_last_digits(by, of.scale)
    number = _whole(by)
    if number is None or of.is_integer:
        return number if by.type.is_integer else None
    if of.name == "DATE":
        return number if by.type.is_integer or by.type.name == "INTERVAL DAY" else None
    long = _LENGTHS.get(by.type.name) if of.name == "TIMESTAMP" else None
    return None if long is None else number * long


def _in_last_digits(by: Literal, scale: int) -> int | None:
    """Return a number in units of the last of so many digits behind the point, if it is whole."""
    if not (by.type.is_integer or by.type.name == "DECIMAL") or by.text is None:
        return None
    number = Decimal(by.text).scaleb(scale)
    return int(number) if number == int(number) else None


def _whole(literal: Literal) -> int | None:
    text = (literal.text or "").strip()
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else None
