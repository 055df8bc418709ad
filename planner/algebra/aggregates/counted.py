"""Functions of the values of a group and of how often each comes, which a run can keep and add to.

Each is a fold over one row for each value, in place of the call over the rows of the group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forerun.planner.algebra.aggregates.states import ZERO, Fold, New, cast
from forerun.planner.algebra.nested import struct_of
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING, Column

Counted = Callable[[AggregateCall, Column, Column, Column, New], Fold]
"""The fold of values and their numbers whose one value is that of the given call over the rows. It
is made in the third column."""


def by_numbers(name: str, *between: Scalar) -> Counted:
    """Return the call of a function that takes how often a value comes as its last argument; what
    it takes between the two, if the call does not say."""

    def fold(call: AggregateCall, value: Column, number: Column, to: Column, _: New) -> Fold:
        args = (Ref(value), *(call.args[1:] or between), Ref(number))
        return _one(replace(call, name=name, args=args, where=None), to)

    return fold


def _one(call: AggregateCall, to: Column) -> Fold:
    return Fold((), ((to, call),), (Ref(to),))


def of_values(call: AggregateCall, value: Column, _: Column, to: Column, __: New) -> Fold:
    """Fold for a function to which it is the same how often a value comes."""
    return _one(replace(call, args=(Ref(value), *call.args[1:]), where=None), to)


def from_above(call: AggregateCall, value: Column, number: Column, to: Column, _: New) -> Fold:
    """Fold for a percentile of the values in descending order: of their negatives, and its
    negative, so that it lies between the same two values, and is rounded as Spark rounds it."""
    below = Call("neg", (cast(Ref(value), DOUBLE),), DOUBLE)
    made = _one(AggregateCall("percentile", (below, call.args[0], Ref(number))), to)
    return replace(made, values=(Call("neg", made.values, DOUBLE),))


def at_place(call: AggregateCall, value: Column, number: Column, to: Column, new: New) -> Fold:
    """Fold for the value that is the first, in the order of the call, up to which its share of all
    values has come: Spark's ``percentile_disc``, by running sums of the numbers."""
    share, all_, so_far = call.args[0], new("all", BIGINT), new("so_far", BIGINT)
    there = Call("isnotnull", (Ref(value),), BOOLEAN)
    counted = Call("case", (there, Ref(number), ZERO), BIGINT)
    least = Call(
        "ceil", (Call("*", (cast(Ref(all_), DOUBLE), cast(share, DOUBLE)), DOUBLE),), BIGINT
    )
    is_past = Call(">=", (Ref(so_far), least), BOOLEAN)
    passed = Call("case", (is_past, cast(Ref(value), DOUBLE), Literal(None, DOUBLE)), DOUBLE)
    totals = (
        (all_, AggregateCall("sum", (counted,))),
        (so_far, AggregateCall("sum", (counted, Ref(value)), within=call.within)),
    )
    first = "min" if call.within == "ASC" else "max"
    return replace(_one(AggregateCall(first, (passed,)), to), totals=totals)


def most_frequent(call: AggregateCall, value: Column, number: Column, to: Column, _: New) -> Fold:
    """Fold for the value which comes most often, NULL aside: any of those that do, or the least or
    the greatest, where the call says so."""
    is_told = bool(call.within) or call.args[1:] == (TRUE,)
    is_least = call.within != "DESC"
    by: Scalar = Ref(number)
    name = "max_by"
    if is_told and is_least:
        by, name = Call("neg", (by,), BIGINT), "min_by"
    if is_told:
        names = (Literal("n", STRING), Literal("v", STRING))
        type_ = struct_of((("n", BIGINT), ("v", value.type)))
        by = Call("named_struct", (names[0], by, names[1], Ref(value)), type_)
    there = Call("isnotnull", (Ref(value),), BOOLEAN)
    known = Call("case", (there, by, Literal(None, by.type)), by.type)
    return _one(AggregateCall(name, (Ref(value), known), determined=is_told), to)
