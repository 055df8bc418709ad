"""Aggregate functions: result types, and how partial states are made, merged and finished.

The vocabulary is Tempura's (section 3.2): initialize and iterate make a partial state from rows,
merge combines partial states, finalize makes the value. A state is one or more ordinary columns,
so that it can be kept as rows and merged by GROUP BY.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.algebra.relational import AggregateCall
from planner.algebra.scalar import Call, Literal, Ref, Scalar, conjunction
from planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    UNKNOWN,
    Column,
    DataType,
    decimal,
)
from planner.errors import Reason

MERGEABLE = frozenset({"sum", "count", "avg", "mean", "min", "max"})
"""Functions whose states merge. ``count`` without arguments is ``count(*)``."""

_ZERO, _ONE = Literal("0", BIGINT), Literal("1", BIGINT)


def result_type(name: str, args: tuple[DataType, ...]) -> DataType:
    """The type Spark gives the aggregate, UNKNOWN where we do not derive it."""
    if name == "count":
        return BIGINT
    if not args or not args[0].is_known:
        return UNKNOWN
    (first, *_) = args
    if name in (
        "min",
        "max",
        "first",
        "last",
        "any_value",
        "first_value",
        "last_value",
        "mode",
    ):
        return first
    if name == "sum":
        return _sum_type(first)
    if name in ("avg", "mean"):
        return _average_type(first)
    if name in ("stddev", "stddev_samp", "stddev_pop", "std", "variance", "var_samp", "var_pop",
                "corr", "covar_pop", "covar_samp", "skewness", "kurtosis"):  # fmt: skip
        return DOUBLE
    if name in ("bool_and", "bool_or", "every", "some", "any"):
        return DataType("BOOLEAN")
    if name in ("approx_count_distinct",):
        return BIGINT
    return UNKNOWN


def _sum_type(type_: DataType) -> DataType:
    if type_.is_integer:
        return BIGINT
    if type_.name == "DECIMAL":
        return decimal(min(38, type_.precision + 10), type_.scale)
    return DOUBLE if type_.is_floating or type_.name == "STRING" else UNKNOWN


def _average_type(type_: DataType) -> DataType:
    """Spark: DECIMAL(p, s) averages to (p+4, s+4), bounded; everything else numeric to DOUBLE."""
    if type_.name == "DECIMAL":
        precision, scale = type_.precision + 4, type_.scale + 4
        if precision > 38:
            # Spark's DecimalType.adjustPrecisionScale does not apply here: it bounds both.
            precision, scale = 38, min(scale, 38)
        return decimal(precision, scale)
    return DOUBLE if type_.is_numeric or type_.name == "STRING" else UNKNOWN


@dataclass(frozen=True, slots=True)
class Slot:
    """One column of a partial state. ``merge`` is the aggregate that combines partial values."""

    suffix: str
    type: DataType
    merge: str


@dataclass(frozen=True, slots=True)
class PartialState:
    """How one aggregate call is computed in pieces.

    ``signed`` states are made of weighted rows: sums carry the count of their non-NULL values too,
    because 0 and "nothing left" differ.
    """

    call: AggregateCall
    result: DataType
    slots: tuple[Slot, ...]
    signed: bool

    def initialize(self, weight: Column | None) -> tuple[AggregateCall, ...]:
        """The calls, one per slot, that make a state from rows (initialize and iterate)."""
        return tuple(self._initial(slot, weight) for slot in self.slots)

    def _initial(self, slot: Slot, weight: Column | None) -> AggregateCall:
        value = _present(self.call)
        if slot.merge in ("min", "max"):
            return AggregateCall(slot.merge, (value,))
        if slot.suffix == "count":
            there = Call("isnotnull", (value,), BOOLEAN) if self.call.args else self.call.where
            return count_rows(there, weight)
        term = _exact(value, slot.type)
        return AggregateCall("sum", (term if weight is None else _times_weight(term, weight),))

    def finalize(self, slots: tuple[Scalar, ...]) -> Scalar:
        """The value of the aggregate from merged slots; none of it reads rows."""
        by_name = {s.suffix: v for s, v in zip(self.slots, slots, strict=True)}
        if self.call.name == "count":
            return by_name["count"]
        if self.call.name in ("avg", "mean"):
            return _quotient(by_name["sum"], by_name["count"], self.result)
        if self.call.name == "sum" and self.signed:
            some = Call(">", (by_name["count"], _ZERO), BOOLEAN)
            value, nothing = by_name["sum"], Literal(None, self.result)
            return Call("case", (some, value, nothing), self.result)
        return next(iter(by_name.values()))


def partial_state(call: AggregateCall, signed: bool) -> PartialState | Reason:
    """The partial state of a call over (signed) deltas, or why it has none."""
    types = tuple(arg.type for arg in call.args)
    result = result_type(call.name, types)
    if call.name not in MERGEABLE:
        return Reason.AGGREGATE_FUNCTION
    if call.distinct and call.name not in ("min", "max"):
        return Reason.DISTINCT_AGGREGATE
    if not result.is_known or (types and types[0].name == "STRING" and call.name in ("sum", "avg")):
        return Reason.UNKNOWN_TYPE
    count = Slot("count", BIGINT, "count")
    if call.name == "count":
        return PartialState(call, result, (count,), signed)
    if call.name in ("min", "max"):
        if signed:
            return Reason.RETRACTING_INPUT
        return PartialState(call, result, (Slot(call.name, result, call.name),), signed)
    if signed and types[0].is_floating:
        return Reason.RETRACTING_INPUT
    if call.name == "sum":
        slots = (Slot("sum", result, "sum"), count) if signed else (Slot("sum", result, "sum"),)
        return PartialState(call, result, slots, signed)
    total = _total_type(types[0])
    return PartialState(call, result, (Slot("sum", total, "sum"), count), signed)


def count_rows(condition: Scalar | None, weight: Column | None) -> AggregateCall:
    """How many rows there are of which the condition is true, by weight if there is one."""
    if weight is None:
        if condition is None:
            return AggregateCall("count", ())
        one = Call("case", (condition, _ONE, Literal(None, BIGINT)), BIGINT)
        return AggregateCall("count", (one,))
    counted: Scalar = Ref(weight)
    if condition is not None:
        counted = Call("case", (condition, counted, _ZERO), BIGINT)
    return AggregateCall("sum", (counted,))


def of_one_row(slot: Slot, call: AggregateCall) -> Scalar:
    """What the slot's initializing call gives over a single row."""
    if call.name == "count":
        there = tuple(Call("isnotnull", (arg,), BOOLEAN) for arg in call.args)
        return Call("case", (conjunction(there), _ONE, _ZERO), BIGINT) if there else _ONE
    (value,) = call.args
    return value if value.type == slot.type else Call("cast", (value,), slot.type)


