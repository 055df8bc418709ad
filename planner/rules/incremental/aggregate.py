"""Delta rules and keyed views of aggregates.

An aggregate is kept as partial states, one row per group and run: the groups of the run's delta.
Merging is a GROUP BY over all runs' states, which are distributed by the group key::

    agg(R_new)     =  finish(merge(states of all runs))
    d(agg(R))      =  for the groups this run touched:  - finish(merge(states before))
                                                       + finish(merge(states with this run))
    d(distinct(R)) =  groups whose first state is of this run          where R takes nothing back

Where R takes rows back and a function cannot follow (min, max, sums of floating point numbers),
states are made of the rows that came, and groups that lost a row are computed again from the kept
rows of R.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.algebra.aggregates import (
    PartialState,
    Slot,
    count_rows,
    merged_slot,
    of_one_row,
    partial_state,
    result_type,
    settled,
)
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    Values,
)
from planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    is_deterministic,
)
from planner.algebra.types import BIGINT, BOOLEAN, Column
from planner.errors import Reason
from planner.rules.incremental.rule import Applies, Input, Need, Rule, Versions, View
from planner.tvr.signed import ColumnIds, Signed, consolidate, integer

_HIDDEN = Slot("__n", BIGINT, "count")
_LOST = Slot("__lost", BIGINT, "count")


def _as_aggregate(node: Relation) -> Aggregate:
    if not isinstance(node, Aggregate):
        raise TypeError(node)
    return node


def _states(node: Aggregate, signed: bool) -> tuple[PartialState, ...] | Reason:
    """The partial states of all calls, or why one of them has none."""
    if not all(key.type.is_known for key in node.keys):
        return Reason.UNKNOWN_TYPE
    states = []
    for _, call in node.calls:
        if not all(is_deterministic(part) for part in (*call.args, call.where or TRUE)):
            return Reason.NOT_DETERMINISTIC
        state = partial_state(call, signed)
        if isinstance(state, Reason):
            return state
        states.append(state)
    return tuple(states)


def _must(states: tuple[PartialState, ...] | Reason) -> tuple[PartialState, ...]:
    if isinstance(states, Reason):
        raise TypeError(f"the rule does not apply: {states}")
    return states


def _layout(node: Aggregate, signed: bool, hidden: Slot, ids: ColumnIds) -> tuple[Column, ...]:
    """Columns of the kept states: the keys, the slots of every call, one hidden count."""
    columns = list(node.keys)
    for (output, _), state in zip(node.calls, _must(_states(node, signed)), strict=True):
        columns.extend(
            Column(ids.next_id(), f"{output.name}_{slot.suffix}", slot.type) for slot in state.slots
        )
    columns.append(Column(ids.next_id(), hidden.suffix, hidden.type))
    return tuple(columns)


def states_of(
    keys: tuple[Column, ...],
    rows: Relation,
    calls: Sequence[tuple[Slot, AggregateCall]],
    columns: tuple[Column, ...],
    ids: ColumnIds,
) -> Relation:
    """States of the rows in the given columns, the keys first; each slot in its own type."""
    targets = columns[len(keys) :]
    raw = []
    items: list[tuple[Column, Scalar]] = [(key, Ref(key)) for key in keys]
    for (slot, call), target in zip(calls, targets, strict=True):
        type_ = result_type(call.name, tuple(arg.type for arg in call.args))
        before = Column(ids.next_id(), target.name, type_)
        raw.append((before, call))
        items.append((target, settled(slot, Ref(before))))
    return Project(Aggregate(rows, keys, tuple(raw)), tuple(items))


def _merging(
    partials: tuple[PartialState, ...],
    hidden: Slot,
    columns: tuple[Column, ...],
    only: Scalar | None,
    ids: ColumnIds,
) -> tuple[list[tuple[Column, AggregateCall]], list[Scalar]]:
    """Calls that merge state columns (only of rows with ``only`` true), and the merged slots."""
    slots = [slot for state in partials for slot in state.slots] + [hidden]
    calls: list[tuple[Column, AggregateCall]] = []
    values: list[Scalar] = []
    for slot, column in zip(slots, columns, strict=True):
        value: Scalar = Ref(column)
        if only is not None:
            value = Call("case", (only, value, Literal(None, column.type)), column.type)
        call, type_ = merged_slot(slot, value)
        raw = Column(ids.next_id(), column.name, type_)
        calls.append((raw, call))
        values.append(settled(slot, Ref(raw)))
    return calls, values


def _finish(partials: tuple[PartialState, ...], slots: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The value of every call from all merged slots, in order."""
    values, start = [], 0
    for state in partials:
        values.append(state.finalize(tuple(slots[start : start + len(state.slots)])))
        start += len(state.slots)
    return tuple(values)


def initial_calls(
    node: Aggregate, weight: Column | None, signed: bool
) -> list[tuple[Slot, AggregateCall]]:
    """What makes a state of rows, slot by slot."""
    calls = [
        (slot, call)
        for state in _must(_states(node, signed))
        for slot, call in zip(state.slots, state.initialize(weight), strict=True)
    ]
    return [*calls, (_HIDDEN, count_rows(None, weight))]


