"""Filter pushdown: filters are evaluated as early as that is legal.

A conjunct moves past an operator that could have removed its rows only if it is total and
deterministic (safety.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    SetOperation,
    Sort,
    UnionAll,
    Window,
)
from forerun.planner.algebra.scalar import (
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    is_deterministic,
    references,
    substitute,
)
from forerun.planner.algebra.types import Column, ColumnId
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule, filtered, ids_of
from forerun.planner.rules.normalize.safety import can_fail, is_movable

_KEEPS_LEFT = frozenset(
    {JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE}
)


def divided(
    parts: Iterable[Scalar], test: Callable[[Scalar], bool]
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Split ``parts`` into those that pass the test and the others, keeping their order."""
    passed: list[Scalar] = []
    rest: list[Scalar] = []
    for part in parts:
        (passed if test(part) else rest).append(part)
    return tuple(passed), tuple(rest)


def _merge_filters(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[q](filter[p](R))`` = ``filter[p and q](R)``.

    Both keep the rows for which p and q are true. Not if q can fail: AND evaluates q also where p
    is NULL.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, Filter):
        return None
    if can_fail(node.predicate):
        return None
    return Filter(node.input.input, conjunction(
        tuple(dict.fromkeys((*conjuncts(node.input.predicate), *conjuncts(node.predicate))))
    ))  # fmt: skip


def _below_project(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p](project[x := e](R))`` = ``project[x := e](filter[p with e for x](R))``.

    A projection keeps rows one to one, so p sees the same rows; it may fail where it did before.
    Not where the items are not deterministic: they would be drawn twice.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, Project):
        return None
    project = node.input
    if not all(is_deterministic(scalar) for _, scalar in project.items):
        return None
    by = {column.id: scalar for column, scalar in project.items}
    down, stay = divided(conjuncts(node.predicate), is_deterministic)
    if not down:
        return None
    below = filtered(project.input, (substitute(part, by) for part in down))
    return filtered(Project(below, project.items), stay)


def _below_join(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p(L)](L join R)`` = ``filter[p](L) join R`` for joins that keep left rows whole;
    for inner joins also for R, and ``filter[p(L, R)](L join[c] R)`` = ``L join[c and p] R``.

    A left row of a left, semi, anti, mark or single join is kept or dropped with all its output
    rows, and p is the same in each. Not: the right side of a left join (its NULL-extended rows
    would come back), either side of a full join, what can fail.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, Join):
        return None
    join = node.input
    left, right = ids_of(join.left), ids_of(join.right)
    movable, stay = divided(conjuncts(node.predicate), is_movable)
    if join.kind is JoinKind.INNER:
        if not movable:
            return None
        moved = Join(join.kind, join.left, join.right, conjunction(
            tuple(dict.fromkeys((*conjuncts(join.condition), *movable)))
        ))  # fmt: skip
        return filtered(moved, stay)
    if join.kind not in _KEEPS_LEFT:
        return None
    down, blocked = divided(movable, lambda part: references(part) <= left - right)
    if not down:
        return None
    below = Join(join.kind, filtered(join.left, down), join.right, join.condition, join.mark)
    return filtered(below, (*stay, *blocked))


def _below_aggregate(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p(keys)](aggregate[keys](R))`` = ``aggregate[keys](filter[p](R))``.

    p has one value in a group, so whole groups stay or go; NULL keys form a group like others. Not
    for a predicate over no column: over no keys, the one row must stay; nor over aggregates.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, Aggregate):
        return None
    aggregate = node.input
    keys = frozenset(key.id for key in aggregate.keys)
    down, stay = divided(conjuncts(node.predicate), lambda part: _within(part, keys))
    if not down:
        return None
    below = Aggregate(filtered(aggregate.input, down), aggregate.keys, aggregate.calls)
    return filtered(below, stay)


def _within(part: Scalar, columns: frozenset[ColumnId]) -> bool:
    read = references(part)
    return bool(read) and read <= columns and is_deterministic(part)


def _below_window(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p(partition)](window(R))`` = ``window(filter[p](R))``.

    Whole partitions stay or go. Only columns that partition every one of the calls: another
    partitioning would lose rows from its frames.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, Window):
        return None
    window = node.input
    shared = ids_of(window.input)
    for partition in [made[1].partition for made in window.calls]:
        shared &= frozenset(column.id for column in partition)
    down, stay = divided(conjuncts(node.predicate), lambda part: _within(part, shared))
    if not down:
        return None
    return filtered(Window(filtered(window.input, down), window.calls), stay)


def _below_union(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p](A union all B)`` = ``filter[p](A) union all filter[p](B)``, by position.

    Each row is tested where it comes from. Not where a branch's column has another type than the
    union's: the comparison would be another one.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, UnionAll):
        return None
    union = node.input
    same = all(_same_types(branch.columns, union.merged) for branch in union.branches)
    down, stay = divided(conjuncts(node.predicate), is_deterministic)
    if not same or not down:
        return None
    branches = tuple(_renamed(branch, union.merged, down) for branch in union.branches)
    return filtered(UnionAll(branches, union.merged), stay)


def _below_set_operation(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p](A op B)`` = ``filter[p](A) op filter[p](B)`` for INTERSECT and EXCEPT, of sets
    and of bags.

    Equal rows pass or fail together, on either side. Not for what can fail: B has rows that were
    never in the output.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, SetOperation):
        return None
    operation = node.input
    sides = (operation.left, operation.right)
    same = all(_same_types(side.columns, operation.merged) for side in sides)
    down, stay = divided(conjuncts(node.predicate), is_movable)
    if not same or not down:
        return None
    left, right = (_renamed(side, operation.merged, down) for side in sides)
    below = SetOperation(operation.kind, operation.all, left, right, operation.merged)
    return filtered(below, stay)


def _same_types(columns: tuple[Column, ...], merged: tuple[Column, ...]) -> bool:
    return all(a.type == b.type for a, b in zip(columns, merged, strict=True))


def _renamed(side: Relation, merged: tuple[Column, ...], parts: Iterable[Scalar]) -> Relation:
    by = {outer.id: Ref(inner) for outer, inner in zip(merged, side.columns, strict=True)}
    return filtered(side, tuple(substitute(part, by) for part in parts))


def _below_sort(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p](sort(R))`` = ``sort(filter[p](R))``: rows that stay keep their order."""
    if not isinstance(node, Filter) or not isinstance(node.input, Sort):
        return None
    return Sort(Filter(node.input.input, node.predicate), node.input.keys)


MERGE_FILTERS = NormalizeRule("MergeFilters", Filter, _merge_filters)
BELOW_PROJECT = NormalizeRule("PushFilterBelowProject", Filter, _below_project)
BELOW_JOIN = NormalizeRule("PushFilterBelowJoin", Filter, _below_join)
BELOW_AGGREGATE = NormalizeRule("PushFilterBelowAggregate", Filter, _below_aggregate)
BELOW_WINDOW = NormalizeRule("PushFilterBelowWindow", Filter, _below_window)
BELOW_UNION = NormalizeRule("PushFilterBelowUnion", Filter, _below_union)
BELOW_SET_OPERATION = NormalizeRule("PushFilterBelowSetOperation", Filter, _below_set_operation)
BELOW_SORT = NormalizeRule("PushFilterBelowSort", Filter, _below_sort)
