"""Delta rules of joins that take back rows only if an input takes rows back.

::

    d(L join R)  =  dL join R_new  +  L_old join dR        (inner)
    d(L op R)    =  dL op R                                (any kind that keeps left rows, R static)
"""

from __future__ import annotations

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation
from forerun.planner.algebra.scalar import Ref, is_deterministic
from forerun.planner.algebra.types import BIGINT, Column
from forerun.planner.errors import Reason
from forerun.planner.rules.incremental.rule import Applies, DeltaRule, Input, Versions
from forerun.planner.tvr.signed import ColumnIds, Signed, plus, times

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
"""The kinds of join that are linear in the left input: each output row comes from one left row and
the whole right input."""


def as_join(node: Relation) -> Join:
    """Return the node as a join; TypeError if it is none."""
    if not isinstance(node, Join):
        raise TypeError(node)
    return node


def has_key(join: Join) -> bool:
    """Return whether a join has an equality, so that both sides can be distributed by it."""
    return bool(split_condition(join).pairs)


def weighted_join(join: Join, left: Signed, right: Signed, ids: ColumnIds) -> Signed:
    """Return the join of two signed bags. The weights multiply in an inner join; other kinds take
    the weight of the left row. The weight column comes after the data columns."""
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
    return Applies(signed=signed) if has_key(join) else Reason.NO_EQUALITY


def _inner_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    join, (left, right) = as_join(node), inputs
    parts = []
    if left.changing:
        parts.append(weighted_join(join, left.delta(), right.new(), ids))
    if right.changing:
        parts.append(weighted_join(join, left.old(), right.delta(), ids))
    return plus(tuple(parts), join.columns, ids)


STATIC_RIGHT = DeltaRule(
    "JoinDeltaStaticRight",
    Join,
    _left_applies,
    "Tempura 4.1, with dR empty. Each output row comes of one left row and the whole of R, so it "
    "carries the left row's weight; R need not be kept.",
    _left_delta,
)
INNER = DeltaRule(
    "InnerJoinDelta",
    Join,
    _inner_applies,
    "Tempura 4.1 and Distributed IVM 2.1: bilinear. NULL keys match nothing in any version; "
    "weights multiply, so a row that is taken back takes back all of its pairs.",
    _inner_delta,
)
