"""Operators as a stage has them: a union without what has no rows, a join with its smaller side
first."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation, UnionAll, Values
from forerun.planner.algebra.scalar import Ref
from forerun.planner.cost.operators import Size


def is_without_rows(relation: Relation) -> bool:
    """Return whether a relation is known to have no rows."""
    return isinstance(relation, Values) and not relation.rows


def union_of(union: UnionAll, inputs: list[Relation]) -> Relation:
    """Return a union without the branches that have no rows; where one is left, that one, unless
    the union changes its types."""
    rows = [given for given in inputs if not is_without_rows(given)]
    if len(rows) == len(inputs):
        return union.with_inputs(tuple(inputs))
    if len(rows) == 1:
        pairs = tuple(zip(union.columns, rows[0].columns, strict=True))
        if all(merged.type == column.type for merged, column in pairs):
            return Project(rows[0], tuple((merged, Ref(column)) for merged, column in pairs))
    return replace(union, branches=tuple(rows if len(rows) > 1 else inputs))


def smaller_first(join: Join, left: Size, right: Size) -> Relation:
    """Return an inner join with its smaller side first, and its columns as they were."""
    if join.kind is not JoinKind.INNER or left.bytes <= right.bytes:
        return join
    turned = replace(join, left=join.right, right=join.left)
    return Project(turned, tuple((c, Ref(c)) for c in join.columns))
