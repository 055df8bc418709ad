"""The delta rules as rules of the memo: TVR-generating rules (Tempura 4.1).

A delta rule builds the delta of an operator's output from versions of its inputs. Here versions are
references to groups, so what it builds is one more way to have the DELTA group, and its parts may
be had in every way their own groups know.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from planner.algebra.relational import (
    Aggregate,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    Version,
)
from planner.algebra.scalar import Ref
from planner.algebra.types import INT, Column
from planner.contract.plan_v1 import RUN_COLUMN
from planner.errors import Reason
from planner.memo.memo import Memo, Tvr, View
from planner.memo.reference import Reference, Stamped
from planner.props.repeatable import Repeats
from planner.rules import catalog
from planner.rules.incremental.join import LEFT_LINEAR
from planner.rules.incremental.rule import THIS_RUN, Applies, Input, Rule, Versions
from planner.rules.incremental.rule import Stamped as StampedRows
from planner.rules.incremental.rule import View as KeyedView
from planner.search.rule import Match, MemoRule
from planner.tvr.signed import ColumnIds, Signed, with_weight


def input_of(memo: Memo, reference: Reference) -> Input:
    """What a delta rule may know of an input."""
    tvr = _tvr(memo, reference)
    return Input(reference, tvr.changing, tvr.weight is not None)


def _tvr(memo: Memo, reference: Reference) -> Tvr:
    tvr = memo.tvr_of(reference.group)
    if tvr is None:
        raise ValueError(f"group {reference.group} is no version of a TVR")
    return tvr


@dataclass(frozen=True, slots=True)
class GroupVersions:
    """Versions of an input as references (:class:`planner.rules.incremental.rule.Versions`).

    ``group``: the snapshot that is kept, where that is not the TVR's own rows (states)."""

    memo: Memo
    tvr: Tvr
    ids: ColumnIds
    view: View = View.ROWS

    @property
    def changing(self) -> bool:
        return self.tvr.changing

    def delta(self) -> Signed:
        group = self.tvr.edges[Version.DELTA, View.ROWS]
        return Signed(self.memo.reference(group), self.tvr.weight)

    def old(self) -> Signed:
        return self._snapshot(before=self.tvr.changing)

    def new(self) -> Signed:
        return self._snapshot(before=False)

    def _snapshot(self, *, before: bool) -> Signed:
        weighted = self.tvr.edges.get((Version.NEW, View.WEIGHTED))
        if weighted is None:
            return Signed(self.memo.reference(self.tvr.new, before=before))
        return Signed(self.memo.reference(weighted, before=before), self.tvr.weight)

    def stamped(self) -> StampedRows:
        group = self.memo.group(self.tvr.edges[Version.NEW, self.view])
        run = Column(self.ids.next_id(), RUN_COLUMN, INT)
        return StampedRows(Stamped(group.id, group.columns, run), run, THIS_RUN)


def memo_rule(rule: Rule) -> MemoRule:
    """A delta rule as a rule of the memo."""

    def fire(match: Match) -> bool:
        memo, node = match.memo, match.expression.node
        tvr = memo.tvr_of(match.expression.group)
        inputs = tuple(input_of(memo, i) for i in match.expression.inputs)
        if tvr is None or not tvr.changing or not any(i.changing for i in inputs):
            return False
        applies = rule.applies(node, inputs)
        if not isinstance(applies, Applies):
            return False
        versions = tuple(
            GroupVersions(memo, _tvr(memo, i), match.ids) for i in match.expression.inputs
        )
        if isinstance(rule.method, KeyedView):
            return _add_view(match, tvr, rule.name, rule.method, versions[0], applies)
        return add_delta(match, tvr, rule.method(node, versions, match.ids), rule.name)

    return MemoRule(rule.name, rule.operator, fire, rule.source, deltas=True)


def add_delta(match: Match, tvr: Tvr, delta: Signed, origin: str) -> bool:
    """One more way to have a TVR's delta. The first one decides whether it is signed; one that is
    less sure (signed, where it is known that nothing is taken back) is left out. Rows that are not
    the same when they are computed again have none; if only rounding makes them others, what takes
    nothing back may still be added."""
    memo, ids = match.memo, match.ids
    if tvr.repeats is Repeats.CHOSEN or (tvr.repeats is Repeats.ROUNDED and delta.weight):
        return False
    known = tvr.edges.get((Version.DELTA, View.ROWS))
    if known is None:
        tvr.weight = delta.weight
        rows = memo.group(tvr.new).columns
        memo.link(tvr, Version.DELTA, View.ROWS, _in_order(delta, rows), origin)
        if delta.weight is not None:
            _add_weighted(match, tvr)
        return True
    if tvr.weight is None and delta.weight is not None:
        return False
    if tvr.weight is not None:
        delta = with_weight(delta, ids)
        if delta.weight is None:
            raise ValueError("with_weight made no weight")
        items = (*((c, Ref(c)) for c in delta.columns), (tvr.weight, Ref(delta.weight)))
        delta = Signed(Project(delta.relation, items), tvr.weight)
    memo.equate(known, _in_order(delta, memo.group(tvr.new).columns), origin, part=True)
    return True


def _in_order(delta: Signed, rows: tuple[Column, ...]) -> Relation:
    wanted = rows if delta.weight is None else (*rows, delta.weight)
    if delta.relation.columns == wanted:
        return delta.relation
    return Project(delta.relation, tuple((c, Ref(c)) for c in wanted))


