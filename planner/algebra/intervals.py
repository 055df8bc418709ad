"""Intervals: conditions that hold where a value of one side of a join is between two of the other,
as ``e.at BETWEEN s.started AND s.ended``.

An interval is as long as its row says, so it has no width (:mod:`forerun.planner.algebra.bands` has
those that do). Its values are counted as those of bands are. Bounds are read as being part of it,
and a bound of NULL as none where the condition says so (``ended IS NULL OR at < ended``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forerun.planner.algebra.bands import CountingUnit, are_alike, counted, unit_of, widened
from forerun.planner.algebra.relational import Join
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    conjuncts,
    operands,
    references,
)
from forerun.planner.algebra.types import BIGINT, Column

_COMPARISONS = {"<": False, "<=": False, ">": True, ">=": True}
"""Comparisons, and whether the greater side stands first."""
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class IntervalEnd:
    """``smaller <= greater``; where ``open_`` is one of them and NULL, there is no bound."""

    smaller: Scalar
    greater: Scalar
    open_: Scalar | None = None


@dataclass(frozen=True, slots=True)
class PointInInterval:
    """``low <= point <= high``, where ``point`` is of the side of a join with this number (0: the
    left one) and the others are of the other. ``lowest`` and ``highest`` are the numbers that the
    bounds are counted as, never NULL where there is no bound."""

    point_side: int
    point: Scalar
    low: IntervalEnd
    high: IntervalEnd

    @property
    def lowest(self) -> Scalar:
        """Return the number that the lower bound is counted as."""
        return _number(self.low.smaller, self.low.open_, _LEAST)

    @property
    def highest(self) -> Scalar:
        """Return the number that the upper bound is counted as."""
        return _number(self.high.greater, self.high.open_, _MOST)

    @property
    def scalars(self) -> tuple[Scalar, Scalar, Scalar]:
        """Return the lower bound, the point and the upper bound."""
        return self.low.smaller, self.point, self.high.greater

    @property
    def unit(self) -> CountingUnit:
        """Return the unit in which all three are counted."""
        found = unit_of(self.point.type)
        if found is None:
            raise ValueError(f"{self.point.type} has no unit")
        return found


def interval(join: Join) -> PointInInterval | None:
    """Return the first interval of a join that one side has a point in; None if there is none. One
    of the bounds may be open: where both are, and NULL, a point of NULL is between them."""
    sides = tuple(side.column_ids for side in join.inputs)
    lows: dict[Scalar, IntervalEnd] = {}
    highs: dict[Scalar, IntervalEnd] = {}
    for part in conjuncts(join.condition):
        for bound in _bounds(part):
            of = [references(scalar) for scalar in (bound.smaller, bound.greater)]
            crosses = any(of[0] <= one and of[1] <= other for one, other in (sides, sides[::-1]))
            if not crosses or not all(of):
                continue
            if bound.open_ != bound.smaller:
                highs.setdefault(bound.smaller, bound)
            if bound.open_ != bound.greater:
                lows.setdefault(bound.greater, bound)
    for point, high in highs.items():
        low = lows.get(point)
        if low is not None and not (low.open_ and high.open_):
            return PointInInterval(int(references(point) <= sides[1]), point, low, high)
    return None


def bucket_of_width(number: Column, width: Column, after: Column | None = None) -> Call:
    """Return the number of the bucket that a number is in, of buckets of a width, or of one that is
    so many after it."""
    found = Call("div", (Ref(number), Ref(width)), BIGINT)
    return found if after is None else Call("+", (found, Ref(after)), BIGINT)


def is_bucket_of_width(scalar: Scalar) -> bool:
    """Return whether a scalar is a :func:`bucket_of_width`."""
    match scalar:
        case Call("div", (Ref(number), Ref(width))):
            return scalar == bucket_of_width(number, width)
        case Call("+", (Call("div", (Ref(number), Ref(width))), Ref(after))):
            return scalar == bucket_of_width(number, width, after)
    return False


def _bounds(part: Scalar) -> Iterator[IntervalEnd]:
    """Yield the bound that a conjunct is, if it is one of values that are counted alike. Of
    ``a < b OR b IS NULL`` the second one is open."""
    if isinstance(part, Call) and part.name == "or":
        told = operands("or", part)
        nulls = {one.args[0] for one in told if isinstance(one, Call) and one.name == "isnull"}
        others = [one for one in told if not (isinstance(one, Call) and one.name == "isnull")]
        if len(others) == len(nulls) == 1:
            for bound in _bounds(others[0]):
                (open_,) = nulls
                if open_ in (bound.smaller, bound.greater):
                    yield IntervalEnd(bound.smaller, bound.greater, open_)
        return
    if not isinstance(part, Call) or part.name not in _COMPARISONS:
        return
    smaller, greater = map(widened, part.args[::-1] if _COMPARISONS[part.name] else part.args)
    if unit_of(smaller.type) and are_alike(smaller.type, greater.type):
        yield IntervalEnd(smaller, greater)


def _number(bound: Scalar, open_: Scalar | None, none: int) -> Scalar:
    number = counted(bound)
    if open_ is None:
        return number
    return Call("coalesce", (number, Literal(str(none), BIGINT)), BIGINT)
