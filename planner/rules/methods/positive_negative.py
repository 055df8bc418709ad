"""IM-2: splits outer joins into a part that only grows and a part that may take rows back; the
latter can wait for the final run (Tempura 4.2, equation 3).

::

    L left R          =  L join R  +  nulls(L anti R)                       QP + QN
    L full R          =  L join R  +  nulls(L anti R) + nulls(R anti L)
    project(QP + QN)  =  project(QP) + project(QN)          and so for filters
    (QP + QN) join R  =  QP join R + QN join R              and all that keeps left rows
    agg(QP + QN)      =  merge(agg(QP) + agg(QN))           for sum, count, min and max

Over append-only inputs the positive part only grows, so it can be kept run by run without a
retraction. The negative part shrinks when partners arrive. It need not be computed before the final
run; but each part is planned by itself, so it may also be maintained if that is cheaper. The laws
hold for bags: a left row either has partners or not, so the parts are disjoint, and unions add
multiplicities. A group may have rows of both parts: their values are merged, where the functions
skip NULL, and the count of a part without rows is 0.
"""

from __future__ import annotations

from planner.algebra.aggregate_functions import type_of
from planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    walk,
)
from planner.algebra.scalar import Literal, Ref, Scalar, is_deterministic, substitute
from planner.algebra.types import Column, ColumnId
from planner.errors import Reason
from planner.memo.memo import Role
from planner.props.repeatable import Repeats
from planner.rules.explore.catalog import LOCAL
from planner.rules.explore.eager_aggregate import is_mergeable, merged_by, settled
from planner.rules.incremental.join import LEFT_LINEAR
from planner.rules.incremental.memo_rules import without
from planner.rules.methods.method import Method, WhyNot, changes
from planner.search.rule import Match, MemoRule

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
    negative: Relation = _alone(node, node.left, node.right)
    if node.kind is JoinKind.FULL:
        rest = _alone(node, node.right, node.left)
        negative = UnionAll((negative, rest), node.columns)
    memo.equate(tvr.new, UnionAll((positive, negative), node.columns), DECOMPOSE.name)
    for role, part in ((Role.POSITIVE, positive), (Role.NEGATIVE, negative)):
        other = memo.tvr_of(memo.add(part))
        if other is not None:
            memo.relate(tvr, role, other.id)
    return True


def _alone(node: Join, kept: Relation, gone: Relation) -> Relation:
    """Return the rows of one side without a partner, null-extended to the columns of the join."""
    rows = Join(JoinKind.ANTI, kept, gone, node.condition)
    mine = {column.id for column in kept.columns}
    items = ((c, Ref(c) if c.id in mine else Literal(None, c.type)) for c in node.columns)
    return Project(rows, tuple(items))


def _union(match: Match) -> tuple[UnionAll, tuple[Relation, ...]] | None:
    """Return the union of parts below, and its branches renamed to the union's columns; None if
    the expression below is not such a union."""
    union = match.below.node if match.below is not None else None
    if match.below is None or not isinstance(union, UnionAll) or match.below.origin not in _PARTS:
        return None  # not a union of parts: it is the query's own, or another rule's
    branches = []
    for branch in union.branches:
        same = branch.columns == union.merged
        pairs = zip(union.merged, branch.columns, strict=True)
        renamed = Project(branch, tuple((new, Ref(old)) for new, old in pairs))
        branches.append(branch if same else renamed)
    return union, tuple(branches)


def _push_project(match: Match) -> bool:
    """Push a projection into the branches of a union of parts."""
    node, found = match.expression.node, _union(match)
    if not isinstance(node, Project) or found is None:
        return False
    if not all(is_deterministic(scalar) for _, scalar in node.items):
        return False
    union, _ = found
    branches = []
    for branch in union.branches:
        pairs = zip(union.merged, branch.columns, strict=True)
        names: dict[ColumnId, Scalar] = {new.id: Ref(old) for new, old in pairs}
        items = tuple((column, substitute(value, names)) for column, value in node.items)
        branches.append(Project(branch, items))
    relation = UnionAll(tuple(branches), node.columns)
    match.memo.equate(match.expression.group, relation, PROJECT.name)
    return True


def _push_filter(match: Match) -> bool:
    """Push a filter into the branches of a union of parts."""
    node, found = match.expression.node, _union(match)
    if not isinstance(node, Filter) or found is None or not is_deterministic(node.predicate):
        return False
    branches = tuple(Filter(branch, node.predicate) for branch in found[1])
    match.memo.equate(match.expression.group, UnionAll(branches, node.columns), FILTER.name)
    return True


def _is_large(match: Match) -> bool:
    return len(match.memo.expressions) > CARRY_UP_TO


def _push_join(match: Match) -> bool:
    """Push a join that is linear in its left side into the branches of a union of parts there."""
    node, found = match.expression.node, _union(match)
    if not isinstance(node, Join) or found is None or node.kind not in LEFT_LINEAR:
        return False
    branches = found[1]
    tvr = match.memo.tvr_of(match.expression.group)
    if len(branches) > MOST_PARTS or _is_large(match):
        return False
    if tvr is None or tvr.repeats is Repeats.CHOSEN:
        return False  # the right side would be computed twice
    joined = tuple(node.with_inputs((branch, node.right)) for branch in branches)
    match.memo.equate(match.expression.group, UnionAll(joined, node.columns), JOIN.name)
    return True


def _push_aggregate(match: Match) -> bool:
    """Aggregate each part by itself, and merge the values of the parts per group."""
    node, found = match.expression.node, _union(match)
    if not isinstance(node, Aggregate) or found is None or _is_large(match):
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
    groups = tuple(Aggregate(branch, node.keys, partial) for branch in found[1])
    parts = UnionAll(groups, groups[0].columns)
    relation = Project(Aggregate(parts, node.keys, tuple(merged)), tuple(values))
    match.memo.equate(match.expression.group, relation, AGGREGATE.name)
    return True


DECOMPOSE = MemoRule("PositiveAndNegativePart", Join, _decompose, _SOURCE)
PROJECT = MemoRule("ProjectOfParts", Project, _push_project, _SOURCE, below=UnionAll)
FILTER = MemoRule("FilterOfParts", Filter, _push_filter, _SOURCE, below=UnionAll)
# These two double what is above an outer join: after all else, and only where that is not too much.
JOIN = MemoRule("JoinOfParts", Join, _push_join, _SOURCE, below=UnionAll, priority=1)
AGGREGATE = MemoRule(
    "AggregateOfParts", Aggregate, _push_aggregate, _SOURCE, below=UnionAll, priority=1
)
_CARRIES = (DECOMPOSE, PROJECT, FILTER, JOIN)
_PARTS = frozenset(rule.name for rule in _CARRIES)
"""The origins of unions of parts. AGGREGATE's union is not one: it is merged right above."""
IM2: tuple[MemoRule, ...] = (*_CARRIES, AGGREGATE)


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
