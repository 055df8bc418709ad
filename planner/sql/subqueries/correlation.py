"""Which outer columns a subquery reads."""

from __future__ import annotations

from forerun.planner.algebra.expressions import scalars_of
from forerun.planner.algebra.relational import (
    Aggregate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Values,
    Window,
    walk,
)
from forerun.planner.algebra.scalar import TRUE, Call, Scalar
from forerun.planner.algebra.types import ColumnId
from forerun.planner.sql.binding.scope import outer_columns

_LEFT_ROWS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


def outer_of(relation: Relation) -> dict[ColumnId, Call]:
    """Placeholders of outer columns anywhere in the tree, by column id, in a fixed order."""
    found: dict[ColumnId, Call] = {}
    for node in walk(relation):
        for scalar in scalars_of(node):
            found.update(outer_columns(scalar))
    return dict(sorted(found.items()))


def is_correlated(relation: Relation) -> bool:
    return bool(outer_of(relation))


def has_outer(scalar: Scalar) -> bool:
    return bool(outer_columns(scalar))


def at_most_one_row(relation: Relation) -> bool:
    """Provably no more than one row, per combination of outer values."""
    match relation:
        case Aggregate():
            return not relation.keys and bool(relation.calls)
        case Limit():
            small = relation.count is not None and relation.count <= 1
            return small or at_most_one_row(relation.input)
        case Values():
            return len(relation.rows) <= 1
        case Join():
            if relation.kind in _LEFT_ROWS:
                return at_most_one_row(relation.left)
            if relation.kind is JoinKind.FULL:
                return False
            return at_most_one_row(relation.left) and at_most_one_row(relation.right)
    if isinstance(relation, Repeat):
        return False
    return len(relation.inputs) == 1 and at_most_one_row(relation.inputs[0])


def exactly_one_row(relation: Relation) -> bool:
    """Provably one row, always."""
    if isinstance(relation, Aggregate):
        return not relation.keys and bool(relation.calls)
    if isinstance(relation, Values):
        return len(relation.rows) == 1
    if isinstance(relation, Join) and relation.kind is JoinKind.INNER:
        both = exactly_one_row(relation.left) and exactly_one_row(relation.right)
        return both and relation.condition == TRUE
    passes = isinstance(relation, Project | Window)
    return passes and exactly_one_row(relation.inputs[0])
