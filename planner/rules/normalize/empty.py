"""Rules that take out of a query what a condition that is never true leaves without rows.

Views over several channels are read one channel at a time (``WHERE channel = 'web'``): all other
branches of their UNION ALL compare two constants. Spark's optimizer drops them as well
(``PruneFilters``, ``PropagateEmptyRelation``), so nothing fails less than it would there.
"""

from __future__ import annotations

from forerun.planner.algebra.relational import (
    Filter,
    Project,
    Relation,
    UnionAll,
    Values,
)
from forerun.planner.algebra.scalar import FALSE, Ref
from forerun.planner.props.emptiness import is_empty
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule


def _has_no_rows(relation: Relation) -> bool:
    return isinstance(relation, Values) and not relation.rows


def _drop_empty(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[false](R)`` = ``{}``; ``R join {}`` = ``{}``, and so for every operator that gives
    no rows without those of an input."""
    if isinstance(node, Filter) and node.predicate == FALSE:
        return Values(node.columns, ())
    without = tuple(map(_has_no_rows, node.inputs))
    if not any(without) or not is_empty(node, without, ()):
        return None
    return Values(node.columns, ())


def _drop_branch(node: Relation, _: NormalizeContext) -> Relation | None:
    """``R union all {}`` = ``R``, under the names of the union."""
    if not isinstance(node, UnionAll):
        return None
    left = tuple(branch for branch in node.branches if not _has_no_rows(branch))
    if not left or len(left) == len(node.branches):
        return None
    only, *more = left
    if more or any(a.type != b.type for a, b in zip(only.columns, node.merged, strict=True)):
        return UnionAll(left, node.merged)
    both = zip(node.merged, only.columns, strict=True)
    return Project(only, tuple((merged, Ref(column)) for merged, column in both))


DROP_EMPTY = NormalizeRule("DropEmpty", Relation, _drop_empty)
DROP_BRANCH = NormalizeRule("DropEmptyBranch", UnionAll, _drop_branch)
