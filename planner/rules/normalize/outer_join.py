"""Rules for outer joins: right joins become left joins, and outer joins become inner joins where a
predicate above rejects the null-extended rows."""

from __future__ import annotations

from forerun.planner.algebra.predicates import rejects_nulls_of
from forerun.planner.algebra.relational import Filter, Join, JoinKind, Relation
from forerun.planner.algebra.scalar import Scalar
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule, ids_of, reordered

_OUTER = frozenset({JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL})


def _turn_right_join(node: Relation, _: NormalizeContext) -> Relation | None:
    """``L right join R`` = ``R left join L``, columns in the old order.

    Both sides give the same pairs and the same NULL-extended rows of R.
    """
    if not isinstance(node, Join) or node.kind is not JoinKind.RIGHT:
        return None
    turned = Join(JoinKind.LEFT, node.right, node.left, node.condition)
    return reordered(turned, node.columns)


def _below_filter(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p](L left join R)`` = ``filter[p](L inner join R)`` if p is never true where all of
    R is NULL; FULL becomes LEFT, RIGHT or INNER, by the sides that p rejects.

    The rows that differ are NULL-extended ones, and p drops each of them. ``R.x is null`` rejects
    nothing, nor does ``coalesce(R.x, 0) = 0``.
    """
    if not isinstance(node, Filter) or not isinstance(node.input, Join):
        return None
    strict = _stricter(node.input, node.predicate)
    return None if strict is None else Filter(strict, node.predicate)


def _below_join(node: Relation, _: NormalizeContext) -> Relation | None:
    """``(L left join R) join[c] X`` = ``(L inner join R) join[c] X`` if c rejects a NULL R.

    The outer condition decides as a filter does: for both inputs of an inner or semi join, and for
    the right input of a left, anti or single join, whose rows count only where c is true. Not for
    the left input of those, which is kept either way, nor for mark joins.
    """
    if not isinstance(node, Join) or node.kind in (JoinKind.FULL, JoinKind.MARK, JoinKind.RIGHT):
        return None
    left, right = node.left, node.right
    if node.kind in (JoinKind.INNER, JoinKind.SEMI) and isinstance(left, Join):
        left = _stricter(left, node.condition) or left
    if isinstance(right, Join):
        right = _stricter(right, node.condition) or right
    if left is node.left and right is node.right:
        return None
    return Join(node.kind, left, right, node.condition)


def _stricter(join: Join, predicate: Scalar) -> Join | None:
    """Return the join without the null-extended rows that the predicate rejects; None if it is
    already of that kind."""
    if join.kind not in _OUTER:
        return None
    keeps_left = join.kind in (JoinKind.LEFT, JoinKind.FULL) and not rejects_nulls_of(
        predicate, ids_of(join.right)
    )
    keeps_right = join.kind in (JoinKind.RIGHT, JoinKind.FULL) and not rejects_nulls_of(
        predicate, ids_of(join.left)
    )
    if keeps_left and keeps_right:
        kind = JoinKind.FULL
    elif keeps_left or keeps_right:
        kind = JoinKind.LEFT if keeps_left else JoinKind.RIGHT
    else:
        kind = JoinKind.INNER
    return None if kind is join.kind else Join(kind, join.left, join.right, join.condition)


TURN_RIGHT_JOIN = NormalizeRule("TurnRightJoin", Join, _turn_right_join)
OUTER_BELOW_FILTER = NormalizeRule("OuterJoinBelowFilterToInner", Filter, _below_filter)
OUTER_BELOW_JOIN = NormalizeRule("OuterJoinBelowJoinToInner", Join, _below_join)
