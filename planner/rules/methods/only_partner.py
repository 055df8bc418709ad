"""State of what has not matched yet, of an inner join whose one side is unique on the join key.

Partners come and do not go where R only grows. If R has at most one row of each join key, a
left row that has met its partner is done. So with U = L anti R, the rows that are still alone::

    d(L join R)  =  dL join R_new  +  U_old join dR  +  check(dR, R_old)

The other rules look up L_old, and so keep all of L; here U is kept instead, which is little where
partners come soon (an order comes with its lines). By cost one or the other is chosen.

Why it is right: a pair of L_old and dR that U_old does not give has a left row with a partner r in
R_old. That and its partner r' in dR satisfy the equalities of the condition with the same left row,
so r and r' have the same join key. So all that has to hold is that no key of dR is one of R_old;
duplicates within R_old, or within dR, do no harm. Bags: rows of U have the multiplicity that they
have in L. NULLs: a NULL key has no partner, in any version, and is not checked. Retractions: of L,
all terms are linear in it; R must have none.

A key that the query itself proves (that of DISTINCT) holds; where its delta takes back a row that
was there, and brings it again, no row of U_old is a partner of either. A key that an author
declares of a source may not hold, and rows would be lost without a word. So there is ``check``: no
rows, or an error, if a row of dR has a key that R_old has. It is a part of the delta like the
others: whatever plan uses the law executes it, it reads R_old (which is kept for the first term
anyway), and it is paid for. The condition is one of equalities between columns of one type, beside
others, so that "the same key" is what the engine's own equality says.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.algebra.predicates import split_condition
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
)
from planner.algebra.scalar import (
    FALSE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    equals,
    is_deterministic,
)
from planner.algebra.types import BIGINT, BOOLEAN, STRING, Column
from planner.memo.memo import Memo, Tvr
from planner.memo.tree import original
from planner.props.dependencies import closure, facts
from planner.props.keys import NamedKeys, is_key
from planner.rules.incremental.join import weighted_join
from planner.rules.methods.join_block import tvr_of
from planner.rules.methods.unmatched import only_grows
from planner.search.incremental import GroupVersions, add_delta
from planner.search.rule import Match, MemoRule
from planner.tvr.signed import ColumnIds, Signed, integer, plus

_AFTER_OTHERS = 1
REPEATED = (
    "a key that came before has come again: {names}. A source of this report declares a key that "
    "does not hold. Take the key out of the report, or correct the data, and clear the day. Rows: "
)
"""What a run fails with if a declared key does not hold."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """``one``: the input (0 or 1) that has at most one row of each join key; ``proven``: by the
    query itself."""

    many: GroupVersions
    unique: GroupVersions
    one: int
    proven: bool


def _sides(match: Match) -> _Sides | None:
    memo, node = match.memo, match.expression.node
    if not isinstance(node, Join) or node.kind is not JoinKind.INNER:
        return None
    if not is_deterministic(node.condition) or not split_condition(node).pairs:
        return None
    versions = [GroupVersions(memo, tvr_of(memo, i), match.ids) for i in match.expression.inputs]
    if not all(side.changing for side in versions):
        return None
    for one in (1, 0):
        unique = versions[one]
        if not only_grows(memo, unique.tvr):
            continue
        proven = _is_unique(memo, unique.tvr, node, one, {})
        if proven or (memo.keys and _is_unique(memo, unique.tvr, node, one, memo.keys)):
            return _Sides(versions[1 - one], unique, one, proven)
    return None


def _is_unique(memo: Memo, tvr: Tvr, join: Join, side: int, source_keys: NamedKeys) -> bool:
    known = facts(original(memo, tvr.new), source_keys, {})
    condition = split_condition(join)
    key = (condition.left, condition.right)[side]
    return is_key(closure((column.id for column in key), known.dependencies), known.keys)


def _fire(match: Match) -> bool:
    found, tvr = _sides(match), match.memo.tvr_of(match.expression.group)
    join, memo, ids = match.expression.node, match.memo, match.ids
    if found is None or tvr is None or not isinstance(join, Join):
        return False
    many, unique = found.many, found.unique
    inputs = (join.left, join.right)
    rows, partners = inputs[1 - found.one], inputs[found.one]
    anti = memo.add(Join(JoinKind.ANTI, rows, partners, join.condition), RULE.name)
    alone = Signed(memo.reference(tvr_of(memo, memo.reference(anti)).new, before=True))
    terms = ((many.delta(), unique.new()), (alone, unique.delta()))
    parts = [weighted_join(join, *(pair if found.one else pair[::-1]), ids) for pair in terms]
    if not found.proven:
        condition = split_condition(join)
        key = (condition.left, condition.right)[found.one]
        parts.append(Signed(_check(unique, key, join.columns, ids)))
    return add_delta(match, tvr, plus(tuple(parts), join.columns, ids), RULE.name)


def _check(
    unique: GroupVersions, key: tuple[Column, ...], columns: tuple[Column, ...], ids: ColumnIds
) -> Relation:
    """No rows; an error if a key has come again. The count is of all of the delta at once, so that
    no engine can ask for the error before it knows whether there is any."""
    names = tuple(ids.new(column.name, column) for column in key)
    before = unique.memo.reference(unique.tvr.new, before=True)
    old = Project(before, tuple((n, Ref(c)) for n, c in zip(names, key, strict=True)))
    same = conjunction(tuple(equals(c, n) for c, n in zip(key, names, strict=True)))
    again = Join(JoinKind.SEMI, unique.delta().relation, old, same)
    count = Column(ids.next_id(), "again", BIGINT)
    counted = Aggregate(again, (), ((count, AggregateCall("count", ())),))
    text = Literal(REPEATED.format(names=", ".join(column.name for column in key)), STRING)
    message = Call("||", (text, Call("cast", (Ref(count),), STRING)), STRING)
    error = Call("cast", (Call("raise_error", (message,), BOOLEAN),), BOOLEAN)
    some: Scalar = Call(">", (Ref(count), integer(0)), BOOLEAN)
    none = Filter(counted, Call("case", (some, error, FALSE), BOOLEAN))
    return Project(none, tuple((c, Literal(None, c.type)) for c in columns))


RULE = MemoRule(
    "UnmatchedRowsOfInnerJoin",
    Join,
    _fire,
    "Key-aware state: a row that met its only partner leaves the state; declared keys are checked",
    deltas=True,
    priority=_AFTER_OTHERS,
)