def merging_calls(
    node: Aggregate, signed: bool, columns: Sequence[Column]
) -> list[tuple[Slot, AggregateCall]]:
    """What merges states whose slots are in the given columns."""
    slots = [slot for state in _must(_states(node, signed)) for slot in state.slots]
    pairs = zip((*slots, _HIDDEN), columns, strict=True)
    return [(slot, merged_slot(slot, Ref(column))[0]) for slot, column in pairs]


def _applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    states = _states(_as_aggregate(node), inputs[0].signed)
    return states if isinstance(states, Reason) else Applies(signed=True)


def _only_comes(node: Aggregate, signed: bool) -> bool:
    """DISTINCT rows of what takes nothing back: one that is there stays, whatever else comes."""
    return bool(node.keys) and not node.calls and not signed


def _came(node: Aggregate, states: Versions, ids: ColumnIds) -> Signed:
    """The groups that no earlier run has written."""
    kept = states.stamped()
    first = Column(ids.next_id(), "__first", kept.run.type)
    call = AggregateCall("min", (Ref(kept.run),))
    grouped = Aggregate(kept.relation, node.keys, ((first, call),))
    now = Filter(grouped, Call("=", (Ref(first), kept.current), BOOLEAN))
    return Signed(Project(now, tuple((key, Ref(key)) for key in node.keys)))


def _keys(node: Relation) -> tuple[Column, ...]:
    return _as_aggregate(node).keys


def _columns(node: Relation, signed: bool, ids: ColumnIds) -> tuple[Column, ...]:
    return _layout(_as_aggregate(node), signed, _HIDDEN, ids)


def _partial(
    node: Relation,
    delta: Signed,
    signed: bool,
    columns: tuple[Column, ...],
    ids: ColumnIds,
) -> Relation:
    node = _as_aggregate(node)
    calls = initial_calls(node, delta.weight, signed)
    return states_of(node.keys, delta.relation, calls, columns, ids)


def _singles(
    node: Relation,
    delta: Signed,
    signed: bool,
    columns: tuple[Column, ...],
    ids: ColumnIds,
) -> Relation:
    """Every row of the delta as a state of its own; merging them is all the grouping there is."""
    node = _as_aggregate(node)
    values: list[Scalar] = [Ref(key) for key in node.keys]
    for state in _must(_states(node, signed)):
        calls = zip(state.slots, state.initialize(delta.weight), strict=True)
        values.extend(of_one_row(slot, call) for slot, call in calls)
    values.append(of_one_row(_HIDDEN, count_rows(None, delta.weight)))
    return Project(delta.relation, tuple(zip(columns, values, strict=True)))


def _merge(
    node: Relation, states: Relation, signed: bool, kept: Signed | None, ids: ColumnIds
) -> Relation:
    """The output from the states of all runs. Groups of which no row is left are gone; without
    keys there is one row, whatever is left."""
    node = _as_aggregate(node)
    partials = _must(_states(node, signed))
    columns = states.columns[len(node.keys) :]
    calls, values = _merging(partials, _HIDDEN, columns, None, ids)
    merged: Relation = Aggregate(states, node.keys, tuple(calls))
    if node.keys and signed:
        merged = Filter(merged, Call(">", (values[-1], integer(0)), BOOLEAN))
    return Project(merged, _outputs(node, _finish(partials, values)))


def _outputs(node: Aggregate, values: Sequence[Scalar]) -> tuple[tuple[Column, Scalar], ...]:
    finished = zip((column for column, _ in node.calls), values, strict=True)
    return (*((key, Ref(key)) for key in node.keys), *finished)


def _delta(node: Relation, states: Versions, signed: bool, ids: ColumnIds) -> Signed:
    """Touched groups, before and after, in one pass over the states and without a join.

    A group is touched when this run wrote a state for it. Each touched group gives two rows, one
    per side, by a cross join with the two signs; a side on which the group has no rows is dropped.
    """
    node = _as_aggregate(node)
    if _only_comes(node, signed):
        return _came(node, states, ids)
    partials = _must(_states(node, signed))
    kept = states.stamped()
    columns = tuple(c for c in kept.relation.columns if c.id != kept.run.id)[len(node.keys) :]
    earlier = Call("<", (Ref(kept.run), kept.current), BOOLEAN)
    after, new = _merging(partials, _HIDDEN, columns, None, ids)
    before, old = _merging(partials, _HIDDEN, columns, earlier, ids)
    merged: Relation = Aggregate(kept.relation, node.keys, (*after, *before))
    if node.keys:  # without keys every run writes the state of the one group
        last = Column(ids.next_id(), "__last", kept.run.type)
        touch = (last, AggregateCall("max", (Ref(kept.run),)))
        merged = Aggregate(kept.relation, node.keys, (*after, *before, touch))
        merged = Filter(merged, Call("=", (Ref(last), kept.current), BOOLEAN))
    # Both values of a group are finished before its rows are doubled: once each, and no engine
    # can compute them for a pair of group and sign that the filter below drops.
    olds = tuple(ids.new(f"{column.name}_old", column) for column, _ in node.calls)
    news = tuple(ids.new(f"{column.name}_new", column) for column, _ in node.calls)
    rows = tuple(Column(ids.next_id(), name, BIGINT) for name in ("__n_old", "__n_new"))
    values = (*_finish(partials, old), *_finish(partials, new), old[-1], new[-1])
    named = tuple(zip((*olds, *news, *rows), values, strict=True))
    finished = Project(merged, (*((key, Ref(key)) for key in node.keys), *named))
    weight = ids.weight()
    signs = Values((weight,), ((integer(-1),), (integer(1),)))
    sides: Relation = Join(JoinKind.INNER, finished, signs, TRUE)
    taken_back = Call("<", (Ref(weight), integer(0)), BOOLEAN)
    if node.keys:
        count = Call("case", (taken_back, Ref(rows[0]), Ref(rows[1])), BIGINT)
        sides = Filter(sides, Call(">", (count, integer(0)), BOOLEAN))
    pairs = zip(olds, news, strict=True)
    picked = [Call("case", (taken_back, Ref(o), Ref(n)), n.type) for o, n in pairs]
    return Signed(Project(sides, (*_outputs(node, picked), (weight, Ref(weight)))), weight)


