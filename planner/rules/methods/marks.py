"""Deltas of mark joins by domain extraction; a mark may be NULL, which makes the domain larger.

::

    L mark R     each row of L with whether some row of R satisfies the condition: true if one does,
                 else NULL if for one of them it is NULL, else false
    A            the rows of L for which the condition may be true or NULL with a changed row of R
    d(L mark R)  =  dL mark R_new  +  A mark R_new  -  A mark R_old

With equalities ``l = r`` in the condition, a changed row of R does not affect a row of L for which
one of them is false. So A consists of the rows whose keys are those of a changed row, the rows with
a NULL key, and, if a changed row has a NULL key, all rows. If NULL does not count
(``(l = r) <=> true``), the first are enough. Further conditions could only make A smaller, so they
are ignored: rows whose mark has not changed cancel.

Bags: A has the rows of L with their multiplicities and weights. Retractions are allowed on either
side: the terms are linear in L, and the marks before and after are each computed from all of R.
Source: domain extraction for existential quantification, Distributed IVM 3.2.2; three-valued marks
after Neumann and Kemper, "Unnesting arbitrary queries", BTW 2015.
"""

from __future__ import annotations

from forerun.planner.algebra.predicates import equality, split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Version,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    connected,
    equals,
    is_deterministic,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.memo.groups import View
from forerun.planner.rules.incremental.join import weighted_join
from forerun.planner.rules.incremental.memo_rules import GroupVersions, add_delta
from forerun.planner.rules.join_block import plain, tvr_of
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed, integer, plus, with_weight


def _marks(match: Match) -> bool:
    memo, node, ids = match.memo, match.expression.node, match.ids
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Join) or node.kind is not JoinKind.MARK or tvr is None:
        return False
    left, right = (tvr_of(memo, given) for given in match.expression.inputs)
    pairs = split_condition(node).pairs
    unsure = tuple(pair for part in conjuncts(node.condition) if (pair := equality(part)))
    doubtful = {column.id for pair in unsure for column in pair}
    if not right.changing or not pairs or not is_deterministic(node.condition):
        return False
    rows = GroupVersions(memo, left, ids)
    old, new = (plain(memo, right, before=before) for before in (True, False))
    delta = memo.reference(right.edges[Version.DELTA, View.ROWS])
    kept = rows.old()
    concerned = Signed(_concerned(kept.relation, pairs, doubtful, delta, ids), kept.weight)
    parts = [weighted_join(node, concerned, Signed(new), ids)]
    parts.append(with_weight(weighted_join(node, concerned, Signed(old), ids), ids, sign=-1))
    if left.changing:
        parts.insert(0, weighted_join(node, rows.delta(), Signed(new), ids))
    return add_delta(match, tvr, plus(tuple(parts), node.columns, ids), MARKS.name)


def _concerned(
    rows: Relation,
    pairs: tuple[tuple[Column, Column], ...],
    doubtful: set[ColumnId],
    delta: Relation,
    ids: ColumnIds,
) -> Relation:
    """Return the rows of the left side whose mark may change. ``doubtful`` are the columns for
    which a NULL makes the condition NULL."""
    names = tuple(ids.new(key.name, key) for _, key in pairs)
    renamed = Project(
        delta, tuple((name, Ref(key)) for name, (_, key) in zip(names, pairs, strict=True))
    )
    changed = Aggregate(renamed, names, ())
    same = conjunction(tuple(equals(mine, n) for (mine, _), n in zip(pairs, names, strict=True)))
    if not doubtful:
        return Join(JoinKind.SEMI, rows, changed, same)
    nulls = connected("or", tuple(_is_null(key) for _, key in pairs if key.id in doubtful))
    count = Column(ids.next_id(), "__unknown", BIGINT)
    one = Call("case", (nulls, integer(1), Literal(None, BIGINT)), BIGINT)
    unknowns = Aggregate(delta, (), ((count, AggregateCall("count", (one,))),))
    both = Join(JoinKind.INNER, Join(JoinKind.LEFT, rows, changed, same), unknowns, TRUE)
    found = connected("or", (
        Call("isnotnull", (Ref(names[0]),), BOOLEAN),
        *(_is_null(mine) for mine, _ in pairs if mine.id in doubtful),
        Call(">", (Ref(count), integer(0)), BOOLEAN),
    ))  # fmt: skip
    return Project(Filter(both, found), tuple((c, Ref(c)) for c in rows.columns))


def _is_null(column: Column) -> Scalar:
    return Call("isnull", (Ref(column),), BOOLEAN)


MARKS = MemoRule(
    "MarksOfDomain",
    Join,
    _marks,
    "Distributed IVM 3.2.2, existential quantification; of marks, which are NULL where it is not "
    "known",
    deltas=True,
    priority=1,
)
