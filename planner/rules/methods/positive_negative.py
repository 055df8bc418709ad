"""IM-2: splits outer joins into a part that only grows and a part that may take rows back; the
latter can wait for the final run (Tempura 4.2, equation 3).

::

    L left R          =  L join R  +  nulls(L anti R)                       QP + QN
    L full R          =  L join R  +  nulls(L anti R) + nulls(R anti L)
    project(QP + QN)  =  project(QP) + project(QN)          and so for filters
    (QP + QN) join R  =  QP join R + QN join R              and all that keeps left rows
    agg(QP + QN)      =  merge(agg(QP) + agg(QN))           for sum, count, min and max

Carrying is one rule over roles: the parts are the branches that have the role QP or QN in the TVR
below, and the operator over each has that role in the TVR of the operator, where the next one finds
it. The parts of an aggregate have none, since they are merged and not added.

Over append-only inputs the positive part only grows, so it can be kept run by run without a
retraction. The negative part shrinks when partners arrive. It need not be computed before the final
run; but each part is planned by itself, so it may also be maintained if that is cheaper. The laws
hold for bags: a left row either has partners or not, so the parts are disjoint, and unions add
multiplicities. A group may have rows of both parts: their values are merged, where the functions
skip NULL, and the count of a part without rows is 0.
"""

from __future__ import annotations

from collections.abc import Callable

from forerun.planner.algebra.aggregates.functions import type_of
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    walk,
)
from forerun.planner.algebra.scalar import Literal, Ref, Scalar, is_deterministic
from forerun.planner.algebra.types import Column
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import Role
from forerun.planner.props.repeatable import Repeats
from forerun.planner.rules.explore.catalog import LOCAL
from forerun.planner.rules.explore.eager_aggregate import is_mergeable, merged_by, settled
from forerun.planner.rules.incremental.join import LEFT_LINEAR
from forerun.planner.rules.incremental.memo_rules import without
from forerun.planner.rules.methods.method import Method, WhyNot, changes
from forerun.planner.search.rule import Match, MemoRule

_SOURCE = "Tempura 4.2 (1), the IM-2 approach"
_SPLIT = (JoinKind.LEFT, JoinKind.FULL)
MOST_PARTS = 4
"""The most parts of a union that joins are pushed into, since each outer join doubles them."""
CARRY_UP_TO = 1500
"""The most expressions of a memo in which joins and aggregates are still pushed into unions. TPC-H
Q13 has 425."""


def _decompose(match: Match) -> bool:
    """Add a left or full join as the union of its two parts, if partners may still arrive."""
    memo, node = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Join) or node.kind not in _SPLIT or tvr is None:
        return False
    left, right = (memo.tvr_of(given.group) for given in match.expression.inputs)
    grows = [side is not None and side.changing for side in (left, right)]
    needed = grows[1] or (node.kind is JoinKind.FULL and grows[0])
    if not needed or tvr.repeats is Repeats.CHOSEN:
        return False  # both parts have to be of the same rows
    positive = Join(JoinKind.INNER, node.left, node.right, node.condition)
    negative = [_alone(node, node.left, node.right)]
    if node.kind is JoinKind.FULL:
        negative.append(_alone(node, node.right, node.left))
    parts = [(Role.POSITIVE, positive), *((Role.NEGATIVE, part) for part in negative)]
    _add_parts(match, parts, node.columns, DECOMPOSE.name)
    return True


def _add_parts(
    match: Match, parts: list[tuple[Role, Relation]], columns: tuple[Column, ...], origin: str
) -> None:
    """Record that the parts, each in its role, add up to the rows of the matched expression."""
    memo = match.memo
    memo.equate(match.expression.group, UnionAll(tuple(part for _, part in parts), columns), origin)
    tvr = memo.tvr_of(match.expression.group)  # perhaps merged with another one by now
    for role, part in parts:
        other = memo.tvr_of(memo.add(part))
        if tvr is not None and other is not None:
            memo.relate(tvr, role, other.id)


def _alone(node: Join, kept: Relation, gone: Relation) -> Relation:
    """Return the rows of one side without a partner, null-extended to the columns of the join."""
    rows = Join(JoinKind.ANTI, kept, gone, node.condition)
    mine = {column.id for column in kept.columns}
    items = ((c, Ref(c) if c.id in mine else Literal(None, c.type)) for c in node.columns)
    return Project(rows, tuple(items))


def _parts(match: Match) -> list[tuple[Role, Relation]]:
    """Return the parts that the union below consists of, renamed to its columns, with their roles
    in its TVR."""
    below = match.below
    if below is None or not isinstance(below.node, UnionAll):
        raise TypeError("the pattern of the rule has a union below")
    found: list[tuple[Role, Relation]] = []
    for role, branch in zip(match.roles, below.node.branches, strict=True):
        pairs = zip(below.node.merged, branch.columns, strict=True)
        same = branch.columns == below.node.merged
        renamed = Project(branch, tuple((new, Ref(old)) for new, old in pairs))
        found.append((role, branch if same else renamed))
    return found


