"""Operators as a stage has them: a union without what has no rows, a join with its smaller side
first."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation
from forerun.planner.algebra.scalar import Ref
from forerun.planner.cost.operators import Size


def smaller_first(join: Join, left: Size, right: Size) -> Relation:
    """Return an inner join with its smaller side first, and its columns as they were."""
    if join.kind is not JoinKind.INNER or left.bytes <= right.bytes:
        return join
    turned = replace(join, left=join.right, right=join.left)
    return Project(turned, tuple((c, Ref(c)) for c in join.columns))
