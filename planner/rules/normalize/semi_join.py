"""Pushes semi and anti joins below other joins, so that these see fewer rows."""

from __future__ import annotations

from forerun.planner.algebra.relational import Filter, Join, JoinKind, Relation
from forerun.planner.algebra.scalar import references
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule, ids_of
from forerun.planner.rules.normalize.safety import is_movable

_DECIDING = frozenset({JoinKind.SEMI, JoinKind.ANTI})


def _as_deciding(node: Relation) -> Join | None:
    """Return the node if it is a semi or anti join whose condition may be evaluated on more rows;
    else None."""
    if isinstance(node, Join) and node.kind in _DECIDING and is_movable(node.condition):
        return node
    return None


def _below_join(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p](A join B) semi[c] X`` = ``filter[p]((A semi[c] X) join B)`` if c reads nothing of
    B; the same for anti, for the other side of an inner join, and for the left side of a left join.

    Whether a pair stays depends on its A row alone, and every copy of that row is treated the same,
    NULLs included. The filter (conjuncts that could not move down themselves) commutes, since it
    tests each row alone. Not for the right side of a left join, whose rows would come back as
    NULLs.
    """
    semi = _as_deciding(node)
    if semi is None:
        return None
    kept = semi.left if isinstance(semi.left, Filter) else None
    join = semi.left if kept is None else kept.input
    if not isinstance(join, Join):
        return None
    below = _into_side(semi, join)
    if below is None or kept is None:
        return below
    return Filter(below, kept.predicate)


def _into_side(semi: Join, join: Join) -> Join | None:
    read = references(semi.condition) & ids_of(join)
    if not read:
        return None
    if join.kind in (JoinKind.INNER, JoinKind.LEFT) and read <= ids_of(join.left):
        left = Join(semi.kind, join.left, semi.right, semi.condition)
        return Join(join.kind, left, join.right, join.condition)
    if join.kind is JoinKind.INNER and read <= ids_of(join.right):
        right = Join(semi.kind, join.right, semi.right, semi.condition)
        return Join(join.kind, join.left, right, join.condition)
    return None


BELOW_JOIN = NormalizeRule("SemiJoinBelowJoin", Join, _below_join)
