"""Rules for projections: adjacent ones are merged, and those without effect are removed."""

from __future__ import annotations

from collections import Counter

from forerun.planner.algebra.relational import Aggregate, Project, Relation
from forerun.planner.algebra.scalar import Call, Ref, is_deterministic, substitute, walk
from forerun.planner.props.dependencies import facts
from forerun.planner.props.keys import is_key
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule


def _merge_projects(node: Relation, _: NormalizeContext) -> Relation | None:
    """``project[y := f(x)](project[x := e](R))`` = ``project[y := f(e)](R)``.

    The values are the same row by row. It does not apply if a computed item is read more than once
    (it would be computed as often), or is not deterministic (each read would give another value).
    """
    if not isinstance(node, Project) or not isinstance(node.input, Project):
        return None
    reads = Counter(
        part.column.id for _, scalar in node.items for part in walk(scalar) if isinstance(part, Ref)
    )
    for column, scalar in node.input.items:
        if isinstance(scalar, Call) and (reads[column.id] > 1 or not is_deterministic(scalar)):
            return None
    by = {column.id: scalar for column, scalar in node.input.items}
    items = tuple((column, substitute(scalar, by)) for column, scalar in node.items)
    return Project(node.input.input, items)


def _drop_identity(node: Relation, _: NormalizeContext) -> Relation | None:
    """``project[x := x, y := y](R(x, y))`` = ``R``, if the columns and their order are the same."""
    if not isinstance(node, Project) or node.columns != node.input.columns:
        return None
    return node.input if all(scalar == Ref(c) for c, scalar in node.items) else None


def _drop_distinct(node: Relation, _: NormalizeContext) -> Relation | None:
    """``distinct(R)`` = ``project(R)`` if the distinct columns contain a key of R.

    R then has no two rows that are equal in these columns. Only keys that follow from the query
    itself count (those of aggregates and their joins), not those that authors declare for sources:
    a wrong declaration must not change a result.
    """
    if not isinstance(node, Aggregate) or node.calls or not node.keys:
        return None
    grouped = frozenset(key.id for key in node.keys)
    if not is_key(grouped, facts(node.input, {}, {}).keys):
        return None
    return Project(node.input, tuple((key, Ref(key)) for key in node.keys))


MERGE_PROJECTS = NormalizeRule("MergeProjects", Project, _merge_projects)
DROP_IDENTITY = NormalizeRule("DropIdentityProject", Project, _drop_identity)
DROP_DISTINCT = NormalizeRule("DropNeedlessDistinct", Aggregate, _drop_distinct)
