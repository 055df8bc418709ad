"""Derives predicates that follow from others and reduce an input of a join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import Filter, Join, JoinKind, Relation
from forerun.planner.algebra.scalar import (
    COMPARISONS,
    Call,
    Ref,
    Scalar,
    conjuncts,
    connected,
    operands,
    references,
    substitute,
)
from forerun.planner.algebra.types import ColumnId
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule, filtered, ids_of
from forerun.planner.rules.normalize.safety import is_movable

_TO_RIGHT = frozenset(
    {JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.ANTI, JoinKind.SINGLE}
)
_TO_LEFT = frozenset({JoinKind.INNER, JoinKind.SEMI})


def _constants_through_equality(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[a = 5](L) join[a = b] R`` = ``filter[a = 5](L) join[a = b] filter[b = 5](R)``.

    A right row with another b has no partner in what is left of L; also for <, <=, >, >= and IN
    lists of constants, and in the other direction for inner and semi joins. Not to the left of a
    left or anti join, whose rows without partner stay.
    """
    if not isinstance(node, Join) or node.kind not in _TO_RIGHT:
        return None
    pairs = split_condition(node).pairs
    left, right = node.left, node.right
    to_right: dict[ColumnId, Scalar] = {a.id: Ref(b) for a, b in pairs}
    right = filtered(right, _translated(left, to_right))
    if node.kind in _TO_LEFT:
        left = filtered(left, _translated(node.right, {b.id: Ref(a) for a, b in pairs}))
    if left is node.left and right is node.right:
        return None
    return Join(node.kind, left, right, node.condition)


def _translated(side: Relation, by: Mapping[ColumnId, Scalar]) -> list[Scalar]:
    """Return the filters of one side that compare an equated column with constants, translated to
    the equal column of the other side."""
    if not isinstance(side, Filter):
        return []
    return [
        substitute(part, by)
        for part in conjuncts(side.predicate)
        if len(references(part)) == 1 and references(part) <= by.keys() and _is_simple(part)
    ]


def _is_simple(part: Scalar) -> bool:
    """Return whether a conjunct is ``column op constant`` or ``column in (constants)``, and cannot
    fail."""
    if not isinstance(part, Call) or part.name not in COMPARISONS | {"in"}:
        return False
    return is_movable(part) and all(isinstance(a, Ref) or not references(a) for a in part.args)


def _sides_of_disjunction(node: Relation, _: NormalizeContext) -> Relation | None:
    """``L join[(p1(L) and q1(R)) or (p2(L) and q2(R))] R`` also has ``filter[p1 or p2](L)`` and
    ``filter[q1 or q2](R)`` below it.

    A pair passes a branch only with both its parts, so it passes the weaker conditions; the
    disjunction itself stays. Only where each branch says something of the side; for the same
    sides and kinds as above.
    """
    if not isinstance(node, Join) or node.kind not in _TO_RIGHT:
        return None
    left, right = node.left, node.right
    for part in conjuncts(node.condition):
        branches = operands("or", part)
        if len(branches) > 1:
            right = filtered(right, _weaker(branches, ids_of(node.right)))
            if node.kind in _TO_LEFT:
                left = filtered(left, _weaker(branches, ids_of(node.left)))
    if left is node.left and right is node.right:
        return None
    return Join(node.kind, left, right, node.condition)


def _weaker(branches: Iterable[Scalar], columns: frozenset[ColumnId]) -> list[Scalar]:
    found: list[Scalar] = []
    for branch in branches:
        own = [p for p in conjuncts(branch) if references(p) <= columns and is_movable(p)]
        if not own or not references(own[0]):
            return []
        found.append(connected("and", own))
    return [connected("or", tuple(dict.fromkeys(found)))]


CONSTANTS_THROUGH_EQUALITY = NormalizeRule(
    "PassConstantsThroughEquality", Join, _constants_through_equality
)
SIDES_OF_DISJUNCTION = NormalizeRule("ImplySidesOfDisjunction", Join, _sides_of_disjunction)
