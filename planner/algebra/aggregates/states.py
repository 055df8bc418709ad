"""Partial states of aggregate functions: made from rows, merged with one another, finished.

The vocabulary is Tempura's (section 3.2): initialize and iterate make a partial state from rows,
merge combines partial states, finalize makes the value. A state is a record of ordinary columns,
so it can be kept as rows and merged by GROUP BY. One merge sees the whole record: the variance of
two parts depends on their counts and means, not on their variances alone.

What makes states of rows, and what merges states, are both a :class:`Fold`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from forerun.planner.algebra.aggregates.types import COUNT, averaged_rest, averaged_sum, bigint
from forerun.planner.algebra.functions import MAX_PRECISION, decimal_result
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Project,
    Relation,
    SortKey,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    substitute,
)
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    UNKNOWN,
    Column,
    ColumnId,
    DataType,
    decimal,
)

ZERO, ONE = Literal("0", BIGINT), Literal("1", BIGINT)
New = Callable[[str, DataType], Column]
"""Makes a column with a fresh id."""


@dataclass(frozen=True, slots=True)
class StateColumn:
    """One column of a state. ``name`` ends the name of the stored column."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Fold:
    """The three steps by which the rows of a group become one row.

    ``totals`` are aggregates over the whole group that every one of its rows sees; of one that has
    an order, over the rows up to each in that order. ``calls`` aggregate the rows; their arguments
    may read totals. ``values`` are the columns of the result, computed from the results of the
    calls.
    """

    totals: tuple[tuple[Column, AggregateCall], ...]
    calls: tuple[tuple[Column, AggregateCall], ...]
    values: tuple[Scalar, ...]


def together(folds: Sequence[Fold]) -> Fold:
    """Several folds of the same groups as one, in which equal calls are made once."""
    totals: dict[AggregateCall, Column] = {}
    calls: dict[AggregateCall, Column] = {}
    values: list[Scalar] = []
    for fold in folds:
        names: dict[ColumnId, Scalar] = {}
        for known, pairs in ((totals, fold.totals), (calls, fold.calls)):
            for column, call in pairs:
                args = tuple(substitute(arg, names) for arg in call.args)
                first = known.setdefault(replace(call, args=args), column)
                names[column.id] = Ref(first)
        values += (substitute(value, names) for value in fold.values)
    return Fold(_pairs(totals), _pairs(calls), tuple(values))


def _pairs(known: dict[AggregateCall, Column]) -> tuple[tuple[Column, AggregateCall], ...]:
    return tuple((column, call) for call, column in known.items())


def folded(rows: Relation, keys: tuple[Column, ...], fold: Fold) -> Relation:
    """The groups of the rows: the keys and the results of the fold's calls. What the fold makes of
    these is up to the caller, who projects ``fold.values``."""
    if fold.totals:
        rows = Window(rows, tuple((column, _seen(call, keys)) for column, call in fold.totals))
    return Aggregate(rows, keys, fold.calls)


def _seen(call: AggregateCall, keys: tuple[Column, ...]) -> WindowCall:
    if not call.within:
        return WindowCall(call.name, call.args, keys, ())
    *args, by = call.args
    if not isinstance(by, Ref):
        raise TypeError(f"a running total is in the order of a column, not of {by}")
    rises = call.within == "ASC"
    order = SortKey(by.column, ascending=rises, nulls_first=rises)
    return WindowCall(call.name, tuple(args), keys, (order,))


def states_of(
    rows: Relation, keys: tuple[Column, ...], fold: Fold, columns: tuple[Column, ...]
) -> Relation:
    """The groups of the rows as states in the given columns, the keys first."""
    named = zip(columns[len(keys) :], fold.values, strict=True)
    return Project(folded(rows, keys, fold), (*((key, Ref(key)) for key in keys), *named))


@dataclass(frozen=True, slots=True)
class State:
    """The partial state of one aggregate call.

    ``of_rows`` makes a state of the rows of a group; with a weight column, of rows that count as
    often as it says, which may be less than zero times. ``of_row`` is the state of a single row;
    None where no scalar function gives it. ``merge`` makes one state of several, given their
    columns. ``finalize`` computes the value of the call from a state, reading no rows. ``weighted``
    gives, from the state of rows that all count as often as the weight says, the state of them so
    counted; None where that is not known.
    """

    columns: tuple[StateColumn, ...]
    of_rows: Callable[[Column | None, New], Fold]
    of_row: Callable[[Column | None], tuple[Scalar, ...]] | None
    merge: Callable[[tuple[Scalar, ...], New], Fold]
    finalize: Callable[[tuple[Scalar, ...]], Scalar]
    weighted: Callable[[tuple[Scalar, ...], Column], tuple[Scalar, ...]] | None = None


