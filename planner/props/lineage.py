"""Lineage of columns: of which columns of sources a value is made, and which decide what rows there
are.

Derived from the algebra, so it is of what the query means: through subqueries, joins, set
operations and windows alike. The kinds are those of the OpenLineage standard ("Column Level Lineage
Dataset Facet"): a value is *made* of a column (the same value, computed from it, or aggregated), or
a column *decides* (by a join, a filter, a grouping, an order, a window or a condition).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from forerun.planner.algebra.aggregates.functions import is_aggregate
from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Window,
    WindowCall,
    fold,
)
from forerun.planner.algebra.scalar import Call, Ref, Scalar
from forerun.planner.algebra.types import ColumnId


class Influence(StrEnum):
    """The influence of a source's column on a value, or on which rows there are."""

    IDENTITY = "identity"
    TRANSFORMATION = "transformation"
    AGGREGATION = "aggregation"
    JOIN = "join"
    FILTER = "filter"
    GROUP_BY = "group_by"
    SORT = "sort"
    WINDOW = "window"
    CONDITIONAL = "conditional"

    @property
    def is_direct(self) -> bool:
        """Return whether the value is made of the column."""
        return self in _DIRECT


_DIRECT = (Influence.IDENTITY, Influence.TRANSFORMATION, Influence.AGGREGATION)


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A column of a source, and what it has to do with what has this origin."""

    source: str
    column: str
    influence: Influence


Origins = frozenset[Origin]
NOTHING: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class Lineage:
    """The origins of each column of a relation, and those that decide which rows it has."""

    columns: Mapping[ColumnId, Origins]
    rows: Origins


def lineage(relation: Relation) -> Lineage:
    """The lineage of a query's relation. Raises ValueError for one that reads what is kept: of a
    stage, only the plan knows what its rows were made of."""
    return fold(relation, lineage_of)


@operator_pass("lineage")
def lineage_of(node: Relation, inputs: tuple[Lineage, ...]) -> Lineage:
    """Return the lineage of a node from that of its inputs."""
    raise NotImplementedError


def _as(influence: Influence, origins: Iterable[Origin]) -> Origins:
    """Origins of what is used in another way: what a value was made of has that influence now;
    what has decided, has."""
    return frozenset(
        Origin(o.source, o.column, influence) if o.influence.is_direct else o for o in origins
    )


def _made_of(scalar: Scalar, known: Mapping[ColumnId, Origins]) -> Origins:
    """The origins of a value that is computed row by row."""
    if isinstance(scalar, Ref):
        return known[scalar.column.id]
    if not isinstance(scalar, Call):
        return NOTHING
    found: Origins = NOTHING
    for place, arg in enumerate(scalar.args):
        origins = _made_of(arg, known)
        # CASE: condition and value pairs, and an else value.
        decides = scalar.name == "case" and place % 2 == 0 and place < len(scalar.args) - 1
        found |= _as(Influence.CONDITIONAL, origins) if decides else _computed(origins)
    return found


def _computed(origins: Origins) -> Origins:
    """Origins of a value that is computed from one with these: of an aggregate it stays one."""
    return frozenset(
        Origin(o.source, o.column, Influence.TRANSFORMATION)
        if o.influence is Influence.IDENTITY
        else o
        for o in origins
    )


def _decided_by(influence: Influence, scalar: Scalar, known: Mapping[ColumnId, Origins]) -> Origins:
    return _as(influence, _made_of(scalar, known))


@lineage_of.register(Scan)
def _of_scan(node: Scan, _inputs: tuple[Lineage, ...]) -> Lineage:
    own = {c.id: frozenset({Origin(node.source, c.name, Influence.IDENTITY)}) for c in node.columns}
    return Lineage(own, NOTHING)


@lineage_of.register(StateRead)
def _of_state(node: StateRead, _inputs: tuple[Lineage, ...]) -> Lineage:
    raise ValueError(f"lineage is of a report's query, which does not read {node.family}")


@lineage_of.register(Values)
def _of_values(node: Values, _inputs: tuple[Lineage, ...]) -> Lineage:
    return Lineage(dict.fromkeys((c.id for c in node.columns), NOTHING), NOTHING)


@lineage_of.register(Limit)
def _of_its_input(_node: Relation, inputs: tuple[Lineage, ...]) -> Lineage:
    return inputs[0]


@lineage_of.register(Filter)
def _of_filter(node: Filter, inputs: tuple[Lineage, ...]) -> Lineage:
    known = inputs[0].columns
    rows = _decided_by(Influence.FILTER, node.predicate, known)
    return Lineage(known, inputs[0].rows | rows)


@lineage_of.register(Project)
def _of_project(node: Project, inputs: tuple[Lineage, ...]) -> Lineage:
    known = inputs[0].columns
    made = {column.id: _made_of(scalar, known) for column, scalar in node.items}
    return Lineage(made, inputs[0].rows)


@lineage_of.register(Repeat)
def _of_repeat(node: Repeat, inputs: tuple[Lineage, ...]) -> Lineage:
    known = inputs[0].columns
    rows = _as(Influence.FILTER, known[node.count.id])
    return Lineage({c.id: known[c.id] for c in node.columns}, inputs[0].rows | rows)


@lineage_of.register(Join)
def _of_join(node: Join, inputs: tuple[Lineage, ...]) -> Lineage:
    """A mark is decided by the other side; all other joins decide which rows there are."""
    left, right = inputs
    known = {**left.columns, **right.columns}
    by = _decided_by(Influence.JOIN, node.condition, known)
    if node.kind is JoinKind.MARK and node.mark is not None:
        mark = _as(Influence.CONDITIONAL, _made_of(node.condition, known)) | right.rows
        return Lineage({**left.columns, node.mark.id: mark}, left.rows)
    return Lineage({c.id: known[c.id] for c in node.columns}, left.rows | right.rows | by)


@lineage_of.register(Aggregate)
def _of_aggregate(node: Aggregate, inputs: tuple[Lineage, ...]) -> Lineage:
    known = inputs[0].columns
    made = {key.id: known[key.id] for key in node.keys}
    made |= {column.id: _of_call(call, known) for column, call in node.calls}
    keys = (_as(Influence.GROUP_BY, known[key.id]) for key in node.keys)
    return Lineage(made, inputs[0].rows.union(*keys))


def _of_call(call: AggregateCall, known: Mapping[ColumnId, Origins]) -> Origins:
    args = (_as(Influence.AGGREGATION, _made_of(arg, known)) for arg in call.args)
    where = NOTHING if call.where is None else _made_of(call.where, known)
    return _as(Influence.CONDITIONAL, where).union(*args)


@lineage_of.register(UnionAll)
def _of_union(node: UnionAll, inputs: tuple[Lineage, ...]) -> Lineage:
    return Lineage(_by_position(node, inputs), NOTHING.union(*(one.rows for one in inputs)))


@lineage_of.register(Recursion)
def _of_recursion(node: Recursion, inputs: tuple[Lineage, ...]) -> Lineage:
    """Every value and every row may come of every column that the steps read."""
    below = [origins for one in inputs for origins in one.columns.values()]
    made = _as(Influence.TRANSFORMATION, NOTHING.union(*below))
    rows = NOTHING.union(*(one.rows for one in inputs), _as(Influence.FILTER, made))
    return Lineage(dict.fromkeys((column.id for column in node.made), made), rows)


@lineage_of.register(SetOperation)
def _of_set_operation(node: SetOperation, inputs: tuple[Lineage, ...]) -> Lineage:
    """Rows are compared whole: every column of both sides decides. Values are those of the left."""
    made = _by_position(node, inputs[:1])
    compared = (
        _as(Influence.FILTER, origins) for one in inputs for origins in one.columns.values()
    )
    return Lineage(made, NOTHING.union(*(one.rows for one in inputs), *compared))


def _by_position(
    node: UnionAll | SetOperation, inputs: tuple[Lineage, ...]
) -> dict[ColumnId, Origins]:
    return {
        column.id: NOTHING.union(
            *(
                one.columns[branch.columns[place].id]
                for branch, one in zip(node.inputs, inputs, strict=False)
            )
        )
        for place, column in enumerate(node.columns)
    }


@lineage_of.register(Sort)
def _of_sort(node: Sort, inputs: tuple[Lineage, ...]) -> Lineage:
    known = inputs[0].columns
    keys = (_as(Influence.SORT, known[key.column.id]) for key in node.keys)
    return Lineage(known, inputs[0].rows.union(*keys))


@lineage_of.register(Generate)
def _of_generate(node: Generate, inputs: tuple[Lineage, ...]) -> Lineage:
    """The values that are taken apart decide how many rows there are, too."""
    known = inputs[0].columns
    made = dict.fromkeys((column.id for column in node.made), _made_of(node.call, known))
    rows = _decided_by(Influence.FILTER, node.call, known)
    return Lineage({**known, **made}, inputs[0].rows | rows)


@lineage_of.register(Window)
def _of_window(node: Window, inputs: tuple[Lineage, ...]) -> Lineage:
    known = inputs[0].columns
    made = {column.id: _of_window_call(call, known) for column, call in node.calls}
    return Lineage({**known, **made}, inputs[0].rows)


def _of_window_call(call: WindowCall, known: Mapping[ColumnId, Origins]) -> Origins:
    how = Influence.AGGREGATION if is_aggregate(call.name) else Influence.TRANSFORMATION
    args = (_as(how, _made_of(arg, known)) for arg in call.args)
    by = (*call.partition, *(key.column for key in call.order))
    return NOTHING.union(*args, *(_as(Influence.WINDOW, known[column.id]) for column in by))
