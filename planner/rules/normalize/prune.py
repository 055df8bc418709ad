"""Column pruning: scans read only the columns that are needed, and projections drop the rest."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
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
)
from forerun.planner.algebra.scalar import Ref, references
from forerun.planner.algebra.types import ColumnId
from forerun.planner.rules.normalize.rule import ids_of, reordered

Needed = frozenset[ColumnId]


def prune_columns(relation: Relation) -> Relation:
    """``op(R(x, y))`` = ``op(project[x](R))`` where neither op nor what is above it reads y.

    The output columns stay as they are. A projection is put over a join, filter or the like that
    outputs a column which only it reads, so that shuffled and kept rows are narrow. Columns that
    are compared as whole rows (keys of aggregates, sides of set operations) are never pruned. Where
    no column is read (``count(*)``), the narrowest one is left.
    """
    results: list[Relation] = []
    stack: list[tuple[Relation, Needed, bool]] = [(relation, ids_of(relation), False)]
    while stack:
        node, needed, ready = stack.pop()
        if not ready:
            node = pruned(node, needed)
            below = needed_below(node, needed)
            stack.append((node, needed, True))
            stack.extend((c, n, False) for c, n in reversed(_pairs(node.inputs, below)))
            continue
        count = len(node.inputs)
        inputs = tuple(results[len(results) - count :])
        del results[len(results) - count :]
        if not isinstance(node, Project):
            below = needed_below(node, needed)
            inputs = tuple(_narrowed(c, n) for c, n in _pairs(inputs, below))
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        results.append(node if same else node.with_inputs(inputs))
    return results[0]


def _pairs(
    inputs: tuple[Relation, ...], below: tuple[Needed, ...]
) -> list[tuple[Relation, Needed]]:
    return list(zip(inputs, below, strict=True))


def _narrowed(relation: Relation, needed: Needed) -> Relation:
    kept = tuple(column for column in relation.columns if column.id in needed)
    return reordered(relation, kept)


@operator_pass("pruning")
def pruned(node: Relation, needed: Needed) -> Relation:
    """Return the node without the columns that it computes and nobody needs. A window or mark join
    that computes no needed column is removed."""
    raise NotImplementedError


@pruned.register(Filter, Generate, Sort, Limit, Repeat, SetOperation, Recursion)
def _as_it_is(node: Relation, _: Needed) -> Relation:
    return node


@pruned.register(Scan)
def _scan(node: Scan, needed: Needed) -> Relation:
    return replace(node, scanned=tuple(c for c in node.scanned if c.id in needed))


@pruned.register(StateRead)
def _state_read(node: StateRead, needed: Needed) -> Relation:
    kept = [p for p in zip(node.read, node.stored, strict=True) if p[0].id in needed]
    return replace(node, read=tuple(c for c, _ in kept), stored=tuple(n for _, n in kept))


@pruned.register(Values)
def _values(node: Values, needed: Needed) -> Relation:
    places = [i for i, column in enumerate(node.listed) if column.id in needed]
    rows = tuple(tuple(row[i] for i in places) for row in node.rows)
    return Values(tuple(node.listed[i] for i in places), rows)


@pruned.register(Project)
def _project(node: Project, needed: Needed) -> Relation:
    return Project(node.input, tuple(item for item in node.items if item[0].id in needed))


@pruned.register(Aggregate)
def _aggregate(node: Aggregate, needed: Needed) -> Relation:
    calls = tuple(call for call in node.calls if call[0].id in needed)
    return Aggregate(node.input, node.keys, calls)


@pruned.register(Window)
def _window(node: Window, needed: Needed) -> Relation:
    windows = tuple(call for call in node.calls if call[0].id in needed)
    return Window(node.input, windows) if windows else pruned(node.input, needed)


@pruned.register(Join)
def _join(node: Join, needed: Needed) -> Relation:
    if node.mark is not None and node.mark.id not in needed:
        # Each left row has one output row, whatever its mark.
        return pruned(node.left, needed)
    return node


@pruned.register(UnionAll)
def _pruned_union(node: UnionAll, needed: Needed) -> UnionAll:
    places = [i for i, column in enumerate(node.merged) if column.id in needed]
    if len(places) == len(node.merged):
        return node
    branches = tuple(
        Project(branch, tuple((branch.columns[i], Ref(branch.columns[i])) for i in places))
        for branch in node.branches
    )
    return UnionAll(branches, tuple(node.merged[i] for i in places))


def needed_below(node: Relation, needed: Needed) -> tuple[Needed, ...]:
    """Return, for each input, the columns that it must provide for the needed output columns."""
    read = read_by(node)
    if read is None:
        return tuple(ids_of(side) for side in node.inputs)
    read = needed | read
    return tuple(read & ids_of(side) or _narrowest(side) for side in node.inputs)


def _narrowest(relation: Relation) -> Needed:
    columns = sorted(relation.columns, key=lambda c: c.type.width)
    return frozenset(column.id for column in columns[:1])


@operator_pass("columns that are read")
def read_by(node: Relation) -> Needed | None:
    """Return the columns that the operator itself reads; None if it reads whole rows."""
    raise NotImplementedError


@read_by.register(UnionAll, SetOperation, Recursion)
def _reads_all(_: Relation) -> None:
    return None


@read_by.register(Scan, StateRead, Values, Limit)
def _reads_nothing(_: Relation) -> Needed:
    return frozenset()


@read_by.register(Filter)
def _read_by_filter(node: Filter) -> Needed:
    return references(node.predicate)


@read_by.register(Generate)
def _read_by_generate(node: Generate) -> Needed:
    return references(node.call)


@read_by.register(Project)
def _read_by_project(node: Project) -> Needed:
    return frozenset(c for _, scalar in node.items for c in references(scalar))


@read_by.register(Join)
def _read_by_join(node: Join) -> Needed:
    return references(node.condition)


@read_by.register(Aggregate)
def _read_by_aggregate(node: Aggregate) -> Needed:
    keys = frozenset(key.id for key in node.keys)
    return keys.union(*(call.references() for _, call in node.calls))


@read_by.register(Sort)
def _read_by_sort(node: Sort) -> Needed:
    return frozenset(key.column.id for key in node.keys)


@read_by.register(Repeat)
def _read_by_repeat(node: Repeat) -> Needed:
    return frozenset({node.count.id})


@read_by.register(Window)
def _read_by_window(node: Window) -> Needed:
    read: set[ColumnId] = set()
    for _, call in node.calls:
        read |= {c.id for c in call.partition} | {key.column.id for key in call.order}
        read.update(c for arg in call.args for c in references(arg))
    return frozenset(read)
