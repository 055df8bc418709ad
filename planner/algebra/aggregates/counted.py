"""Functions of the values of a group and of how often each comes, which a run can keep and add to.

Each makes the call over one row for each value, in place of the call over the rows of the group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forerun.planner.algebra.nested import struct_of
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Scalar
from forerun.planner.algebra.types import BIGINT, BOOLEAN, STRING

Counted = Callable[[AggregateCall, Scalar, Scalar], AggregateCall]
"""The call over values and their numbers that is the given one over the rows."""


def by_numbers(name: str, *between: Scalar) -> Counted:
    """Return the call of a function that takes how often a value comes as its last argument; what
    it takes between the two, if the call does not say."""

    def made(call: AggregateCall, value: Scalar, number: Scalar) -> AggregateCall:
        args = (value, *(call.args[1:] or between), number)
        return replace(call, name=name, args=args, where=None)

    return made


def of_values(call: AggregateCall, value: Scalar, _: Scalar) -> AggregateCall:
    """Return the call of a function to which it is the same how often a value comes."""
    return replace(call, args=(value, *call.args[1:]), where=None)


def most_frequent(call: AggregateCall, value: Scalar, number: Scalar) -> AggregateCall:
    """Return the call that gives the value which comes most often, NULL aside: any of those that
    do, or the least or the greatest, where the call says so."""
    is_told = bool(call.within) or call.args[1:] == (TRUE,)
    is_least = call.within != "DESC"
    by, name = number, "max_by"
    if is_told and is_least:
        by, name = Call("neg", (number,), BIGINT), "min_by"
    if is_told:
        names = (Literal("n", STRING), Literal("v", STRING))
        type_ = struct_of((("n", BIGINT), ("v", value.type)))
        by = Call("named_struct", (names[0], by, names[1], value), type_)
    there = Call("isnotnull", (value,), BOOLEAN)
    known = Call("case", (there, by, Literal(None, by.type)), by.type)
    return AggregateCall(name, (value, known), determined=is_told)