def _affected_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    node = _as_aggregate(node)
    if not inputs[0].signed or not node.keys:
        return Reason.OPERATOR  # AggregateDelta says why, where it does not cover it
    states = _states(node, signed=False)
    if isinstance(states, Reason):
        return states
    return Applies(signed=True, needs=(Need(0, node.keys),))


def _affected_columns(node: Relation, signed: bool, ids: ColumnIds) -> tuple[Column, ...]:
    return _layout(_as_aggregate(node), False, _LOST, ids)


def _affected_partial(
    node: Relation,
    delta: Signed,
    signed: bool,
    columns: tuple[Column, ...],
    ids: ColumnIds,
) -> Relation:
    """States of the rows that came, and how many rows of the group were taken back."""
    node = _as_aggregate(node)
    came = None
    lost = AggregateCall("count", (Literal(None, BIGINT),))
    if delta.weight is not None:
        came = Call(">", (Ref(delta.weight), integer(0)), BOOLEAN)
        # A row that came more than once at a time is not what the states add up either.
        lost = count_rows(Call("<>", (Ref(delta.weight), integer(1)), BOOLEAN), None)
    calls: list[tuple[Slot, AggregateCall]] = []
    for (_, call), state in zip(node.calls, _must(_states(node, False)), strict=True):
        where = tuple(part for part in (came, call.where) if part is not None)
        guarded = AggregateCall(
            call.name, call.args, call.distinct, conjunction(where) if where else None
        )
        guarded_state = PartialState(guarded, state.result, state.slots, state.signed)
        calls.extend(zip(state.slots, guarded_state.initialize(None), strict=True))
    calls.append((_LOST, lost))
    return states_of(node.keys, delta.relation, calls, columns, ids)


def _affected_merge(
    node: Relation, states: Relation, signed: bool, kept: Signed | None, ids: ColumnIds
) -> Relation:
    node = _as_aggregate(node)
    if kept is None:
        raise ValueError("the rule needs its input kept")
    partials = _must(_states(node, False))
    columns = states.columns[len(node.keys) :]
    calls, values = _merging(partials, _LOST, columns, None, ids)
    merged = Aggregate(states, node.keys, tuple(calls))
    whole = Filter(merged, Call("=", (values[-1], integer(0)), BOOLEAN))
    untouched = Project(whole, _outputs(node, _finish(partials, values)))
    losers = Filter(merged, Call(">", (values[-1], integer(0)), BOOLEAN))
    names = tuple(ids.new(key.name, key) for key in node.keys)
    renamed = Project(losers, tuple((n, Ref(k)) for n, k in zip(names, node.keys, strict=True)))
    same = conjunction(
        tuple(
            Call("<=>", (Ref(key), Ref(name)), BOOLEAN)
            for key, name in zip(node.keys, names, strict=True)
        )
    )
    rows = Signed(Join(JoinKind.SEMI, kept.relation, renamed, same), kept.weight)
    again = Aggregate(consolidate(rows, ids), node.keys, node.calls)
    return UnionAll((untouched, again), node.columns)


MERGED = Rule(
    "AggregateDelta",
    Aggregate,
    _applies,
    "Tempura 3.2 and 4.1 (initialize, iterate, merge, finalize; attribute perspective). The hidden "
    "count(*) tells an empty group from one that sums to 0; touched groups are those of the raw "
    "delta, also where its weights cancel.",
    View(_keys, _columns, _partial, _merge, _delta, _singles),
)
AFFECTED = Rule(
    "AggregateAffectedGroups",
    Aggregate,
    _affected_applies,
    "Distributed IVM 3.2: groups that lost rows are recomputed from the kept rows of the input, "
    "found by their keys (NULL is a key like any other).",
    View(_keys, _affected_columns, _affected_partial, _affected_merge, None),
)
