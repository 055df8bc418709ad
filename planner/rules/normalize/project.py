"""Projections: neighbours become one, and those that do nothing go."""

from __future__ import annotations

from collections import Counter

from planner.algebra.relational import Aggregate, Project, Relation
from planner.algebra.scalar import Call, Ref, is_deterministic, substitute, walk
from planner.props.dependencies import facts
from planner.props.keys import is_key
from planner.rules.normalize.rule import Context, Rule


def _merge_projects(node: Relation, _: Context) -> Relation | None:
    """``project[y := f(x)](project[x := e](R))`` = ``project[y := f(e)](R)``.

    Row by row the same values. Not if a computed item is read more than once (it would be
    computed as often), nor if it is not deterministic (each read would draw anew).
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


def _drop_identity(node: Relation, _: Context) -> Relation | None:
    """``project[x := x, y := y](R(x, y))`` = ``R``: only if it is the same columns in order."""
    if not isinstance(node, Project) or node.columns != node.input.columns:
        return None
    return node.input if all(scalar == Ref(c) for c, scalar in node.items) else None


def _drop_distinct(node: Relation, _: Context) -> Relation | None:
    """``distinct(R)`` = ``project(R)`` if the distinct columns contain a key of R.

    No two rows are equal then. Only keys that follow from the query itself count (those of
    aggregates and their joins), not what the author declared of a source: a wrong declaration must
    not change an answer.
    """
    if not isinstance(node, Aggregate) or node.calls or not node.keys:
        return None
    grouped = frozenset(key.id for key in node.keys)
    if not is_key(grouped, facts(node.input, {}, {}).keys):
        return None
    return Project(node.input, tuple((key, Ref(key)) for key in node.keys))


MERGE_PROJECTS = Rule("MergeProjects", Project, _merge_projects)
DROP_IDENTITY = Rule("DropIdentityProject", Project, _drop_identity)
DROP_DISTINCT = Rule("DropNeedlessDistinct", Aggregate, _drop_distinct)
