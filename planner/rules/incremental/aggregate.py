"""Delta rules and keyed views of aggregates.

An aggregate is kept as partial states: each run appends one row per group in its delta. Reading
merges the states of all runs with a GROUP BY; they are distributed by the group key::

    agg(R_new)     =  finish(merge(states of all runs))
    d(agg(R))      =  for the groups this run touched:  - finish(merge(states before))
                                                       + finish(merge(states with this run))
    d(distinct(R)) =  groups whose first state is of this run          where R takes nothing back

Where R takes rows back and a function cannot subtract (min, max, sums of floating-point numbers),
the states are over the rows that came, and groups that lost a row are recomputed from the kept rows
of R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forerun.planner.algebra.aggregates.functions import partial_state
from forerun.planner.algebra.aggregates.states import (
    Fold,
    State,
    count_part,
    finished,
    folded,
    state_of_parts,
    states_of,
    together,
)
from forerun.planner.algebra.relational import (
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
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    is_deterministic,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column
from forerun.planner.errors import Reason
from forerun.planner.rules.incremental.rule import (
    Applies,
    DeltaOfStates,
    DeltaRule,
    Input,
    KeyedState,
    Versions,
)
from forerun.planner.tvr.signed import ColumnIds, Signed, consolidate, integer

_HIDDEN = state_of_parts((count_part("__n", None),), lambda columns: columns[0])
"""A hidden count of the rows of a group; it tells an empty group from one that sums to 0."""


def as_aggregate(node: Relation) -> Aggregate:
    """Return the node as the aggregate that the rules of aggregates are asked for."""
    if not isinstance(node, Aggregate):
        raise TypeError(node)
    return node


def _states(node: Aggregate, signed: bool) -> tuple[State, ...] | Reason:
    """Return the partial states of all calls, or the reason why one of them has none. ``signed``
    says whether the input takes rows back."""
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


def _must_state(state: State | Reason) -> State:
    if isinstance(state, Reason):
        raise TypeError(f"the rule does not apply: {state}")
    return state


def _must(states: tuple[State, ...] | Reason) -> tuple[State, ...]:
    if isinstance(states, Reason):
        raise TypeError(f"the rule does not apply: {states}")
    return states


def layout(
    node: Aggregate, partials: Sequence[State], hidden: str, ids: ColumnIds
) -> tuple[Column, ...]:
    """Return the columns of the kept states: the keys, the states of every call, a hidden count."""
    columns = list(node.keys)
    for (output, _), state in zip(node.calls, partials, strict=True):
        columns.extend(
            Column(ids.next_id(), f"{output.name}_{made.name}", made.type) for made in state.columns
        )
    columns.append(Column(ids.next_id(), hidden, BIGINT))
    return tuple(columns)


def _of_rows(
    partials: Sequence[State], hidden: State, weight: Column | None, ids: ColumnIds
) -> Fold:
    """Return the fold that computes states from rows, for all calls and the hidden count."""
    return together([state.of_rows(weight, ids.of_type) for state in (*partials, hidden)])


def _merging(
    partials: tuple[State, ...],
    columns: tuple[Column, ...],
    only: Scalar | None,
    ids: ColumnIds,
) -> Fold:
    """Return the fold that merges states in the given columns, the hidden count last. With
    ``only``, it merges the rows for which that is true."""
    values: list[Scalar] = [Ref(column) for column in columns]
    if only is not None:
        nothing = (Literal(None, column.type) for column in columns)
        pairs = zip(values, nothing, strict=True)
        values = [Call("case", (only, value, none), none.type) for value, none in pairs]
    folds, start = [], 0
    for state in (*partials, _HIDDEN):
        end = start + len(state.columns)
        folds.append(state.merge(tuple(values[start:end]), ids.of_type))
        start = end
    return together(folds)


def initial(node: Aggregate, weight: Column | None, signed: bool, ids: ColumnIds) -> Fold:
    """Return the fold that computes the states of an aggregate from the rows of its input."""
    return _of_rows(_must(_states(node, signed)), _HIDDEN, weight, ids)


def merging(node: Aggregate, signed: bool, columns: tuple[Column, ...], ids: ColumnIds) -> Fold:
    """Return the fold that merges states of an aggregate that are in the given columns."""
    return _merging(_must(_states(node, signed)), columns, None, ids)


def _applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    states = _states(as_aggregate(node), inputs[0].signed)
    return states if isinstance(states, Reason) else Applies(signed=True)


def _only_comes(node: Aggregate, signed: bool) -> bool:
    """Return whether the aggregate is a DISTINCT over an append-only input: its rows then stay."""
    return bool(node.keys) and not node.calls and not signed


def _came(node: Aggregate, states: Versions, ids: ColumnIds) -> DeltaOfStates:
    """Return the delta of a DISTINCT: the groups that no earlier run has written."""
    kept = states.stamped()
    first = Column(ids.next_id(), "__first", kept.run.type)
    call = AggregateCall("min", (Ref(kept.run),))
    grouped = Aggregate(kept.relation, node.keys, ((first, call),))
    now = Filter(grouped, Call("=", (Ref(first), kept.current), BOOLEAN))
    return DeltaOfStates(Signed(Project(now, tuple((key, Ref(key)) for key in node.keys))), now)


def _keys(node: Relation) -> tuple[Column, ...]:
    return as_aggregate(node).keys


def _columns(node: Relation, signed: bool, ids: ColumnIds) -> tuple[Column, ...]:
    node = as_aggregate(node)
    return layout(node, _must(_states(node, signed)), "__n", ids)


def _partial(
    node: Relation,
    delta: Signed,
    signed: bool,
    columns: tuple[Column, ...],
    ids: ColumnIds,
) -> Relation:
    """Return the states of a delta, one for each group. Of rows with weights it is one for each
    group and weight, where states can be taken as often as the weight says: values are then added
    up as those of plain rows are, and multiplied once for all of a group. Weights alone are
    added up as they are."""
    node = as_aggregate(node)
    states = (*_must(_states(node, signed)), _HIDDEN)
    weight, scaled = delta.weight, [state.weighted for state in states]
    counts = all(column.type == BIGINT for state in states for column in state.columns)
    if weight is None or not node.keys or None in scaled or counts:
        fold = initial(node, weight, signed, ids)
        return states_of(delta.relation, node.keys, fold, columns)
    fold = initial(node, None, signed, ids)
    values: list[Scalar] = []
    start = 0
    for state in states:
        end = start + len(state.columns)
        if state.weighted is not None:
            values += state.weighted(fold.values[start:end], weight)
        start = end
    rows = folded(delta.relation, (*node.keys, weight), fold)
    named = zip(columns[len(node.keys) :], values, strict=True)
    return Project(rows, (*((key, Ref(key)) for key in node.keys), *named))


def _singles(
    node: Relation,
    delta: Signed,
    signed: bool,
    columns: tuple[Column, ...],
    ids: ColumnIds,
) -> Relation | None:
    """Return a state per row of the delta, ungrouped: the reader groups once, when it merges. None
    if there is a function of which one row has no state by itself."""
    node = as_aggregate(node)
    values: list[Scalar] = [Ref(key) for key in node.keys]
    for state in (*_must(_states(node, signed)), _HIDDEN):
        if state.of_row is None:
            return None
        values.extend(state.of_row(delta.weight))
    return Project(delta.relation, tuple(zip(columns, values, strict=True)))


def _merge(
    node: Relation, states: Relation, signed: bool, kept: Signed | None, ids: ColumnIds
) -> Relation:
    node = as_aggregate(node)
    return merged_rows(node, states, _must(_states(node, signed)), ids, some_go=signed)


def merged_rows(
    node: Aggregate,
    states: Relation,
    partials: tuple[State, ...],
    ids: ColumnIds,
    *,
    some_go: bool,
) -> Relation:
    """Return the output, merged from the states of all runs. Where rows may go (``some_go``),
    groups without any are dropped, except that an aggregate without keys always has one row."""
    columns = states.columns[len(node.keys) :]
    fold = _merging(partials, columns, None, ids)
    merged = folded(states, node.keys, fold)
    if node.keys and some_go:
        merged = Filter(merged, Call(">", (fold.values[-1], integer(0)), BOOLEAN))
    return Project(merged, _outputs(node, finished(partials, fold.values)))


def _outputs(node: Aggregate, values: Sequence[Scalar]) -> tuple[tuple[Column, Scalar], ...]:
    named = zip((column for column, _ in node.calls), values, strict=True)
    return (*((key, Ref(key)) for key in node.keys), *named)


def _delta(node: Relation, states: Versions, signed: bool, ids: ColumnIds) -> DeltaOfStates:
    node = as_aggregate(node)
    if _only_comes(node, signed):
        return _came(node, states, ids)
    return changed_groups(node, states, _must(_states(node, signed)), ids)


def changed_groups(
    node: Aggregate, states: Versions, partials: tuple[State, ...], ids: ColumnIds
) -> DeltaOfStates:
    """Return the delta: the old values of the touched groups taken back, their new values added.

    A group is touched if this run wrote a state for it. One pass over the states computes both
    values, without a join of old and new. A cross join with the two signs then gives two rows per
    group; a row is dropped if the group has no rows on its side.
    """
    kept = states.stamped()
    columns = tuple(c for c in kept.relation.columns if c.id != kept.run.id)[len(node.keys) :]
    earlier = Call("<", (Ref(kept.run), kept.current), BOOLEAN)
    after = _merging(partials, columns, None, ids)
    before = _merging(partials, columns, earlier, ids)
    new, old, both = after.values, before.values, [after, before]
    last = Column(ids.next_id(), "__last", kept.run.type)
    if node.keys:  # without keys every run writes the state of the one group
        both.append(Fold((), ((last, AggregateCall("max", (Ref(kept.run),))),), ()))
    merged = folded(kept.relation, node.keys, together(both))
    if node.keys:
        merged = Filter(merged, Call("=", (Ref(last), kept.current), BOOLEAN))
    # Both values of a group are finished before its rows are doubled: once each, and no engine
    # can compute them for a pair of group and sign that the filter below drops.
    olds = tuple(ids.new(f"{column.name}_old", column) for column, _ in node.calls)
    news = tuple(ids.new(f"{column.name}_new", column) for column, _ in node.calls)
    counts = tuple(Column(ids.next_id(), name, BIGINT) for name in ("__n_old", "__n_new"))
    values = (*finished(partials, old), *finished(partials, new), old[-1], new[-1])
    named = tuple(zip((*olds, *news, *counts), values, strict=True))
    old_and_new = Project(merged, (*((key, Ref(key)) for key in node.keys), *named))
    weight = ids.weight()
    signs = Values((weight,), ((integer(-1),), (integer(1),)))
    sides: Relation = Join(JoinKind.INNER, old_and_new, signs, TRUE)
    taken_back = Call("<", (Ref(weight), integer(0)), BOOLEAN)
    if node.keys:
        count = Call("case", (taken_back, Ref(counts[0]), Ref(counts[1])), BIGINT)
        sides = Filter(sides, Call(">", (count, integer(0)), BOOLEAN))
    pairs = zip(olds, news, strict=True)
    picked = [Call("case", (taken_back, Ref(o), Ref(n)), n.type) for o, n in pairs]
    rows = Signed(Project(sides, (*_outputs(node, picked), (weight, Ref(weight)))), weight)
    return DeltaOfStates(rows, merged if node.keys else None)


def _affected_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    node = as_aggregate(node)
    if not inputs[0].signed or not node.keys:
        return Reason.OPERATOR  # AggregateDelta says why, where it does not cover it
    states = _states(node, signed=False)
    if isinstance(states, Reason):
        return states
    return Applies(signed=True, merges_input=True)


def _affected_columns(node: Relation, signed: bool, ids: ColumnIds) -> tuple[Column, ...]:
    node = as_aggregate(node)
    return layout(node, _must(_states(node, False)), "__lost", ids)


def _affected_partial(
    node: Relation,
    delta: Signed,
    signed: bool,
    columns: tuple[Column, ...],
    ids: ColumnIds,
) -> Relation:
    """Return states of the rows that came, with a count of the rows that were taken back."""
    node = as_aggregate(node)
    came, taken_back = None, Literal(None, BOOLEAN)
    lost: Scalar = taken_back
    if delta.weight is not None:
        came = Call(">", (Ref(delta.weight), integer(0)), BOOLEAN)
        # States count a row once, so a weight above 1 also forces the group to be recomputed.
        lost = Call("<>", (Ref(delta.weight), integer(1)), BOOLEAN)
    partials = []
    for _, call in node.calls:
        where = tuple(part for part in (came, call.where) if part is not None)
        guarded = replace(call, where=conjunction(where) if where else None)
        partials.append(_must_state(partial_state(guarded, signed=False)))
    hidden = state_of_parts((count_part("__lost", lost),), lambda columns: columns[0])
    fold = _of_rows(partials, hidden, None, ids)
    return states_of(delta.relation, node.keys, fold, columns)


def _affected_merge(
    node: Relation, states: Relation, signed: bool, kept: Signed | None, ids: ColumnIds
) -> Relation:
    node = as_aggregate(node)
    if kept is None:
        raise ValueError("the rule needs its input kept")
    partials = _must(_states(node, False))
    columns = states.columns[len(node.keys) :]
    fold = _merging(partials, columns, None, ids)
    values = fold.values
    merged = folded(states, node.keys, fold)
    whole = Filter(merged, Call("=", (values[-1], integer(0)), BOOLEAN))
    untouched = Project(whole, _outputs(node, finished(partials, values)))
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


MERGED = DeltaRule(
    "AggregateDelta",
    Aggregate,
    _applies,
    "Tempura 3.2 and 4.1 (initialize, iterate, merge, finalize; attribute perspective). The hidden "
    "count(*) tells an empty group from one that sums to 0; touched groups are those of the raw "
    "delta, also where its weights cancel.",
    KeyedState(_keys, _columns, _partial, _merge, _delta, _singles),
)
AFFECTED = DeltaRule(
    "AggregateAffectedGroups",
    Aggregate,
    _affected_applies,
    "Distributed IVM 3.2: groups that lost rows are recomputed from the kept rows of the input, "
    "found by their keys (NULL is a key like any other).",
    KeyedState(_keys, _affected_columns, _affected_partial, _affected_merge, None),
)
