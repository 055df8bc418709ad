"""Only columns that somebody reads flow: scans read fewer, projections cut the rest."""

from __future__ import annotations

from dataclasses import replace

from planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
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
from planner.algebra.scalar import Ref, references
from planner.algebra.types import ColumnId
from planner.rules.normalize.rule import ids_of, reordered

Needed = frozenset[ColumnId]


def prune_columns(relation: Relation) -> Relation:
    """``op(R(x, y))`` = ``op(project[x](R))`` where neither op nor what is above it reads y.

    The output columns stay as they are. A projection is put over joins, filters and the like that
    carry a column only they read themselves, so that what is shuffled and kept is narrow. Never
    pruned: what compares whole rows, that is the keys of aggregates and the sides of set
    operations. A column is left where none is read (``count(*)``), the narrowest.
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


def pruned(node: Relation, needed: Needed) -> Relation:
    """The node without what it makes and nobody needs; an operator that only made such columns
    is gone."""
    match node:
        case Scan():
            return replace(node, scanned=tuple(c for c in node.scanned if c.id in needed))
        case StateRead():
            kept = [p for p in zip(node.read, node.stored, strict=True) if p[0].id in needed]
            return replace(node, read=tuple(c for c, _ in kept), stored=tuple(n for _, n in kept))
        case Values():
            places = [i for i, column in enumerate(node.listed) if column.id in needed]
            rows = tuple(tuple(row[i] for i in places) for row in node.rows)
            return Values(tuple(node.listed[i] for i in places), rows)
        case Project():
            return Project(node.input, tuple(item for item in node.items if item[0].id in needed))
        case Aggregate():
            calls = tuple(call for call in node.calls if call[0].id in needed)
            return Aggregate(node.input, node.keys, calls)
        case Window():
            windows = tuple(call for call in node.calls if call[0].id in needed)
            return Window(node.input, windows) if windows else pruned(node.input, needed)
        case UnionAll():
            return _pruned_union(node, needed)
        case Join(kind=JoinKind.MARK, mark=mark) if mark is not None and mark.id not in needed:
            # Each left row has one output row, whatever its mark.
            return pruned(node.left, needed)
        case _:
            return node


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
    """What each input has to offer so that the node can make the needed columns."""
    if isinstance(node, UnionAll | SetOperation):
        return tuple(ids_of(side) for side in node.inputs)
    read = needed | _read_by(node)
    return tuple(read & ids_of(side) or _narrowest(side) for side in node.inputs)


def _narrowest(relation: Relation) -> Needed:
    columns = sorted(relation.columns, key=lambda c: c.type.width)
    return frozenset(column.id for column in columns[:1])


def _read_by(node: Relation) -> Needed:
    match node:
        case Filter():
            return references(node.predicate)
        case Project():
            return frozenset(c for _, scalar in node.items for c in references(scalar))
        case Join():
            return references(node.condition)
        case Aggregate():
            keys = frozenset(key.id for key in node.keys)
            return keys.union(*(call.references() for _, call in node.calls))
        case Sort():
            return frozenset(key.column.id for key in node.keys)
        case Window():
            read: set[ColumnId] = set()
            for _, call in node.calls:
                read |= {c.id for c in call.partition} | {key.column.id for key in call.order}
                read.update(c for arg in call.args for c in references(arg))
            return frozenset(read)
        case Repeat():
            return frozenset({node.count.id})
        case _:
            return frozenset()