def _add_weighted(match: Match, tvr: Tvr) -> None:
    """The rows with their weights, as they are kept before consolidation."""
    if tvr.weight is None:
        raise ValueError("a TVR that takes nothing back has no weights")
    rows = with_weight(Signed(match.memo.reference(tvr.new)), match.ids)
    if rows.weight is None:
        raise ValueError("with_weight made no weight")
    items = (*((c, Ref(c)) for c in rows.columns), (tvr.weight, Ref(rows.weight)))
    relation = Project(rows.relation, items)
    match.memo.link(tvr, Version.NEW, View.WEIGHTED, relation, "WeightOfRows")


def _add_view(
    match: Match, tvr: Tvr, name: str, view: KeyedView, given: Versions, applies: Applies
) -> bool:
    """The keyed view of an aggregate: states of the snapshot and of the delta, the rows from the
    states, and their change from the states that this run wrote."""
    memo, node, ids = match.memo, match.expression.node, match.ids
    signed = match.memo.tvr_of(match.expression.inputs[0].group)
    if signed is None:
        return False
    retracts = signed.weight is not None
    kind = View.LOSSES if applies.needs else View.STATES
    if (Version.NEW, kind) in tvr.edges:
        return False  # the same aggregate of another expression of the group
    columns = view.columns(node, retracts, ids)
    whole = view.partial(node, given.new(), retracts, columns, ids)
    memo.link(tvr, Version.NEW, kind, whole, name)
    change = view.partial(node, given.delta(), retracts, columns, ids)
    memo.link(tvr, Version.DELTA, kind, change, name)
    if view.singles is not None:
        singles = view.singles(node, given.delta(), retracts, columns, ids)
        memo.link(tvr, Version.DELTA, View.SINGLES, singles, name)
    states = memo.reference(tvr.edges[Version.NEW, kind])
    rows = given.new() if applies.needs else None
    memo.equate(tvr.new, view.merge(node, states, retracts, rows, ids), name, part=True)
    if view.delta is not None:
        versions = GroupVersions(memo, tvr, ids, kind)
        add_delta(match, tvr, view.delta(node, versions, retracts, ids), name)
    return True


def _source_delta(match: Match) -> bool:
    node = match.expression.node
    tvr = match.memo.tvr_of(match.expression.group)
    if not isinstance(node, Scan) or tvr is None or not tvr.changing:
        return False
    if node.source not in match.memo.retracting:
        delta = Scan(node.source, node.scanned, Version.DELTA)
        return add_delta(match, tvr, Signed(delta), SOURCE_DELTA.name)
    weight = match.ids.weight()
    delta = Scan(node.source, (*node.scanned, weight), Version.DELTA)
    return add_delta(match, tvr, Signed(delta, weight), SOURCE_DELTA.name)


def _split_join(match: Match) -> bool:
    """A join from what was kept of an append-only input and from its delta, each by itself."""
    memo, node = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Join) or tvr is None or node.kind not in LEFT_LINEAR:
        return False
    if tvr.repeats is Repeats.CHOSEN:
        return False  # the other side would be computed twice
    found = False
    for side in (0, 1) if node.kind is JoinKind.INNER else (0,):
        given = _tvr(memo, match.expression.inputs[side])
        if not given.changing or given.weight is not None:
            continue
        delta = memo.reference(given.edges[Version.DELTA, View.ROWS])
        branches = []
        for part in (memo.reference(given.new, before=True), delta):
            inputs = list(node.inputs)
            inputs[side] = part
            branches.append(node.with_inputs(tuple(inputs)))
        parts = UnionAll(tuple(branches), node.columns)
        memo.link(tvr, Version.NEW, View.SPLIT, parts, SPLIT_JOIN.name)
        found = True
    return found


SPLIT_JOIN = MemoRule(
    "JoinOfOldAndDelta",
    Join,
    _split_join,
    "Tempura 4.1, merge below the join: linear in the input that is split, so what is kept of it "
    "stays where it is, and the delta need not be written to be joined.",
    deltas=True,
)
SOURCE_DELTA = MemoRule(
    "SourceDelta",
    Scan,
    _source_delta,
    "Tempura 5.2: deliveries; of a changelog with the weights that they come with.",
)
TVR_GENERATING: tuple[MemoRule, ...] = (
    SOURCE_DELTA,
    *(memo_rule(rule) for rule in catalog.INCREMENTAL),
    SPLIT_JOIN,
)


def without(*names: str) -> tuple[MemoRule, ...]:
    """The TVR-generating rules but these."""
    return tuple(rule for rule in TVR_GENERATING if rule.name not in names)


def reason(memo: Memo, node: Relation, in_use: Container[str]) -> Reason | None:
    """Why an operator has no delta, although it changes: what its rules say, or that the one that
    covers it is not among those that were tried. None if its inputs are what it waits for."""
    given = [i for i in node.inputs if isinstance(i, Reference)]
    found = catalog.find(node, tuple(input_of(memo, i) for i in given))
    if isinstance(found, Reason):
        return found
    below = (memo.tvr_of(i.group) for i in given)
    if not all(tvr is None or not tvr.changing or tvr.has_delta for tvr in below):
        return None
    return _held_back(memo, node) if found[0].name in in_use else Reason.NOT_IN_USE


def _held_back(memo: Memo, node: Relation) -> Reason | None:
    """Why what a rule covers has no delta all the same."""
    tvr = memo.tvr_of(memo.add(node))
    if tvr is None or tvr.has_delta:
        return None
    if tvr.repeats is Repeats.ALWAYS:
        return Reason.RETRACTING_INPUT if isinstance(node, Aggregate) else None
    rounded = tvr.repeats is Repeats.ROUNDED
    return Reason.ROUNDED if rounded else Reason.NOT_DETERMINISTIC
