"""Domain extraction: a delta recomputes only the rows or groups that the input's delta may change.

The **domain** of a change is the set of rows, or of group keys, that the delta of an input touches.
Outside of it nothing changes; inside it the old output is taken back and the new output is added
(Distributed IVM 3.2.2: ``d(v := Q) = dom join ((v := Q + dQ) - (v := Q))``)::

    existence    A = L_old semi dR          the rows of L that a changed row of R is a partner of
                 d(L op R) = dL op R_new  +  A op R_new  -  A op R_old  op: semi, anti, left, single
    states       S = states of the groups that dR touches, from the kept ones
                 d(agg R)  = finish(merge(S + dS))  -  finish(merge(S))
    groups       G = the rows of R in the groups that dR touches
                 d(agg R)  = agg(G_new)  -  agg(G_old)

The last one requires of the functions only that the same rows give the same value, to the bit. So
DISTINCT and minima that lose rows have a delta, sums of floating-point numbers do not. The keys are
those of the raw delta, even where its weights cancel: a domain may be too large, since unchanged
rows cancel, but never too small. Where R only grows, every row of A has a partner now, so R_old
alone decides whether it is new.

Bags: rows of A and G have the multiplicities that they have in L and R. NULLs: a NULL key has no
partner, but is a group like any other. Equality does not find it, so rows with a NULL key are
always in G and S. A scalar subquery (single) fails for a row with two partners. So it is evaluated
early only if neither side can lose rows: batch would then fail too. An aggregate without keys that
is compared with rows has no domain; the rows that it is compared with are kept instead, and
compared again (Distributed IVM, example 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.algebra.aggregates.functions import answer_of
from forerun.planner.algebra.aggregates.record import Answer
from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Sort,
    UnionAll,
    Version,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    connected,
    equals,
    is_deterministic,
)
from forerun.planner.algebra.types import BOOLEAN, INT, Column
from forerun.planner.memo.groups import GroupId, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference, Stamped
from forerun.planner.rules.incremental.join import weighted_join
from forerun.planner.rules.incremental.memo_rules import GroupVersions, add_delta
from forerun.planner.rules.incremental.rule import THIS_RUN
from forerun.planner.rules.join_block import plain, tvr_of
from forerun.planner.rules.methods.marks import MARKS
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed, plus, with_weight

_SOURCE = "Distributed IVM 3.2.2"
_DOMAIN, _STATES = (Version.DELTA, View.DOMAIN), (Version.DELTA, View.STATES)
_EXISTENCE = frozenset({JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.SINGLE})


def _partners(match: Match) -> bool:
    """Add a delta of a join from the left rows whose partners change (PartnersOfDomain)."""
    memo, node, ids = match.memo, match.expression.node, match.ids
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Join) or node.kind not in _EXISTENCE or tvr is None:
        return False
    left, right = (tvr_of(memo, given) for given in match.expression.inputs)
    grows = right.weight is None
    if not right.changing or not is_deterministic(node.condition):
        return False
    if not split_condition(node).pairs or (node.kind is JoinKind.LEFT and grows):
        return False  # a left join with a right side that only grows has rules of its own
    if node.kind is JoinKind.SINGLE and not (grows and left.weight is None):
        return False  # a second partner, or the row that has two, may be gone by the final run
    if grows and match.expression.origin:
        return False  # a join that a rule made as a part of another one; other rules cover it
    rows = GroupVersions(memo, left, ids)
    old, new = (plain(memo, right, before=before) for before in (True, False))
    delta = memo.reference(right.edges[Version.DELTA, View.ROWS])
    parts = []
    if left.changing:
        parts.append(weighted_join(node, rows.delta(), Signed(new), ids))
    kept = rows.old()
    concerned = Signed(Join(JoinKind.SEMI, kept.relation, delta, node.condition), kept.weight)
    if grows and node.kind is not JoinKind.SINGLE:
        alone = Join(JoinKind.ANTI, concerned.relation, old, node.condition)
        came = Signed(alone, kept.weight)
        parts.append(came if node.kind is JoinKind.SEMI else with_weight(came, ids, sign=-1))
    else:
        parts.append(weighted_join(node, concerned, Signed(new), ids))
        gone = weighted_join(node, concerned, Signed(old), ids)
        parts.append(with_weight(gone, ids, sign=-1))
    return add_delta(match, tvr, plus(tuple(parts), node.columns, ids), PARTNERS.name)


def _domain(rows: Relation, keys: tuple[Column, ...], delta: Relation, ids: ColumnIds) -> Relation:
    """Return the rows in the groups that the delta touches, and all rows with a NULL key."""
    names = tuple(ids.new(key.name, key) for key in keys)
    renamed = Project(delta, tuple((n, Ref(k)) for n, k in zip(names, keys, strict=True)))
    touched = Aggregate(renamed, names, ())
    same = conjunction(tuple(equals(k, n) for k, n in zip(keys, names, strict=True)))
    partner = Call("isnotnull", (Ref(names[0]),), BOOLEAN)
    found = connected("or", (partner, *(Call("isnull", (Ref(key),), BOOLEAN) for key in keys)))
    within = Filter(Join(JoinKind.LEFT, rows, touched, same), found)
    return Project(within, tuple((column, Ref(column)) for column in rows.columns))


def _states(match: Match) -> bool:
    """Add an alternative for the domain of an aggregate's delta that merges only the states of the
    touched groups, where AggregateDelta merges all and then drops the groups that are not."""
    memo, node, ids = match.memo, match.expression.node, match.ids
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Aggregate) or not node.keys or tvr is None:
        return False
    if not _is_read(memo, tvr.new):
        return False  # no operator above would use a delta: readers want all rows, if any
    if not all(_comes_again(column, call) for column, call in node.calls):
        return False
    domain, change = tvr.edges[_DOMAIN], tvr.edges[_STATES]
    merged = _merging(memo, domain)
    if merged.stamped.given[: len(node.keys)] != node.keys:
        return False
    columns, run = merged.stamped.given, merged.stamped.run
    before = memo.reference(merged.stamped.group, before=True)
    branches = []
    for rows, at in (
        (_domain(before, node.keys, memo.reference(change), ids), Literal("0", INT)),
        (memo.reference(change), THIS_RUN),
    ):
        items: tuple[tuple[Column, Scalar], ...] = tuple((c, Ref(c)) for c in columns)
        branches.append(Project(rows, (*items, (run, at))))
    both = UnionAll(tuple(branches), (*columns, run))
    grouped = merged.aggregate.with_inputs((both,))
    memo.equate(domain, merged.filter.with_inputs((grouped,)), STATES.name, part=True)
    return True


@dataclass(frozen=True, slots=True)
class _Merged:
    """The form in which AggregateDelta merges kept states: ``filter(aggregate(stamped))``."""

    filter: Filter
    aggregate: Aggregate
    stamped: Stamped


def _merging(memo: Memo, domain: GroupId) -> _Merged:
    """Return the operators by which AggregateDelta computes the domain of an aggregate's delta."""
    touched = next(memo.alternatives(domain)).node
    grouped = _below(memo, touched)
    stamped = _below(memo, grouped)
    if not (
        isinstance(touched, Filter)
        and isinstance(grouped, Aggregate)
        and isinstance(stamped, Stamped)
    ):
        raise TypeError(f"group {domain} is no domain of an aggregate")
    return _Merged(touched, grouped, stamped)


