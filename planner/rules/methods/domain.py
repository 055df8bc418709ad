"""Domain extraction: a change is looked for only where the delta says that there may be one.

The **domain** of a change is the set of rows, or of group keys, that the delta of an input touches.
Outside of it nothing changes, and inside it what was goes and what is comes (Distributed IVM 3.2.2:
``d(v := Q) = dom join ((v := Q + dQ) - (v := Q))``)::

    existence    A = L_old semi dR          the rows of L that a changed row of R is a partner of
                 d(L op R) = dL op R_new  +  A op R_new  -  A op R_old        op: semi, anti, left
    states       S = states of the groups that dR touches, from the kept ones
                 d(agg R)  = finish(merge(S + dS))  -  finish(merge(S))
    groups       G = the rows of R in the groups that dR touches
                 d(agg R)  = agg(G_new)  -  agg(G_old)

The last one asks of the functions only that the same rows give the same value, to the bit: DISTINCT
and minima that lose rows have a delta by it, sums of floating point numbers not. Keys are those of
the raw delta, whatever its weights sum up to: a domain may be too large, since what has not
changed cancels, never too small. Where R only grows, a row of A has a partner now, so one look at
R_old says whether it is new.

Bags: rows of A and G have the multiplicities that they have in L and R. NULLs: a NULL key has no
partner, but is a group like any other; equality does not find it, so the rows with a NULL key are
always in G and S. An aggregate without keys that is compared with rows has no domain: what it is
compared with is kept instead, piece by piece, and compared again (Distributed IVM, example 3.3).
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
    Limit,
    Project,
    Relation,
    Sort,
    UnionAll,
    Version,
)
from planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    equals,
    is_deterministic,
)
from planner.algebra.types import BOOLEAN, INT, Column
from planner.memo.memo import GroupId, Memo, Tvr, View
from planner.memo.reference import Reference
from planner.rules.incremental import aggregate
from planner.rules.incremental.join import weighted_join
from planner.rules.incremental.rule import Stamped
from planner.rules.incremental.rule import View as KeyedView
from planner.rules.methods.join_block import tvr_of
from planner.search.incremental import GroupVersions, add_delta
from planner.search.rule import Match, MemoRule
from planner.tvr.signed import ColumnIds, Signed, plus, with_weight

_SOURCE = "Distributed IVM 3.2.2"
_OF_A_BAG = frozenset({
    "count", "sum", "avg", "mean", "min", "max", "bool_and", "bool_or", "every", "some", "any",
    "bit_and", "bit_or", "bit_xor",
})  # fmt: skip
"""Functions of which the order of the rows is no matter."""
_EXISTENCE = frozenset({JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT})


def _plain(memo: Memo, tvr: Tvr, *, before: bool) -> Reference:
    """Rows without weights."""
    return memo.reference(tvr.new, before=before and tvr.changing)


def _partners(match: Match) -> bool:
    """Left rows whose partners change."""
    memo, node, ids = match.memo, match.expression.node, match.ids
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Join) or node.kind not in _EXISTENCE or tvr is None:
        return False
    left, right = (tvr_of(memo, given) for given in match.expression.inputs)
    grows = right.weight is None
    if not right.changing or not is_deterministic(node.condition):
        return False
    if not split_condition(node).pairs or (node.kind is JoinKind.LEFT and grows):
        return False  # of left joins with what grows, those whose partners change have rules
    rows = GroupVersions(memo, left, ids)
    old, new = (_plain(memo, right, before=before) for before in (True, False))
    delta = memo.reference(right.edges[Version.DELTA, View.ROWS])
    parts = []
    if left.changing:
        parts.append(weighted_join(node, rows.delta(), Signed(new), ids))
    kept = rows.old()
    concerned = Signed(Join(JoinKind.SEMI, kept.relation, delta, node.condition), kept.weight)
    if grows:
        alone = Join(JoinKind.ANTI, concerned.relation, old, node.condition)
        came = Signed(alone, kept.weight)
        parts.append(came if node.kind is JoinKind.SEMI else with_weight(came, ids, sign=-1))
    else:
        parts.append(weighted_join(node, concerned, Signed(new), ids))
        gone = weighted_join(node, concerned, Signed(old), ids)
        parts.append(with_weight(gone, ids, sign=-1))
    return add_delta(match, tvr, plus(tuple(parts), node.columns, ids), PARTNERS.name)


def _domain(rows: Relation, keys: tuple[Column, ...], delta: Relation, ids: ColumnIds) -> Relation:
    """The rows in the groups that the delta touches; those with a NULL key, always."""
    names = tuple(ids.new(key.name, key) for key in keys)
    renamed = Project(delta, tuple((n, Ref(k)) for n, k in zip(names, keys, strict=True)))
    touched = Aggregate(renamed, names, ())
    same = conjunction(tuple(equals(k, n) for k, n in zip(keys, names, strict=True)))
    found: Scalar = Call("isnotnull", (Ref(names[0]),), BOOLEAN)
    for key in keys:
        found = Call("or", (found, Call("isnull", (Ref(key),), BOOLEAN)), BOOLEAN)
    within = Filter(Join(JoinKind.LEFT, rows, touched, same), found)
    return Project(within, tuple((column, Ref(column)) for column in rows.columns))


@dataclass(frozen=True, slots=True)
class _Touched:
    """The states of the touched groups: what was kept of them as of one run, and what came."""

    relation: Relation
    run: Column
    changing: bool = True

    def stamped(self) -> Stamped:
        return Stamped(self.relation, self.run, Literal("1", INT))

    def delta(self) -> Signed:
        raise NotImplementedError("only all of them together")

    old = new = delta


def _states(match: Match) -> bool:
    """Groups of which states are kept: only the touched ones are merged."""
    memo, node, ids = match.memo, match.expression.node, match.ids
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Aggregate) or not node.keys or tvr is None:
        return False
    if not _is_read(memo, tvr.new):
        return False  # whole, if at all
    if not all(_comes_again(column, call) for column, call in node.calls):
        return False
    given = tvr_of(memo, match.expression.inputs[0])
    whole = tvr.edges.get((Version.NEW, View.STATES))
    change = tvr.edges.get((Version.DELTA, View.STATES))
    view, signed = aggregate.MERGED.method, given.weight is not None
    if whole is None or change is None or not isinstance(view, KeyedView) or view.delta is None:
        return False
    if not _same(memo.group(change).columns, view.columns(node, signed, ids)):
        return False  # they are the states of another expression of the group
    came = memo.reference(change)
    old = _domain(memo.reference(whole, before=True), node.keys, came, ids)
    run = Column(ids.next_id(), "__run", INT)
    branches = tuple(
        Project(rows, (*((c, Ref(c)) for c in came.columns), (run, Literal(at, INT))))
        for rows, at in ((old, "0"), (came, "1"))
    )
    both = UnionAll(branches, (*came.columns, run))
    delta = view.delta(node, _Touched(both, run), signed, ids)
    return add_delta(match, tvr, delta, STATES.name)


def _comes_again(column: Column, call: AggregateCall) -> bool:
    """Whether a value that is computed once more is the same to the bit, in whatever order the rows
    are, so that it takes back what it was."""
    return call.name in _OF_A_BAG and column.type.is_known and not column.type.is_floating


def _is_read(memo: Memo, group: GroupId) -> bool:
    """Whether something above may want the change of a group, and not only its rows."""
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


def _same(one: tuple[Column, ...], other: tuple[Column, ...]) -> bool:
    return [(c.name, c.type) for c in one] == [(c.name, c.type) for c in other]


def _groups(match: Match) -> bool:
    """Groups of which no states can be kept: the touched ones, from their rows."""
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
        rows = _domain(_plain(memo, given, before=before), node.keys, delta, ids)
        grouped = Signed(Aggregate(rows, node.keys, node.calls))
        parts.append(with_weight(grouped, ids, sign=-1 if before else 1))
    return add_delta(match, tvr, plus(tuple(parts), node.columns, ids), GROUPS.name)


PARTNERS = MemoRule("PartnersOfDomain", Join, _partners, _SOURCE, deltas=True, priority=1)
STATES = MemoRule("StatesOfDomain", Aggregate, _states, _SOURCE, deltas=True, priority=1)
GROUPS = MemoRule("GroupsOfDomain", Aggregate, _groups, _SOURCE, deltas=True, priority=1)
DOMAIN: tuple[MemoRule, ...] = (PARTNERS, STATES, GROUPS)
"""After the rules (priority) that say more where they apply."""
