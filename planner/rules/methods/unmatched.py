"""Keeps only the unmatched left rows of a semi or anti join: those without a partner so far.

If R only grows, a left row that has a partner keeps it, and no later arrival affects it. With
U = L anti R, the rows that are still unmatched::

    d(L anti R)  =  dL anti R_new  -  U_old semi dR
    d(L semi R)  =  dL semi R_new  +  U_old semi dR

The other rules read L_old, and so keep all of L. Here U is kept instead, which is small if few rows
stay unmatched for long. Its size is estimated like that of any anti join, or was counted in earlier
runs and days, and the cost of keeping U or L decides between them.

Correctness: a row of L_old semi R_new that is not in L_old semi R_old has no partner in R_old, so
it is in U_old, and its partner is in dR. That holds for any condition on the pair. Bags: rows of U
have the multiplicity that they have in L. NULLs: a condition that is not true makes no partner, in
any version. Retractions: L may take rows back, as all terms are linear in it; R may not, or a
forgotten row would have to come back.

For an inner join, a row that has met its partner can be forgotten only if the key of R is unique:
:mod:`forerun.planner.rules.methods.only_partner`.
"""

from __future__ import annotations

from forerun.planner.algebra.relational import Aggregate, Join, JoinKind, Version
from forerun.planner.algebra.scalar import is_deterministic
from forerun.planner.memo.groups import Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.rules.incremental.join import weighted_join
from forerun.planner.rules.incremental.memo_rules import GroupVersions, add_delta
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import Signed, plus, with_weight

_AFTER_OTHERS = 1


def _partners(match: Match, kind: JoinKind) -> tuple[Join, GroupVersions, GroupVersions] | None:
    """Return the join and the versions of its inputs, if both change and the right one only grows;
    else None."""
    memo, node = match.memo, match.expression.node
    if not isinstance(node, Join) or node.kind is not kind or not is_deterministic(node.condition):
        return None
    inputs = [memo.tvr_of(i.group) for i in node.inputs if isinstance(i, Reference)]
    left, right = (GroupVersions(memo, t, match.ids) for t in inputs if t is not None)
    if not right.changing or not only_grows(memo, right.tvr) or not left.changing:
        return None
    return node, left, right


def only_grows(memo: Memo, tvr: Tvr) -> bool:
    """Return whether a TVR only gains rows: its delta is unsigned, or it is the DISTINCT of such an
    input. The signed delta of a DISTINCT may take back an old row, but then adds it again."""
    if tvr.weight is None:
        return True
    first = next(memo.alternatives(tvr.new))
    if not isinstance(first.node, Aggregate) or first.node.calls or not first.node.keys:
        return False
    below = memo.tvr_of(first.inputs[0].group)
    return below is not None and below.weight is None


def _rows(match: Match, side: GroupVersions) -> Signed:
    """Return the rows of a side as of this run; an existence test needs no weights."""
    return Signed(match.memo.reference(side.tvr.new))


def _anti(match: Match) -> bool:
    found, tvr = _partners(match, JoinKind.ANTI), match.memo.tvr_of(match.expression.group)
    if found is None or tvr is None:
        return False
    join, left, right = found
    alone = GroupVersions(match.memo, tvr, match.ids).old()
    semi = Join(JoinKind.SEMI, join.left, join.right, join.condition)
    gone = weighted_join(semi, alone, right.delta(), match.ids)
    parts = (
        weighted_join(join, left.delta(), _rows(match, right), match.ids),
        with_weight(gone, match.ids, sign=-1),
    )
    return add_delta(match, tvr, plus(parts, join.columns, match.ids), ANTI.name)


def _semi(match: Match) -> bool:
    found, tvr = _partners(match, JoinKind.SEMI), match.memo.tvr_of(match.expression.group)
    if found is None or tvr is None:
        return False
    join, left, right = found
    memo = match.memo
    anti = memo.add(Join(JoinKind.ANTI, join.left, join.right, join.condition), SEMI.name)
    alone = _of(memo.tvr_of(anti))
    met = Join(JoinKind.SEMI, memo.reference(alone.new, before=True), join.right, join.condition)
    parts = (
        weighted_join(join, left.delta(), _rows(match, right), match.ids),
        weighted_join(met, Signed(met.left), right.delta(), match.ids),
    )
    return add_delta(match, tvr, plus(parts, join.columns, match.ids), SEMI.name)


def _of(tvr: Tvr | None) -> Tvr:
    if tvr is None:
        raise ValueError("an anti join is a TVR")
    return tvr


_SOURCE = "Key-aware state: a row that found its partner leaves the state; join by EXISTS, any key"
ANTI = MemoRule(
    "UnmatchedRowsOfAntiJoin",
    Join,
    _anti,
    _SOURCE,
    frozenset({(Version.NEW, View.WEIGHTED)}),
    deltas=True,
    priority=_AFTER_OTHERS,
)
SEMI = MemoRule(
    "UnmatchedRowsOfSemiJoin", Join, _semi, _SOURCE, deltas=True, priority=_AFTER_OTHERS
)
UNMATCHED: tuple[MemoRule, ...] = (ANTI, SEMI)