def _carry(match: Match) -> bool:
    """Carry parts through an operator that is linear in its first input: the operator over a part
    has the role of the part."""
    node, parts = match.expression.node, _parts(match)
    if not _is_linear(match, len(parts)):
        return False
    carried = [(role, node.with_inputs((part, *node.inputs[1:]))) for role, part in parts]
    _add_parts(match, carried, node.columns, _CARRIED_BY[type(node)])
    return True


def _is_linear(match: Match, parts: int) -> bool:
    """Return whether an operator gives of a union of parts what it gives of each part."""
    node, tvr = match.expression.node, match.memo.tvr_of(match.expression.group)
    if isinstance(node, Project):
        return all(is_deterministic(scalar) for _, scalar in node.items)
    if isinstance(node, Filter):
        return is_deterministic(node.predicate)
    if not isinstance(node, Join) or node.kind not in LEFT_LINEAR:
        return False
    if parts > MOST_PARTS or _is_large(match):
        return False
    # Where rows may be chosen otherwise, the right side must not be computed for each part.
    return tvr is not None and tvr.repeats is not Repeats.CHOSEN


def _is_large(match: Match) -> bool:
    return len(match.memo.expressions) > CARRY_UP_TO


def _push_aggregate(match: Match) -> bool:
    """Aggregate each part by itself, and merge the values of the parts per group."""
    node, found = match.expression.node, _parts(match)
    if not isinstance(node, Aggregate) or _is_large(match):
        return False
    if not all(is_mergeable(call, call.args) for _, call in node.calls):
        return False
    partial = tuple((match.ids.new(column.name, column), call) for column, call in node.calls)
    merged, items = [], [(key, Ref(key)) for key in node.keys]
    values: list[tuple[Column, Scalar]] = list(items)
    for (column, call), (kept, _) in zip(node.calls, partial, strict=True):
        again = merged_by(call, Ref(kept))
        total = Column(match.ids.next_id(), column.name, type_of(again))
        merged.append((total, again))
        values.append((column, settled(call, Ref(total), column)))
    groups = tuple(Aggregate(branch, node.keys, partial) for _, branch in found)
    parts = UnionAll(groups, groups[0].columns)
    relation = Project(Aggregate(parts, node.keys, tuple(merged)), tuple(values))
    match.memo.equate(match.expression.group, relation, AGGREGATE.name)
    return True


def _over_parts(
    name: str, operator: type[Relation], fire: Callable[[Match], bool], priority: int = 0
) -> MemoRule:
    """Return a rule with the pattern of an operator over the sum of parts that have the roles QP
    and QN."""
    roles = frozenset({Role.POSITIVE, Role.NEGATIVE})
    return MemoRule(name, operator, fire, _SOURCE, below=UnionAll, parts=roles, priority=priority)


DECOMPOSE = MemoRule("PositiveAndNegativePart", Join, _decompose, _SOURCE)
PROJECT = _over_parts("ProjectOfParts", Project, _carry)
FILTER = _over_parts("FilterOfParts", Filter, _carry)
# These two double what is above an outer join: after all else, and only where that is not too much.
JOIN = _over_parts("JoinOfParts", Join, _carry, priority=1)
AGGREGATE = _over_parts("AggregateOfParts", Aggregate, _push_aggregate, priority=1)
_CARRIED_BY = {rule.operator: rule.name for rule in (PROJECT, FILTER, JOIN)}
IM2: tuple[MemoRule, ...] = (DECOMPOSE, PROJECT, FILTER, JOIN, AGGREGATE)


def _why_not(relation: Relation, growing: frozenset[str]) -> WhyNot | None:
    if any(isinstance(node, Join) and _is_split(node, growing) for node in walk(relation)):
        return None
    what = "there is no outer join whose partners may still arrive, so nothing to split"
    return WhyNot(Reason.NO_OUTER_JOIN, what)


def _is_split(node: Join, growing: frozenset[str]) -> bool:
    grows = changes(node.right, growing) or (
        node.kind is JoinKind.FULL and changes(node.left, growing)
    )
    return node.kind in _SPLIT and grows and is_deterministic(node.condition)


METHOD = Method(
    "im2",
    "IM-2: of outer joins the rows that stay early, those that may go by themselves",
    # Without the deltas of whole outer joins, which are another method; the negative part may be
    # maintained by any that it has rules for.
    (*without("OuterJoinDeltaByKey", "OuterJoinDeltaTouchedRows"), *LOCAL, *IM2),
    _why_not,
    _SOURCE,
)
