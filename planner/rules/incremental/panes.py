"""The delta rule of groups by pane, of which each goes as a whole or not at all.

A *pane* is a part of a source whose rows go together, as the days of a rolling range do: those of
the day that leaves it are taken back, and of no other day any. A group that is by the panes of all
sources that take rows back loses all of its rows, or none. So its states are made of the rows that
came, as if nothing went, beside the number of rows that are left::

    agg(R_new)  =  finish(merge(states of all runs))      where the rows left are more than none

Functions that cannot subtract (min, max, sums of floating-point numbers, sketches) are so kept
without their rows. Whoever says that a source has panes has verified of what is taken back that no
row of its panes is left (:mod:`forerun.include.days.panes`); in a step of which that is not true
the source has none. :mod:`forerun.planner.rules.explore.pane_groups` makes such groups.
Source: Li, Maier, Tufte, Papadimos and Tucker, "No pane, no gain: efficient evaluation of
sliding-window aggregates over data streams", SIGMOD Record 2005.
"""

from __future__ import annotations

from forerun.planner.algebra.aggregates.functions import state_by_pane
from forerun.planner.algebra.aggregates.states import State, folded
from forerun.planner.algebra.relational import Aggregate, Project, Relation
from forerun.planner.algebra.scalar import Call, Ref, Scalar
from forerun.planner.algebra.types import BIGINT, Column
from forerun.planner.contract.plan_v1 import PANE_COLUMN
from forerun.planner.errors import Reason
from forerun.planner.rules.incremental.aggregate import (
    as_aggregate,
    changed_groups,
    initial,
    layout,
    merged_rows,
)
from forerun.planner.rules.incremental.rule import (
    Applies,
    DeltaOfStates,
    DeltaRule,
    Input,
    KeyedState,
    Versions,
)
from forerun.planner.tvr.signed import ColumnIds, Signed


def _applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    node = as_aggregate(node)
    if not inputs[0].signed or not any(key.name == PANE_COLUMN for key in node.keys):
        return Reason.OPERATOR  # AggregateDelta says why, where it does not cover it
    found = _states(node)
    return found if isinstance(found, Reason) else Applies(signed=True)


def _states(node: Aggregate) -> tuple[State, ...] | Reason:
    """The partial states of all calls, or the reason why one of them has none."""
    states = []
    for _, call in node.calls:
        state = state_by_pane(call)
        if isinstance(state, Reason):
            return state
        states.append(state)
    return tuple(states)


def _must_states(node: Relation) -> tuple[State, ...]:
    states = _states(as_aggregate(node))
    if isinstance(states, Reason):
        raise TypeError(f"the rule does not apply: {states}")
    return states


def _keys(node: Relation) -> tuple[Column, ...]:
    return as_aggregate(node).keys


def _columns(node: Relation, _signed: bool, ids: ColumnIds) -> tuple[Column, ...]:
    return layout(as_aggregate(node), _must_states(node), "__n", ids)


def _partial(
    node: Relation, delta: Signed, _signed: bool, columns: tuple[Column, ...], ids: ColumnIds
) -> Relation:
    """Return the states of a delta, one for each group and weight. Of a group that goes the number
    of rows is what counts, so it does not matter what becomes of its states."""
    node, weight = as_aggregate(node), delta.weight
    fold = initial(node, None, False, ids)
    values: list[Scalar] = list(fold.values)
    if weight is not None:
        start = 0
        for state in _must_states(node):
            end = start + len(state.columns)
            if state.weighted is not None:
                values[start:end] = state.weighted(fold.values[start:end], weight)
            start = end
        values[-1] = Call("*", (values[-1], Ref(weight)), BIGINT)
    by = node.keys if weight is None else (*node.keys, weight)
    named = zip(columns, (*map(Ref, node.keys), *values), strict=True)
    return Project(folded(delta.relation, by, fold), tuple(named))


def _merge(
    node: Relation, states: Relation, _signed: bool, _kept: Signed | None, ids: ColumnIds
) -> Relation:
    return merged_rows(as_aggregate(node), states, _must_states(node), ids, some_go=True)


def _delta(node: Relation, states: Versions, _signed: bool, ids: ColumnIds) -> DeltaOfStates:
    return changed_groups(as_aggregate(node), states, _must_states(node), ids)


BY_PANE = DeltaRule(
    "AggregateByPane",
    Aggregate,
    _applies,
    "Li et al., SIGMOD Record 2005 (panes): what is kept of a part of the rows that go together "
    "goes with them, so no function has to subtract.",
    KeyedState(_keys, _columns, _partial, _merge, _delta),
)
