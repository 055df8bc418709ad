"""Rules that take out of a query what a condition that is never true leaves without rows.

Views over several channels are read one channel at a time (``WHERE channel = 'web'``): all other
branches of their UNION ALL compare two constants. Spark's optimizer drops them as well
(``PruneFilters``, ``PropagateEmptyRelation``), so nothing fails less than it would there.
"""

from __future__ import annotations

from collections.abc import Iterable

from forerun.planner.algebra.relational import (
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    Values,
    walk,
)
from forerun.planner.algebra.scalar import FALSE, Literal, Ref, Scalar
from forerun.planner.algebra.types import Column
from forerun.planner.props.emptiness import is_empty, is_without_rows, union_of
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule


def _drop_empty(node: Relation, context: NormalizeContext) -> Relation | None:
    """``filter[false](R)`` = ``{}``; ``R join {}`` = ``{}``, and so for every operator that gives
    no rows without those of an input. Not where a declaration of a source below is relied on, as
    by ``WHERE a_not_null_column IS NULL``: a source that nothing reads is one that nothing checks.
    """
    without = tuple(map(is_without_rows, node.inputs))
    never = isinstance(node, Filter) and node.predicate == FALSE
    if not never and not (any(without) and is_empty(node, without, ())):
        return None
    relied = {source for source, _ in context.relied}
    if any(isinstance(below, Scan) and below.source in relied for below in walk(node)):
        return None
    return Values(node.columns, ()) if _can_be_written(node.columns) else None


def _can_be_written(columns: Iterable[Column]) -> bool:
    """Return whether a NULL of each can be: of the type of some functions nothing is known."""
    return all(column.type.is_known for column in columns)


def _drop_branch(node: Relation, _: NormalizeContext) -> Relation | None:
    """``R union all {}`` = ``R``, under the names of the union."""
    if not isinstance(node, UnionAll) or not any(map(is_without_rows, node.branches)):
        return None
    left = union_of(node, node.branches)
    return None if len(left.inputs) == len(node.branches) else left


def _drop_side(node: Relation, _: NormalizeContext) -> Relation | None:
    """``R left join {}`` = ``project[R, NULL](R)``, and so for every join that keeps the rows of
    one side without partners. A mark among no rows is FALSE."""
    if not isinstance(node, Join) or not _can_be_written(node.columns):
        return None
    if is_without_rows(node.right):
        kept = node.left
    elif is_without_rows(node.left) and node.kind in (JoinKind.FULL, JoinKind.RIGHT):
        kept = node.right
    else:
        return None
    if node.kind is JoinKind.ANTI:
        return kept

    def value(column: Column) -> Scalar:
        if column.id in kept.column_ids:
            return Ref(column)
        return FALSE if column == node.mark else Literal(None, column.type)

    return Project(kept, tuple((column, value(column)) for column in node.columns))


DROP_EMPTY = NormalizeRule("DropEmpty", Relation, _drop_empty)
DROP_SIDE = NormalizeRule("DropEmptySide", Join, _drop_side)
DROP_BRANCH = NormalizeRule("DropEmptyBranch", UnionAll, _drop_branch)