def finished(states: Iterable[State], merged: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Return the value of every call, computed from the merged columns of all its states."""
    values, start = [], 0
    for state in states:
        end = start + len(state.columns)
        values.append(state.finalize(tuple(merged[start:end])))
        start = end
    return tuple(values)


# -- states whose columns merge one by one -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatePart:
    """A column of a state that merges by itself. ``initial`` is the call that makes it of rows
    (with a weight column or without), ``merge`` the function that combines two of it, ``result``
    what type either gives. A count over no rows is 0; every other part is NULL."""

    column: StateColumn
    initial: Callable[[Column | None], AggregateCall]
    merge: str
    result: Callable[[tuple[DataType, ...]], DataType]
    is_count: bool = False


def count_part(name: str, condition: Scalar | None) -> StatePart:
    """The number of rows of which the condition is true (of all rows without one)."""
    column = StateColumn(name, BIGINT)
    return StatePart(
        column, lambda weight: count_rows(condition, weight), "sum", bigint, is_count=True
    )


def state_of_parts(
    parts: tuple[StatePart, ...],
    finalize: Callable[[tuple[Scalar, ...]], Scalar],
) -> State:
    """A state whose columns know nothing of one another."""

    def fold(calls: Sequence[AggregateCall], new: New) -> Fold:
        made, values = [], []
        for part, call in zip(parts, calls, strict=True):
            raw = new(part.column.name, part.result(tuple(arg.type for arg in call.args)))
            made.append((raw, call))
            values.append(_settled(part, Ref(raw)))
        return Fold((), tuple(made), tuple(values))

    def of_rows(weight: Column | None, new: New) -> Fold:
        return fold([part.initial(weight) for part in parts], new)

    def of_row(weight: Column | None) -> tuple[Scalar, ...]:
        return tuple(_of_row(part, part.initial(weight)) for part in parts)

    def merge(columns: tuple[Scalar, ...], new: New) -> Fold:
        pairs = zip(parts, columns, strict=True)
        return fold([AggregateCall(part.merge, (column,)) for part, column in pairs], new)

    def weighted(columns: tuple[Scalar, ...], weight: Column) -> tuple[Scalar, ...]:
        pairs = zip(parts, columns, strict=True)
        return tuple(_times(part, column, weight) for part, column in pairs)

    columns = tuple(part.column for part in parts)
    adds_up = all(part.merge == "sum" for part in parts)
    return State(columns, of_rows, of_row, merge, finalize, weighted if adds_up else None)


def _times(part: StatePart, value: Scalar, weight: Column) -> Scalar:
    if part.is_count:
        return Call("*", (value, Ref(weight)), BIGINT)
    return times_weight(value, weight, part.column.type)


def _settled(part: StatePart, value: Scalar) -> Scalar:
    """A value in the column's own type: sums of sums grow a decimal, counts lose their 0."""
    if part.is_count:
        return Call("coalesce", (value, ZERO), BIGINT)
    return cast(value, part.column.type)


def _of_row(part: StatePart, call: AggregateCall) -> Scalar:
    """Return the value of a part's initial call over a single row."""
    if not call.args:
        return ONE
    if part.is_count and call.name != part.merge:  # a count of values, not a sum of weights
        there = tuple(Call("isnotnull", (arg,), BOOLEAN) for arg in call.args)
        return Call("case", (conjunction(there), ONE, ZERO), BIGINT)
    return cast(call.args[0], part.column.type)


def count_rows(condition: Scalar | None, weight: Column | None) -> AggregateCall:
    """Return the number of rows for which the condition is true, by weight if there is one."""
    if weight is None:
        if condition is None:
            return AggregateCall("count", ())
        parts = conjuncts(condition)
        tests = [part for part in parts if isinstance(part, Call) and part.name == "isnotnull"]
        if tests and len(tests) == len(parts):
            return AggregateCall("count", tuple(test.args[0] for test in tests))
        one = Call("case", (condition, ONE, Literal(None, BIGINT)), BIGINT)
        return AggregateCall("count", (one,))
    counted: Scalar = Ref(weight)
    if condition is not None:
        counted = Call("case", (condition, counted, ZERO), BIGINT)
    return AggregateCall("sum", (counted,))


# -- scalars that states are made of -------------------------------------------------------------


def present(call: AggregateCall) -> Scalar:
    """The first argument as far as the call looks at the row: NULL where FILTER or a NULL in
    another argument leaves the row out."""
    return guarded(call, call.args[0], call.args[1:])


def guarded(call: AggregateCall, value: Scalar, others: Sequence[Scalar]) -> Scalar:
    """The value, NULL where FILTER or a NULL among ``others`` leaves the row out."""
    rest = tuple(Call("isnotnull", (arg,), BOOLEAN) for arg in others)
    guards = rest if call.where is None else (call.where, *rest)
    if not guards:
        return value
    return Call("case", (conjunction(guards), value, Literal(None, value.type)), value.type)


def cast(value: Scalar, type_: DataType) -> Scalar:
    """The value in another type, itself if it has that type."""
    return value if value.type == type_ else Call("cast", (value,), type_)


def widened(value: Scalar, total: DataType) -> Scalar:
    """Integers are widened before they are summed, so that sums are exact in every order."""
    if not value.type.is_integer:
        return value
    return cast(value, decimal(20, 0) if total.name == "DECIMAL" else total)


def times_weight(value: Scalar, weight: Column, total: DataType) -> Scalar:
    """``value * weight`` in the type of the total that it is added to: twice a value may be more
    than the value's own type holds, and so may be its negative.

    Decimals are multiplied in types whose product has 38 digits: beyond, Spark rounds it."""
    is_one = Call("=", (Ref(weight), ONE), BOOLEAN)
    is_minus_one = Call("=", (Ref(weight), Literal("-1", BIGINT)), BOOLEAN)
    whole, times = cast(value, total), cast(Ref(weight), total)
    factors = (whole, times)
    if total.name == "DECIMAL":
        digits = min(value.type.precision, _WIDEST_FACTOR)
        most = min(_WEIGHT_DIGITS, _WIDEST_FACTOR + 1 - digits)
        narrow = cast(value, decimal(digits, min(digits, value.type.scale)))
        factors = (narrow, cast(Ref(weight), decimal(most, 0)))
    product = Call("cast", (Call("*", factors, UNKNOWN),), total)
    taken_back = Call("neg", (whole,), total)
    return Call("case", (is_one, whole, is_minus_one, taken_back, product), total)


_WIDEST_FACTOR = 36
"""With a weight of one digit, the product has the 38 digits that Spark computes exactly."""
_WEIGHT_DIGITS = 19


def where_more_than(count: Scalar, least: Literal, value: Scalar) -> Scalar:
    """The value where the count is more than ``least``, else NULL."""
    some = Call(">", (count, least), BOOLEAN)
    return Call("case", (some, value, Literal(None, value.type)), value.type)


def quotient(total: Scalar, count: Scalar, result: DataType) -> Scalar:
    """Sum over count as Spark's AVG has it; NULL over nothing.

    The divisor is at least 1: an engine may compute a branch of CASE ahead of its condition.

    AVG rounds once, to the scale of its result. A division of decimals rounds to a scale that
    follows from their types, so the sum is given the type that makes it the same scale; see
    :func:`forerun.planner.algebra.aggregates.types.averaged_sum`. Where it has too many digits for
    that, whole multiples of the count are taken out of it before.
    """
    rows = Call("greatest", (count, ONE), BIGINT)
    if result.name != "DECIMAL":
        value: Scalar = Call("/", (cast(total, DOUBLE), cast(rows, DOUBLE)), DOUBLE)
    elif (type_ := averaged_sum(total.type, result)) is not None:
        value = _divided(cast(total, type_), rows, result)
    elif (type_ := averaged_rest(total.type, result)) is not None:
        value = _divided_in_two(total, rows, type_, result)
    else:
        raise ValueError(f"no {total.type.sql} over a count is rounded as {result.sql}")
    return where_more_than(count, ZERO, value)


def _divided(dividend: Scalar, rows: Scalar, result: DataType) -> Scalar:
    divisor = Call("cast", (rows,), COUNT)
    return Call("cast", (Call("/", (dividend, divisor), UNKNOWN),), result)


def _divided_in_two(total: Scalar, rows: Scalar, type_: DataType, result: DataType) -> Scalar:
    """The whole part of a quotient, which no division rounds, and what the rest adds to it, which
    has its sign: so rounding that rounds the quotient."""
    left = decimal_result("%", total.type, COUNT)
    rest = Call("%", (total, Call("cast", (rows,), COUNT)), left)
    multiples = Call("cast", (Call("-", (total, rest), UNKNOWN),), total.type)
    whole = _divided(multiples, rows, decimal(MAX_PRECISION - 1 - result.scale, 0))
    part = _divided(cast(rest, type_), rows, decimal(result.scale + 1, result.scale))
    return Call("cast", (Call("+", (whole, part), UNKNOWN),), result)
