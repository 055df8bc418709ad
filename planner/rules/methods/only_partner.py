"""Keeps only the unmatched rows of one side of an inner join whose other side has unique join keys.

If R only grows and has at most one row per join key, a left row that has met its partner can be
forgotten. With U = L anti R, the rows that are still unmatched::

    d(L join R)  =  dL join R_new  +  U_old join dR  +  check(dR, R_old)

The other rules read L_old, and so keep all of L. Here U is kept instead, which is small if partners
arrive soon (an order with its lines). Cost decides between them.

Correctness: a pair of L_old and dR that U_old does not give has a left row with a partner r in
R_old. Both r and the partner r' in dR satisfy the equalities of the condition with the same left
row, so they have the same join key. So it is enough that no key of dR is a key of R_old; duplicates
within R_old, or within dR, do no harm. Bags: rows of U have the multiplicity that they have in L.
NULLs: a NULL key has no partner in any version, and is not checked. Retractions: L may take rows
back, as all terms are linear in it; R may not.

A key that the query itself proves (that of a DISTINCT) holds; where its delta takes back an old row
and adds it again, no row of U_old is a partner of either. A key that an author declares may not
hold, and rows would be lost silently. Hence ``check``: it returns no rows, and raises an error in
the run if a row of dR has a key that R_old has. As a part of the delta, it is executed by every
plan that uses this law, and its cost is counted; it reads R_old, which the first term keeps anyway.
The condition has equalities between columns of one type, perhaps with others, so "the same key" is
what the engine's own equality says.
"""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
)
from forerun.planner.algebra.scalar import (
    FALSE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    equals,
    is_deterministic,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, STRING, Column, DataType
from forerun.planner.memo.groups import Tvr
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.tree import original
from forerun.planner.props.dependencies import closure, facts
from forerun.planner.props.keys import NamedKeys, is_key
from forerun.planner.rules.incremental.join import weighted_join
from forerun.planner.rules.incremental.memo_rules import GroupVersions, add_delta
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.rules.methods.unmatched import only_grows
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed, integer, plus

_AFTER_OTHERS = 1
REPEATED = (
    "a key that came before has come again: {names}. A source of this report declares a key that "
    "does not hold. Take the key out of the report, or correct the data, and clear the day. Rows: "
)
"""The error message of a run in which a declared key does not hold."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """The inputs of the join. ``one`` is the number (0 or 1) of the ``unique`` input, which has at
    most one row per join key; ``proven`` is True if that follows from the query alone."""

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
    """Return a relation without rows that raises an error in the run if a key comes again.

    One count over the whole delta decides, so that an engine cannot evaluate the error before it
    knows the count. The columns are computed by the same test as the filter: if they were plain
    NULLs, Spark would find that operators above reject them, and remove the check.
    """
    names = tuple(ids.new(column.name, column) for column in key)
    before = unique.memo.reference(unique.tvr.new, before=True)
    old = Project(before, tuple((n, Ref(c)) for n, c in zip(names, key, strict=True)))
    same = conjunction(tuple(equals(c, n) for c, n in zip(key, names, strict=True)))
    again = Join(JoinKind.SEMI, unique.delta().relation, old, same)
    count = Column(ids.next_id(), "again", BIGINT)
    counted = Aggregate(again, (), ((count, AggregateCall("count", ())),))
    text = Literal(REPEATED.format(names=", ".join(column.name for column in key)), STRING)
    message = Call("||", (text, Call("cast", (Ref(count),), STRING)), STRING)
    some: Scalar = Call(">", (Ref(count), integer(0)), BOOLEAN)

    def error(kind: DataType) -> Scalar:
        return Call("cast", (Call("raise_error", (message,), BOOLEAN),), kind)

    none = Filter(counted, Call("case", (some, error(BOOLEAN), FALSE), BOOLEAN))
    values = (Call("case", (some, error(c.type), Literal(None, c.type)), c.type) for c in columns)
    return Project(none, tuple(zip(columns, values, strict=True)))


RULE = MemoRule(
    "UnmatchedRowsOfInnerJoin",
    Join,
    _fire,
    "Key-aware state: a row that met its only partner leaves the state; declared keys are checked",
    deltas=True,
    priority=_AFTER_OTHERS,
)
