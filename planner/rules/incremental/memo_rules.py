"""The delta rules as memo rules; Tempura 4.1 calls them TVR-generating rules.

A delta rule builds the delta of an operator from the versions of its inputs. Here these versions
are references to groups, so the result is an alternative in the DELTA group, and each of its parts
can be computed by any alternative of its own group.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    Version,
)
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import INT, Column
from forerun.planner.contract.plan_v1 import RUN_COLUMN
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference, Stamped
from forerun.planner.props.repeatable import Repeats
from forerun.planner.rules.incremental import catalog
from forerun.planner.rules.incremental.join import LEFT_LINEAR
from forerun.planner.rules.incremental.rule import (
    THIS_RUN,
    Applies,
    DeltaRule,
    Input,
    KeyedState,
    StampedRows,
    Versions,
)
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed, with_weight

PASSES_ON = (Project, Filter, Generate, UnionAll)
"""Operators that read each row of their inputs once; their rules refuse what is not deterministic
of itself."""


def input_of(memo: Memo, reference: Reference) -> Input:
    """Return what a delta rule may know about an input."""
    tvr = _tvr(memo, reference)
    return Input(reference, tvr.changing, tvr.weight is not None)


def _tvr(memo: Memo, reference: Reference) -> Tvr:
    tvr = memo.tvr_of(reference.group)
    if tvr is None:
        raise ValueError(f"group {reference.group} is no version of a TVR")
    return tvr


@dataclass(frozen=True, slots=True)
class GroupVersions:
    """The versions of an input as references: implements
    :class:`forerun.planner.rules.incremental.rule.Versions`.

    ``view`` is the view whose NEW version ``stamped`` reads: the rows, or states."""

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


def memo_rule(rule: DeltaRule) -> MemoRule:
    """Wrap a delta rule as a memo rule that matches changing expressions of its operator."""

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
        if isinstance(rule.method, KeyedState):
            merges, form = applies.merges_input, inputs[0].signed
            if memo.repairable and not form:
                form = _can_take_back(rule, rule.method, node, inputs[0], match.ids.fork())
            return _add_view(match, tvr, rule.name, rule.method, versions[0], merges, form)
        return add_delta(match, tvr, rule.method(node, versions, match.ids), rule.name)

    return MemoRule(rule.name, rule.operator, fire, rule.source, deltas=True)


def _can_take_back(
    rule: DeltaRule, view: KeyedState, node: Relation, given: Input, ids: ColumnIds
) -> bool:
    """Return whether the states of an input that takes nothing back have another form for inputs
    that do, by the same rule: then that form is kept, and a repair can take rows back from it."""
    applies = rule.applies(node, (replace(given, signed=True),))
    if not isinstance(applies, Applies) or applies.merges_input:
        return False
    forms = [[c.type for c in view.columns(node, signed, ids)] for signed in (False, True)]
    return forms[0] != forms[1]


def add_delta(match: Match, tvr: Tvr, delta: Signed, origin: str) -> bool:
    """Add an alternative for the delta of a TVR; return whether it was added.

    The first delta decides whether the delta is signed. A signed one is refused where an unsigned
    one is known, which proves that nothing is taken back. A TVR whose recomputation may choose
    other rows gets a delta only if nothing is taken back and it passes on what its input has
    chosen: the rule that gave the input a delta has seen to it that nothing else reads these rows.
    One that differs only in rounding gets only unsigned deltas."""
    memo, ids, node = match.memo, match.ids, match.expression.node
    if tvr.repeats is Repeats.CHOSEN and not (delta.weight is None and isinstance(node, PASSES_ON)):
        return False
    if tvr.repeats is Repeats.ROUNDED and delta.weight:
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
    """Link the view ``weighted`` of a TVR: its rows with a weight, before consolidation."""
    if tvr.weight is None:
        raise ValueError("a TVR that takes nothing back has no weights")
    rows = with_weight(Signed(match.memo.reference(tvr.new)), match.ids)
    if rows.weight is None:
        raise ValueError("with_weight made no weight")
    items = (*((c, Ref(c)) for c in rows.columns), (tvr.weight, Ref(rows.weight)))
    relation = Project(rows.relation, items)
    match.memo.link(tvr, Version.NEW, View.WEIGHTED, relation, "WeightOfRows")


def _add_view(
    match: Match,
    tvr: Tvr,
    name: str,
    view: KeyedState,
    given: Versions,
    merges_input: bool,
    retracts: bool,
) -> bool:
    """Add the keyed view of an aggregate: the states of its snapshot and of its delta, the rows
    merged from the states, and the delta of the rows from the states that this run wrote, with its
    domain. ``retracts``: the states are of the form from which rows can be taken back."""
    memo, node, ids = match.memo, match.expression.node, match.ids
    kind = View.LOSSES if merges_input else View.STATES
    if (Version.NEW, kind) in tvr.edges:
        return False  # the same aggregate of another expression of the group
    columns = view.columns(node, retracts, ids)
    whole = view.partial(node, given.new(), retracts, columns, ids)
    memo.link(tvr, Version.NEW, kind, whole, name)
    change = view.partial(node, given.delta(), retracts, columns, ids)
    memo.link(tvr, Version.DELTA, kind, change, name)
    singles = view.singles and view.singles(node, given.delta(), retracts, columns, ids)
    if singles is not None:
        memo.link(tvr, Version.DELTA, View.SINGLES, singles, name)
    states = memo.reference(tvr.edges[Version.NEW, kind])
    rows = given.new() if merges_input else None
    memo.equate(tvr.new, view.merge(node, states, retracts, rows, ids), name, part=True)
    if view.delta is not None:
        versions = GroupVersions(memo, tvr, ids, kind)
        delta = view.delta(node, versions, retracts, ids)
        if add_delta(match, tvr, delta.rows, name) and delta.domain is not None:
            memo.link(tvr, Version.DELTA, View.DOMAIN, delta.domain, name)
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
    """Add a join as a union: OLD of an append-only input joined, plus its delta joined."""
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
    """Return the TVR-generating rules except the named ones."""
    return tuple(rule for rule in TVR_GENERATING if rule.name not in names)


def reason(memo: Memo, node: Relation, in_use: Container[str]) -> Reason | None:
    """Return why a changing operator has no delta: the reason that its rules give, or that the rule
    which covers it is not ``in_use``. None if the cause is an input without a delta, or unknown."""
    given = [i for i in node.inputs if isinstance(i, Reference)]
    found = catalog.find(node, tuple(input_of(memo, i) for i in given))
    if isinstance(found, Reason):
        return found
    below = (memo.tvr_of(i.group) for i in given)
    if not all(tvr is None or not tvr.changing or tvr.has_delta for tvr in below):
        return None
    return _held_back(memo, node) if found[0].name in in_use else Reason.NOT_IN_USE


def _held_back(memo: Memo, node: Relation) -> Reason | None:
    """Return why an operator that a rule covers was given no delta; None if it has one or the
    cause is not known."""
    group = memo.find(node)
    tvr = None if group is None else memo.tvr_of(group)
    if tvr is None or tvr.has_delta:
        return None
    if tvr.repeats is Repeats.ALWAYS:
        return Reason.RETRACTING_INPUT if isinstance(node, Aggregate) else None
    rounded = tvr.repeats is Repeats.ROUNDED
    return Reason.ROUNDED if rounded else Reason.NOT_DETERMINISTIC
