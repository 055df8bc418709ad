"""Means of DECIMALs taken apart: a sum and a count, shared with the other calls of the aggregate.

Spark's AVG of a DECIMAL is its sum over its count, rounded once, and so is what a kept state of it
is finished to (:func:`forerun.planner.algebra.aggregates.states.quotient`). Sums and counts can be
added up over parts of a group (:mod:`forerun.planner.exact.sums`), means cannot.
"""

from __future__ import annotations

from forerun.planner.algebra.aggregates.functions import function, result_type
from forerun.planner.algebra.aggregates.states import Fold, State, together
from forerun.planner.algebra.relational import Aggregate, AggregateCall
from forerun.planner.algebra.scalar import Ref, Scalar, substitute
from forerun.planner.algebra.types import Column
from forerun.planner.tvr.signed import ColumnIds

_OF_A_MEAN = ("sum", "count")


def without_means(
    node: Aggregate, ids: ColumnIds
) -> tuple[Aggregate, tuple[tuple[Column, Scalar], ...]]:
    """Return the aggregate with sums and counts in place of means, and what the columns of the node
    are of its columns; the node itself and nothing if it has no such means."""
    states = [_state_of_mean(call) for _, call in node.calls]
    if all(state is None for state in states):
        return node, ()
    folds = [
        Fold((), ((column, call),), (Ref(column),))
        if state is None
        else state.of_rows(None, ids.of_type)
        for (column, call), state in zip(node.calls, states, strict=True)
    ]
    fold = together(folds)
    # A column of the node is a column of the sums as well only under another id.
    fresh = {column: ids.of_type(column.name, column.type) for column, _ in fold.calls}
    names = {column.id: Ref(new) for column, new in fresh.items()}
    values = iter(substitute(value, names) for value in fold.values)
    finished: list[tuple[Column, Scalar]] = [(key, Ref(key)) for key in node.keys]
    for (column, _), state, own in zip(node.calls, states, folds, strict=True):
        given = tuple(next(values) for _ in own.values)
        finished.append((column, given[0] if state is None else state.finalize(given)))
    calls = tuple((fresh[column], call) for column, call in fold.calls)
    return Aggregate(node.input, node.keys, calls), tuple(finished)


def _state_of_mean(call: AggregateCall) -> State | None:
    """Return the state of the mean of a DECIMAL, if that is what the call is and it is exact."""
    known, given = function(call.name), tuple(arg.type for arg in call.args)
    if known.computed_of != _OF_A_MEAN or call.distinct or known.state is None:
        return None
    exact = result_type(call.name, given).name == "DECIMAL" and known.state_over(given)
    return known.state(call, False) if exact else None
