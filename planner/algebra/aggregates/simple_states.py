"""Partial states of counts, sums, extremes, truth values and lists: columns that merge one by one,
but for ``min_by`` and ``max_by``, whose columns are chosen together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forerun.planner.algebra.aggregates import types
from forerun.planner.algebra.aggregates.states import (
    ZERO,
    Fold,
    New,
    State,
    StateColumn,
    StatePart,
    cast,
    count_part,
    guarded,
    present,
    quotient,
    state_of_parts,
    times_weight,
    where_more_than,
    widened,
)
from forerun.planner.algebra.nested import FIELD, array_of, struct_of
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import FALSE, TRUE, Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import BOOLEAN, INT, STRING, Column, DataType, decimal

_WHOLE = decimal(30, 0)
"""Holds the sum of a hundred billion BIGINTs."""


def _only(columns: tuple[Scalar, ...]) -> Scalar:
    return columns[0]


def count_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001
    """Return the number of rows, or of rows in which no argument is NULL. A count goes up and down
    by itself."""
    there: Scalar | None = call.where
    if call.args:
        there = Call("isnotnull", (present(call),), BOOLEAN)
    return state_of_parts((count_part("count", there),), _only)


def count_if_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001
    """Return the number of rows for which the argument is true."""
    return state_of_parts((count_part("count", present(call)),), _only)


def _sum_part(call: AggregateCall, type_: DataType) -> StatePart:
    term = widened(present(call), type_)

    def initial(weight: Column | None) -> AggregateCall:
        if weight is None:
            return AggregateCall("sum", (term,))
        return AggregateCall("sum", (times_weight(term, weight, type_),))

    return StatePart(StateColumn("sum", type_), initial, "sum", types.sum_type)


def _value_count(call: AggregateCall) -> StatePart:
    return count_part("count", Call("isnotnull", (present(call),), BOOLEAN))


def sum_state(call: AggregateCall, signed: bool) -> State:
    """The sum; where rows may be taken back, also how many values it is of: none left is NULL, and
    not 0. Of rows that come and go a sum of BIGINTs may leave their range and come back, where the
    rows that stay never do, so it is kept as a DECIMAL."""
    type_ = types.sum_type((call.args[0].type,))
    if not signed:
        return state_of_parts((_sum_part(call, type_),), _only)
    kept = _WHOLE if call.args[0].type.name == "BIGINT" else type_
    parts = (_sum_part(call, kept), _value_count(call))

    def finalize(columns: tuple[Scalar, ...]) -> Scalar:
        return where_more_than(columns[1], ZERO, cast(columns[0], type_))

    return state_of_parts(parts, finalize)


def average_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001
    """The sum and how many values it is of."""
    type_ = call.args[0].type
    result = types.average_type((type_,))
    # Spark sums integers as DOUBLE; ours is exact and can go back.
    total = _WHOLE if type_.name == "BIGINT" else types.sum_type((type_,))
    parts = (_sum_part(call, total), _value_count(call))
    return state_of_parts(parts, lambda columns: quotient(columns[0], columns[1], result))


def self_merging_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001
    """The value so far, of a function of which the values of parts make the value of the whole."""
    value = present(call)
    again = AggregateCall(call.name, (value,))
    part = StatePart(
        StateColumn(call.name, value.type), lambda _: again, call.name, types.first_argument
    )
    return state_of_parts((part,), _only)


def any_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001 - never signed
    """The value of any row so far, and whether there was one: a part of which FILTER leaves nothing
    has a NULL that is no value of any row. Where NULLs are skipped, it does no harm."""
    skips = call.args[1:]
    value = present(call)
    if skips == (TRUE,):

        def chosen(given: tuple[Scalar, ...], new: New) -> Fold:
            one = new("value", value.type)
            return Fold((), ((one, AggregateCall(call.name, (*given, *skips))),), (Ref(one),))

        column = StateColumn("value", value.type)
        return State((column,), lambda _, new: chosen((value,), new), lambda _: (value,),
                     chosen, _only)  # fmt: skip
    columns = (StateColumn("value", value.type), StateColumn("there", BOOLEAN))
    passes: Scalar = TRUE if call.where is None else Call("<=>", (call.where, TRUE), BOOLEAN)

    def among(given: tuple[Scalar, ...], new: New) -> Fold:
        one, there = new("value", value.type), new("there", BOOLEAN)
        calls = (
            (one, AggregateCall(call.name, (given[0], *skips), where=given[1])),
            (there, AggregateCall("bool_or", given[1:])),
        )
        return Fold((), calls, (Ref(one), Ref(there)))

    return State(
        columns, lambda _, new: among((value, passes), new), lambda _: (value, passes), among, _only
    )


def list_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001 - never signed
    """The values so far, in any order, and in their own once the list is whole. What is NULL is
    left out of it."""
    return _list_state(call, lambda values: _in_order(values, "ASC"))


def joined_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001 - never signed
    """The same of texts that are joined in an order; of none of them the text is NULL. Where it is
    not their own, each is kept beside what it is ordered by, and texts that tie are in theirs."""
    text, by = call.args[0], call.args[-1]
    between = call.args[1] if len(call.args) > 2 else Literal("", STRING)
    of_itself = text == by
    if not of_itself:
        pair = Call(
            "named_struct",
            (Literal("by", STRING), by, Literal("text", STRING), text),
            struct_of((("by", by.type), ("text", STRING))),
        )
        there = Call("isnotnull", (text,), BOOLEAN)
        kept = Call("case", (there, pair, Literal(None, pair.type)), pair.type)
        call = replace(call, args=(kept, *call.args[1:]))

    def finalize(values: Scalar) -> Scalar:
        texts = _in_order(values, call.within)
        if not of_itself:
            texts = Call(FIELD, (texts, Literal("text", STRING)), array_of(STRING))
        joined = Call("array_join", (texts, between), STRING)
        return where_more_than(Call("size", (values,), INT), Literal("0", INT), joined)

    return _list_state(call, finalize)


def _in_order(values: Scalar, direction: str) -> Scalar:
    if direction == "ASC":
        return Call("array_sort", (values,), values.type)
    return Call("sort_array", (values, FALSE), values.type)


def _list_state(call: AggregateCall, finalize: Callable[[Scalar], Scalar]) -> State:
    value = guarded(call, call.args[0], ())
    list_of = array_of(value.type)

    def fold(made: Scalar, new: New, joined: Callable[[Scalar], Scalar]) -> Fold:
        gathered = new("list", array_of(made.type))
        calls = ((gathered, AggregateCall("collect_list", (made,))),)
        return Fold((), calls, (joined(Ref(gathered)),))

    def flat(lists: Scalar) -> Scalar:
        return Call("flatten", (lists,), list_of)

    one = Call("array_compact", (Call("array", (value,), list_of),), list_of)
    return State(
        (StateColumn("list", list_of),),
        lambda _, new: fold(value, new, lambda gathered: gathered),
        lambda _: (one,),
        lambda given, new: fold(given[0], new, flat),
        lambda given: finalize(given[0]),
    )


def truth_states(decisive: Literal) -> Callable[[AggregateCall, bool], State]:
    """States of ``bool_and`` and ``bool_or``: how many rows are true, and how many are false. One
    row that is ``decisive`` settles the value."""

    def state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001
        value = present(call)
        parts = (
            count_part("true", value),
            count_part("false", Call("not", (value,), BOOLEAN)),
        )
        first = 0 if decisive == TRUE else 1
        other = FALSE if decisive == TRUE else TRUE

        def finalize(columns: tuple[Scalar, ...]) -> Scalar:
            some = Call(">", (columns[first], ZERO), BOOLEAN)
            rest = Call(">", (columns[1 - first], ZERO), BOOLEAN)
            return Call("case", (some, decisive, rest, other, Literal(None, BOOLEAN)), BOOLEAN)

        return state_of_parts(parts, finalize)

    return state


def best_states(extreme: str) -> Callable[[AggregateCall, bool], State]:
    """States of ``min_by`` and ``max_by``: the best value so far, and what it is the best by."""

    def state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001 - never signed
        value, by = call.args
        by = guarded(call, by, ())
        columns = (StateColumn("value", value.type), StateColumn("by", by.type))

        def fold(given: tuple[Scalar, ...], new: New) -> Fold:
            best, place = new("value", value.type), new("by", by.type)
            calls = (
                (best, AggregateCall(call.name, given)),
                (place, AggregateCall(extreme, given[1:])),
            )
            return Fold((), calls, (Ref(best), Ref(place)))

        return State(
            columns, lambda _, new: fold((value, by), new), lambda _: (value, by), fold, _only
        )

    return state
