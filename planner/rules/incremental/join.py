"""Delta rules of joins whose output takes back nothing that its inputs do not.

::

    d(L join R)  =  dL join R_new  +  L_old join dR        (inner)
    d(L op R)    =  dL op R                                (any kind that keeps left rows, R static)
"""

from __future__ import annotations

from planner.algebra.predicates import split_condition
from planner.algebra.relational import Join, JoinKind, Project, Relation
from planner.algebra.scalar import Ref, is_deterministic
from planner.algebra.types import BIGINT, Column
from planner.errors import Reason
from planner.rules.incremental.rule import Applies, Input, Need, Rule, Versions
from planner.tvr.signed import ColumnIds, Signed, plus, times

LEFT_LINEAR = frozenset(
    {
        JoinKind.INNER,
        JoinKind.LEFT,
        JoinKind.SEMI,
        JoinKind.ANTI,
        JoinKind.MARK,
        JoinKind.SINGLE,
    }
)
"""Kinds whose output is, row by row, a function of the left row and the whole right input."""


def as_join(node: Relation) -> Join:
    if not isinstance(node, Join):
        raise TypeError(node)
    return node


def needs_of_both(join: Join, inputs: tuple[Input, ...]) -> tuple[Need, ...] | Reason:
    """Both sides distributed by the join's equalities, where both change; or why that cannot be."""
    pairs, _ = split_condition(join)
    if not pairs:
        return Reason.NO_EQUALITY
    keys = (tuple(left for left, _ in pairs), tuple(right for _, right in pairs))
    return tuple(Need(i, keys[i]) for i in (0, 1) if inputs[i].changing)


def weighted_join(join: Join, left: Signed, right: Signed, ids: ColumnIds) -> Signed:
    """The join of two signed bags: weights multiply; data columns first, then the weight."""
    joined = Join(join.kind, left.relation, right.relation, join.condition, join.mark)
    weights = (left.weight, right.weight if join.kind is JoinKind.INNER else None)
    product = times(weights)
    if product is None:
        return Signed(joined)
    weight = Column(ids.next_id(), "__w", BIGINT)
    items = (*((c, Ref(c)) for c in join.columns), (weight, product))
    return Signed(Project(joined, items), weight)


def _left_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    join = as_join(node)
    if inputs[1].changing or join.kind not in LEFT_LINEAR:
        return Reason.OPERATOR
    if not is_deterministic(join.condition):
        return Reason.NOT_DETERMINISTIC
    return Applies(signed=inputs[0].signed)


def _left_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    return weighted_join(as_join(node), inputs[0].delta(), inputs[1].new(), ids)


def _inner_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    join = as_join(node)
    if join.kind is not JoinKind.INNER or not inputs[1].changing:
        return Reason.OPERATOR  # over a static right side there is a rule that keeps nothing
    if not is_deterministic(join.condition):
        return Reason.NOT_DETERMINISTIC
    signed = inputs[0].signed or inputs[1].signed
    if not inputs[0].changing:
        return Applies(signed=signed)
    needs = needs_of_both(join, inputs)
    return needs if isinstance(needs, Reason) else Applies(signed=signed, needs=needs)


def _inner_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    join, (left, right) = as_join(node), inputs
    parts = []
    if left.changing:
        parts.append(weighted_join(join, left.delta(), right.new(), ids))
    if right.changing:
        parts.append(weighted_join(join, left.old(), right.delta(), ids))
    return plus(tuple(parts), join.columns, ids)


STATIC_RIGHT = Rule(
    "JoinDeltaStaticRight",
    Join,
    _left_applies,
    "Tempura 4.1, with dR empty. Each output row comes of one left row and the whole of R, so it "
    "carries the left row's weight; R need not be kept.",
    _left_delta,
)
INNER = Rule(
    "InnerJoinDelta",
    Join,
    _inner_applies,
    "Tempura 4.1 and Distributed IVM 2.1: bilinear. NULL keys match nothing in any version; "
    "weights multiply, so a row that is taken back takes back all of its pairs.",
    _inner_delta,
)
