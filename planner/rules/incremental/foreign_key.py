"""The delta of a join along a foreign key whose parent arrives first: what comes of the parent is
joined with nothing that was there.

Let C be made of rows of a source c, and P of rows of a source p, and let the condition of a join
compare, by equality, the columns of a foreign key of c with those that it names of p. If no row of
c that was there (c_old) names a row of p that has come since (dp)::

    d(C join P)  =  dC join P_new                     (C and P on either side)
    d(C op P)    =  dC op P_new                       (op: left, semi, anti, single)

So a child that was there is matched with nothing that comes: the term C_old join dP of the general
rule is empty, and an outer, semi or anti join takes nothing back that it gave.

Proof. A pair of a row of C_old and one of dP that satisfies the condition has equal values, none
of them NULL, in the columns of the foreign key. By their origin
(:mod:`forerun.planner.props.source_rows`) these are the values of one row of c_old and of one row
of dp, so the one names the other, which none does. For the inner join: d(C join P) = dC join P_new
+ C_old join dP for bags of any sign, and the second term has no rows. For the others: rows of C_old
have the same partners in P_new as in P_old, so the operator gives for them what it gave, and it is
linear in C. P must not take rows back there, since partners are looked for among rows, not among
weights.

NULL: a child with a NULL in its foreign key has no partner in any version. Duplicates do no harm:
neither is a key asked to be unique, nor a child to have a parent at all. Self-joins: the two
aliases of a source are two leaves, each traced by its own columns. A mark (IN as a value) is left
out: it is NULL, not false, where what comes has NULLs.

What the law rests on is an emptiness, dp semi join c_old, which the run verifies in the data before
it computes anything (:mod:`forerun.spark_jobs.declarations`), whatever the stages read; its price
is that of the operator :class:`forerun.planner.memo.relying.Relying`. So a foreign key that does
not hold cannot change a result. Sources that take rows back have no foreign keys here.
"""

from __future__ import annotations

from collections.abc import Iterator

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import Join, JoinKind, Version
from forerun.planner.algebra.scalar import is_deterministic
from forerun.planner.algebra.types import ColumnId
from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.memo.groups import View
from forerun.planner.memo.relying import Relying
from forerun.planner.memo.source_rows import source_rows
from forerun.planner.props.source_rows import SourceRow
from forerun.planner.rules.incremental.join import weighted_join
from forerun.planner.rules.incremental.memo_rules import GroupVersions, add_delta
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import Signed

_LEFT = frozenset({JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.SINGLE})
_AFTER_OTHERS = 1


def _fire(match: Match) -> bool:
    memo, join = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    if not memo.foreign_keys or tvr is None or not isinstance(join, Join):
        return False
    if not is_deterministic(join.condition):
        return False
    below = tuple(memo.tvr_of(i.group) for i in match.expression.inputs)
    left, right = (GroupVersions(memo, one, match.ids) for one in below if one is not None)
    if not (left.changing and right.changing):
        return False
    pairs = frozenset((one.id, other.id) for one, other in split_condition(join).pairs)
    if join.kind is JoinKind.INNER or (join.kind in _LEFT and right.delta().weight is None):
        on = _found(left, right, pairs)
        if on is not None:
            delta = weighted_join(join, left.delta(), right.new(), match.ids)
            return add_delta(match, tvr, _relying(delta, on), RULE.name)
    if join.kind is JoinKind.INNER:
        on = _found(right, left, frozenset((b, a) for a, b in pairs))
        if on is not None:
            delta = weighted_join(join, left.new(), right.delta(), match.ids)
            return add_delta(match, tvr, _relying(delta, on), RULE.name)
    return False


def _relying(delta: Signed, on: frozenset[ReliedForeignKey]) -> Signed:
    ordered = tuple(sorted(on, key=repr))
    return Signed(Relying(delta.relation, ordered), delta.weight)


_Pairs = frozenset[tuple[ColumnId, ColumnId]]
"""Columns that a condition equates: of the child's side, and of the parent's."""


def _found(
    child: GroupVersions, parent: GroupVersions, pairs: _Pairs
) -> frozenset[ReliedForeignKey] | None:
    """Return the foreign keys by which no row of the child's side that was there matches one that
    comes on the parent's side, as few as can be; None if none say so."""
    memo = child.memo
    were = source_rows(memo, memo.reference(child.tvr.new, before=True))
    come = source_rows(memo, memo.reference(parent.tvr.edges[Version.DELTA, View.ROWS]))
    found = [
        one.relied | other.relied | {key}
        for key in memo.foreign_keys
        for one in _of(were, key.source, Version.OLD)
        for other in _of(come, key.key.parent, Version.DELTA)
        if _compared(key, one, other, pairs)
    ]
    return min(found, key=lambda on: (len(on), sorted(map(repr, on))), default=None)


def _of(rows: tuple[SourceRow, ...], source: str, version: Version) -> Iterator[SourceRow]:
    return (row for row in rows if row.source == source and row.version is version)


def _compared(key: ReliedForeignKey, one: SourceRow, other: SourceRow, pairs: _Pairs) -> bool:
    """Return whether the condition compares every column of a foreign key with the one it names."""
    names = zip(key.key.columns, key.key.parent_columns, strict=True)
    return all(
        any((a, b) in pairs for a in one.column(mine) for b in other.column(theirs))
        for mine, theirs in names
    )


RULE = MemoRule(
    "ForeignKeyDelta",
    Join,
    _fire,
    "Inclusion dependencies over time: rows that were there name none that come; verified in the "
    "run. Tempura 4.1 with an empty term",
    deltas=True,
    priority=_AFTER_OTHERS,
)
