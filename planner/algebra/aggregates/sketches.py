"""Partial states of sketches: a sketch of the rows of each run, merged by Spark's function for it.

A sketch is a summary that merges: Spark makes one of the rows of every task, too, and merges them.
So a merged sketch is as near as Spark's own. Which registers or items it has left may depend on the
parts that it was made of; of theta sketches and bitmaps nothing does, and of HyperLogLog only
whether there was more than one part that is not small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forerun.planner.algebra.aggregates.states import Fold, New, State, StateColumn
from forerun.planner.algebra.aggregates.types import top_items
from forerun.planner.algebra.nested import struct_of
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import BINARY, INT, STRING, Column, DataType

_MOST_ITEMS = 5
"""The items that ``approx_top_k(x)`` gives."""


def sketch_states(merge: str, *, sized: bool = True) -> Callable[[AggregateCall, bool], State]:
    """States of a function whose value is a sketch: the sketch. ``merge``: the function that makes
    one of several; ``sized``: it takes the size that the call says, as the function itself does."""

    def state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001 - never signed
        return _state(call, merge, call.args[1:] if sized else (), BINARY, lambda sketch: sketch)

    return state


def top_items_state(call: AggregateCall, signed: bool) -> State:  # noqa: ARG001 - never signed
    """State of ``approx_top_k(x, k, tracked)``: the sketch of the items that are tracked."""
    value, *rest = call.args
    most = tuple(rest[:1]) or (Literal(str(_MOST_ITEMS), INT),)
    gathered = replace(call, name="approx_top_k_accumulate", args=(value, *rest[1:]))
    fields = (
        ("sketch", BINARY), ("maxItemsTracked", INT), ("itemDataType", value.type),
        ("itemDataTypeDDL", STRING),
    )  # fmt: skip
    return _state(
        gathered, "approx_top_k_combine", tuple(rest[1:]), struct_of(fields),
        lambda sketch: Call("approx_top_k_estimate", (sketch, *most), top_items((value.type,))),
    )  # fmt: skip


def _state(
    made: AggregateCall,
    merge: str,
    size: tuple[Scalar, ...],
    type_: DataType,
    finish: Callable[[Scalar], Scalar],
) -> State:
    def fold(call: AggregateCall, new: New) -> Fold:
        sketch = new("sketch", type_)
        return Fold((), ((sketch, call),), (Ref(sketch),))

    def of_rows(weight: Column | None, new: New) -> Fold:
        if weight is not None:
            raise ValueError("nothing is taken back from a sketch: the groups are computed again")
        return fold(made, new)

    def merged(given: tuple[Scalar, ...], new: New) -> Fold:
        return fold(AggregateCall(merge, (given[0], *size)), new)

    return State((StateColumn("sketch", type_),), of_rows, None, merged, lambda g: finish(g[0]))
