"""DECIMAL expressions with equal values in the narrowest types that the bounds of columns allow.

All operations that are narrowed are exact in both forms (``+``, ``-``, ``*``, CASE and casts that
lose no digit), so every row gives the same value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from forerun.planner.algebra.functions import MAX_PRECISION, decimal_result, widest_decimal
from forerun.planner.algebra.relational import Relation, Scan, walk
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, value_places
from forerun.planner.algebra.types import Column, ColumnId, DataType, decimal
from forerun.planner.request import Source


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value of an expression, NULLs aside."""

    low: Fraction
    high: Fraction

    def digits(self, scale: int) -> int:
        """Return how many digits a DECIMAL of this scale needs for every value."""
        most = math.ceil(max(abs(self.low), abs(self.high)) * 10**scale)
        return max(len(str(most)), scale, 1)

    def count(self, scale: int) -> float:
        """Return how many values of this scale there are."""
        return float((self.high - self.low) * 10**scale) + 1


@dataclass(frozen=True, slots=True)
class Narrow:
    """An expression in narrow types; without ``bounds`` it is as it was."""

    scalar: Scalar
    bounds: Bounds | None


class Narrowing:
    """Narrows expressions over the columns of a query's sources."""

    def __init__(self, relation: Relation, sources: Iterable[Source]) -> None:
        """``sources`` have the bounds of exactly the files that a run reads."""
        self._bounds = dict(_bounds(relation, {source.name: source for source in sources}))

    @property
    def has_bounds(self) -> bool:
        """Return whether the bounds of any column are known."""
        return bool(self._bounds)

    def combinations(self, columns: Iterable[Column]) -> float:
        """Return how many combinations of values the columns can have, NULLs included."""
        product = 1.0
        for column in columns:
            bounds = self._bounds.get(column.id)
            if bounds is None:
                return math.inf
            product *= bounds.count(column.type.scale) + 1
        return product

    def of(self, scalar: Scalar) -> Narrow:
        """Return the expression with equal values in narrow types, and with their bounds."""
        if isinstance(scalar, Ref):
            bounds = self._bounds.get(scalar.column.id)
            if bounds is None or scalar.type.name != "DECIMAL":
                return Narrow(scalar, bounds)
            digits = min(bounds.digits(scalar.type.scale), scalar.type.precision)
            return Narrow(cast_to(scalar, decimal(digits, scalar.type.scale)), bounds)
        if isinstance(scalar, Literal):
            if scalar.text is None or not (scalar.type.is_integer or is_decimal(scalar)):
                return Narrow(scalar, None)
            value = Fraction(scalar.text)
            return Narrow(scalar, Bounds(value, value))
        if not is_decimal(scalar):
            return Narrow(scalar, None)
        if scalar.name in ("+", "-", "*"):
            return self._arithmetic(scalar)
        if scalar.name == "case":
            return self._case(scalar)
        if scalar.name == "cast":
            return self._cast(scalar)
        if scalar.name == "neg":
            return self._negative(scalar)
        return Narrow(scalar, None)

    def _cast(self, call: Call) -> Narrow:
        """Narrow a cast that loses no digit: its scale is that of the value, or larger."""
        inner = self.of(call.args[0])
        type_ = inner.scalar.type
        if inner.bounds is None or not (type_.is_integer or is_decimal(inner.scalar)):
            return Narrow(call, None)
        scale = call.type.scale
        digits = inner.bounds.digits(scale)
        if type_.scale > scale or digits > call.type.precision:
            return Narrow(call, None)
        if is_decimal(inner.scalar) and type_.scale == scale:
            return inner
        return Narrow(cast_to(inner.scalar, decimal(digits, scale)), inner.bounds)

    def _negative(self, call: Call) -> Narrow:
        inner = self.of(call.args[0])
        if inner.bounds is None or not is_decimal(inner.scalar):
            return Narrow(call, None)
        bounds = Bounds(-inner.bounds.high, -inner.bounds.low)
        return Narrow(Call("neg", (inner.scalar,), inner.scalar.type), bounds)

    def _arithmetic(self, call: Call) -> Narrow:
        left, right = (self.of(arg) for arg in call.args)
        one, two = left.bounds, right.bounds
        if one is None or two is None:
            return Narrow(call, None)
        if not (is_decimal(left.scalar) and is_decimal(right.scalar)):
            return Narrow(call, None)
        type_ = decimal_result(call.name, left.scalar.type, right.scalar.type)
        bounds = _computed(call.name, one, two)
        if type_.scale != call.type.scale or bounds.digits(type_.scale) > MAX_PRECISION:
            return Narrow(call, None)
        return Narrow(Call(call.name, (left.scalar, right.scalar), type_), bounds)

    def _case(self, call: Call) -> Narrow:
        """Narrow the values of a CASE, not its conditions."""
        places = value_places(call)
        values = [self.of(call.args[place]) for place in places]
        known = [v for v in values if not is_null(v.scalar)]
        bounds = [v.bounds for v in known if v.bounds is not None]
        if len(bounds) < len(known) or not known or not all(is_decimal(v.scalar) for v in known):
            return Narrow(call, None)
        type_ = known[0].scalar.type
        for value in known[1:]:
            type_ = widest_decimal(type_, value.scalar.type)
        if type_.scale != call.type.scale:
            return Narrow(call, None)
        args = list(call.args)
        for place, value in zip(places, values, strict=True):
            args[place] = (
                Literal(None, type_) if is_null(value.scalar) else cast_to(value.scalar, type_)
            )
        within = Bounds(min(b.low for b in bounds), max(b.high for b in bounds))
        return Narrow(Call("case", tuple(args), type_), within)


def _bounds(relation: Relation, sources: Mapping[str, Source]) -> Iterable[tuple[ColumnId, Bounds]]:
    """Yield the bounds of every column of the scans that has some. A column's id stays the same
    wherever its values go, kept rows included."""
    for node in walk(relation):
        if not isinstance(node, Scan):
            continue
        stats = dict(sources[node.source].stats)
        for column in node.columns:
            known = stats.get(column.name)
            if known is None or known.minimum is None or known.maximum is None:
                continue
            if column.type.is_integer or column.type.name == "DECIMAL":
                yield column.id, Bounds(Fraction(known.minimum), Fraction(known.maximum))


def _computed(op: str, one: Bounds, two: Bounds) -> Bounds:
    """Return the bounds of ``one op two``."""
    if op == "+":
        return Bounds(one.low + two.low, one.high + two.high)
    if op == "-":
        return Bounds(one.low - two.high, one.high - two.low)
    ends = [a * b for a in (one.low, one.high) for b in (two.low, two.high)]
    return Bounds(min(ends), max(ends))


def is_decimal(scalar: Scalar) -> bool:
    """Return whether the expression gives DECIMALs."""
    return scalar.type.name == "DECIMAL"


def is_null(scalar: Scalar) -> bool:
    """Return whether the expression is the literal NULL."""
    return isinstance(scalar, Literal) and scalar.text is None


def cast_to(scalar: Scalar, to: DataType) -> Scalar:
    """Return the expression in a type; itself if it has the type."""
    return scalar if scalar.type == to else Call("cast", (scalar,), to)