def merged_slot(slot: Slot, column: Scalar) -> tuple[AggregateCall, DataType]:
    """The call that merges a slot, and its type before :func:`settled` brings it back."""
    name = "sum" if slot.merge == "count" else slot.merge
    return AggregateCall(name, (column,)), result_type(name, (slot.type,))


def settled(slot: Slot, value: Scalar) -> Scalar:
    """A merged slot in the slot's own type: sums of sums grow a decimal, counts lose their 0."""
    if slot.merge == "count":
        return Call("coalesce", (value, _ZERO), BIGINT)
    return value if value.type == slot.type else Call("cast", (value,), slot.type)


def _present(call: AggregateCall) -> Scalar:
    """The value a row contributes; NULL where FILTER or a NULL argument leaves it out."""
    if not call.args:
        return _ONE
    value = call.args[0]
    rest = tuple(Call("isnotnull", (arg,), BOOLEAN) for arg in call.args[1:])
    guards = rest if call.where is None else (call.where, *rest)
    if not guards:
        return value
    return Call("case", (conjunction(guards), value, Literal(None, value.type)), value.type)


def _exact(value: Scalar, total: DataType) -> Scalar:
    """Integers are widened before they are summed, so that sums are exact in every order."""
    if not value.type.is_integer:
        return value
    wide = decimal(20, 0) if total.name == "DECIMAL" else total
    return value if value.type == wide else Call("cast", (value,), wide)


def _total_type(type_: DataType) -> DataType:
    """The sum behind an average. Spark sums integers as DOUBLE; ours is exact and can go back."""
    if type_.name == "BIGINT":
        return decimal(30, 0)
    return _sum_type(type_)


def _times_weight(value: Scalar, weight: Column) -> Scalar:
    """``value * weight`` in the value's own type; multiplying decimals would widen it."""
    is_one = Call("=", (Ref(weight), _ONE), BOOLEAN)
    is_minus_one = Call("=", (Ref(weight), Literal("-1", BIGINT)), BOOLEAN)
    product = Call("cast", (Call("*", (value, Ref(weight)), UNKNOWN),), value.type)
    taken_back = Call("neg", (value,), value.type)
    return Call("case", (is_one, value, is_minus_one, taken_back, product), value.type)


def _quotient(total: Scalar, count: Scalar, result: DataType) -> Scalar:
    """Sum over count as Spark's AVG has it; NULL over nothing.

    The divisor is at least 1: an engine may compute a branch of CASE ahead of its condition.
    """
    some = Call(">", (count, _ZERO), BOOLEAN)
    rows = Call("greatest", (count, _ONE), BIGINT)
    if result.name == "DECIMAL":
        divisor = Call("cast", (rows,), decimal(20, 0))
        value: Scalar = Call("cast", (Call("/", (total, divisor), UNKNOWN),), result)
    else:
        numerator = total if total.type == DOUBLE else Call("cast", (total,), DOUBLE)
        value = Call("/", (numerator, Call("cast", (rows,), DOUBLE)), DOUBLE)
    return Call("case", (some, value, Literal(None, result)), result)
