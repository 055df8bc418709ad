"""IM-2: what is never taken back early, what may be at the end (Tempura 4.2, equation 3).

::

    L left R          =  L join R  +  nulls(L anti R)                       QP + QN
    project(QP + QN)  =  project(QP) + project(QN)          and so for filters

Of append-only inputs, the positive part only grows: it can be kept run by run without a retraction.
The negative part shrinks when partners arrive; nothing forces it to be made before the last run,
and each part is planned by itself, so the negative one may also be maintained if that is cheaper.
All of it holds for bags: a left row either has partners or it does not, so the parts are disjoint,
and unions add multiplicities up.
"""

from __future__ import annotations

from planner.algebra.relational import (
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
from planner.rules.methods.method import Method, WhyNot, changes
from planner.search.incremental import without
from planner.search.rule import Match, MemoRule

_SOURCE = "Tempura 4.2 (1), the IM-2 approach"


def _decompose(match: Match) -> bool:
    """A left join as its two parts, where partners may still arrive."""
    memo, node = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Join) or node.kind is not JoinKind.LEFT or tvr is None:
        return False
    right = memo.tvr_of(match.expression.inputs[1].group)
    if right is None or not right.changing or not is_deterministic(node.condition):
        return False
    positive = Join(JoinKind.INNER, node.left, node.right, node.condition)
    alone = Join(JoinKind.ANTI, node.left, node.right, node.condition)
    kept: tuple[tuple[Column, Scalar], ...] = tuple((c, Ref(c)) for c in node.left.columns)
    nulls = tuple((c, Literal(None, c.type)) for c in node.right.columns)
    negative = Project(alone, (*kept, *nulls))
    memo.equate(tvr.new, UnionAll((positive, negative), node.columns), DECOMPOSE.name)
    for role, part in ((Role.POSITIVE, positive), (Role.NEGATIVE, negative)):
        other = memo.tvr_of(memo.add(part))
        if other is not None:
            memo.relate(tvr, role, other.id)
    return True


def _union(match: Match) -> tuple[UnionAll, tuple[Relation, ...]] | None:
    """The union below, and its branches under the columns of the union."""
    union = match.below.node if match.below is not None else None
    if match.below is None or not isinstance(union, UnionAll) or match.below.origin not in _PARTS:
        return None  # a union that is none of parts: its branches are the query's own
    branches = []
    for branch in union.branches:
        same = branch.columns == union.merged
        pairs = zip(union.merged, branch.columns, strict=True)
        renamed = Project(branch, tuple((new, Ref(old)) for new, old in pairs))
        branches.append(branch if same else renamed)
    return union, tuple(branches)


def _push_project(match: Match) -> bool:
    """A projection of a union, branch by branch."""
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
    """A filter of a union, branch by branch."""
    node, found = match.expression.node, _union(match)
    if not isinstance(node, Filter) or found is None or not is_deterministic(node.predicate):
        return False
    branches = tuple(Filter(branch, node.predicate) for branch in found[1])
    match.memo.equate(match.expression.group, UnionAll(branches, node.columns), FILTER.name)
    return True


DECOMPOSE = MemoRule("PositiveAndNegativePart", Join, _decompose, _SOURCE)
PROJECT = MemoRule("ProjectOfParts", Project, _push_project, _SOURCE, below=UnionAll)
FILTER = MemoRule("FilterOfParts", Filter, _push_filter, _SOURCE, below=UnionAll)
IM2: tuple[MemoRule, ...] = (DECOMPOSE, PROJECT, FILTER)
_PARTS = frozenset(rule.name for rule in IM2)


def _why_not(relation: Relation, growing: frozenset[str]) -> WhyNot | None:
    splits = (
        node
        for node in walk(relation)
        if isinstance(node, Join) and node.kind is JoinKind.LEFT and changes(node.right, growing)
    )
    if any(is_deterministic(node.condition) for node in splits):
        return None
    what = "there is no left join whose partners may still arrive, so nothing to split"
    return WhyNot(Reason.NO_OUTER_JOIN, what)


METHOD = Method(
    "im2",
    "IM-2: of outer joins the rows that stay early, those that may go by themselves",
    # Without the deltas of whole outer joins, which are another method; the negative part may be
    # maintained by any that it has rules for.
    (*without("OuterJoinDeltaByKey", "OuterJoinDeltaTouchedRows"), *IM2),
    _why_not,
    _SOURCE,
)