def _below(memo: Memo, node: Relation) -> Relation:
    """Return the operator that an operator of one input reads."""
    (given,) = node.inputs
    if not isinstance(given, Reference):
        raise TypeError(f"{given} is no reference")
    return next(memo.alternatives(given.group)).node


def _comes_again(column: Column, call: AggregateCall) -> bool:
    """Return whether recomputing a call over the same bag gives the same value to the bit in any
    order of rows, so that the recomputed old value can be taken back."""
    of_a_bag = answer_of(call) is Answer.BAG
    return of_a_bag and column.type.is_known and not column.type.is_floating


def _is_read(memo: Memo, group: GroupId) -> bool:
    """Return whether an operator above may use the delta of a group, and not only its rows."""
    waiting, seen = [group], {group}
    while waiting:
        for number in memo.group(waiting.pop()).parents:
            parent = memo.expressions[number]
            if parent.dropped or memo.group(parent.group).step:
                continue
            if not isinstance(parent.node, Project | Filter | Sort | Limit):
                return True
            if parent.group not in seen:
                seen.add(parent.group)
                waiting.append(parent.group)
    return False


def _groups(match: Match) -> bool:
    """Add a delta of an aggregate that has none: recompute the touched groups from their rows."""
    memo, node, ids = match.memo, match.expression.node, match.ids
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Aggregate) or not node.keys or tvr is None or tvr.has_delta:
        return False
    calls = [call for _, call in node.calls]
    scalars = [part for call in calls for part in (*call.args, call.where or TRUE)]
    if not all(is_deterministic(scalar) for scalar in scalars):
        return False
    if not all(_comes_again(column, call) for column, call in node.calls):
        return False
    if not all(key.type.is_known for key in node.keys):
        return False
    given = tvr_of(memo, match.expression.inputs[0])
    if not given.changing:
        return False
    delta = memo.reference(given.edges[Version.DELTA, View.ROWS])
    parts = []
    for before in (True, False):
        rows = _domain(plain(memo, given, before=before), node.keys, delta, ids)
        grouped = Signed(Aggregate(rows, node.keys, node.calls))
        parts.append(with_weight(grouped, ids, sign=-1 if before else 1))
    return add_delta(match, tvr, plus(tuple(parts), node.columns, ids), GROUPS.name)


PARTNERS = MemoRule("PartnersOfDomain", Join, _partners, _SOURCE, deltas=True, priority=1)
STATES = MemoRule(
    "StatesOfDomain", Aggregate, _states, _SOURCE, frozenset({_DOMAIN, _STATES}), priority=1
)
GROUPS = MemoRule("GroupsOfDomain", Aggregate, _groups, _SOURCE, deltas=True, priority=1)
DOMAIN: tuple[MemoRule, ...] = (PARTNERS, MARKS, STATES, GROUPS)
"""These rules have priority 1: they fire after the delta rules, which are better where they apply.
"""
