"""Every plan of a small problem, one by one: what the temporal search must find the best of.

Written from the definition of a valid plan, not from the search: a plan is a tree whose nodes each
have a run, and its cost a vector with what is spent in every run. The vectors of all plans are
listed, and no plan is left out because another one looks better, so nothing is assumed of how costs
are compared. What two parts of a plan have in common is made twice (Tempura, theorem 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.memo.reference import Kept, Stamped
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.physical import PhysicalAlternative, Requirement
from forerun.planner.temporal.solution import ChainId, ChainTerms
from forerun.planner.temporal.space import Key, Slot, Space

Spent = tuple[int, ...]
"""What a plan costs in each run."""


class TooManyError(Exception):
    """The problem has more plans than are worth listing."""


class EveryPlan:
    """Raises :class:`TooManyError` where some part of a plan has more than ``most`` costs. Runs are
    indices into the opened ones; a ``Requirement`` is for the rows of a group, as of a run or
    before it, distributed in some way."""

    def __init__(
        self,
        space: Space,
        alternatives: AlternativeEnumerator,
        spans: tuple[Span, ...],
        committed: frozenset[ChainId],
        twins: Mapping[ChainId, ChainId],
        terms: ChainTerms,
        most: int,
    ) -> None:
        self._space, self._alternatives, self._spans = space, alternatives, spans
        self._committed, self._twins, self._terms = committed, twins, terms
        self._prices = alternatives.prices
        self._most = most
        self._known: dict[tuple[object, ...], frozenset[Spent]] = {}

    def of_result(self) -> frozenset[Spent]:
        """The costs of every plan that has the result in the last run."""
        return self._have(len(self._spans) - 1, Requirement(self._space.root, (), False))

    # -- having rows --------------------------------------------------------------------------

    def _have(self, run: int, want: Requirement) -> frozenset[Spent]:
        known = ("have", run, want)
        if known not in self._known:
            anyhow = {*self._computed(run, want)}
            if not self._space.memo.group(want.group).step:
                anyhow |= {*self._from_store(run, want)}
                parts = self._space.splits.get(want.group)
                if parts is not None and not want.before and not want.key:
                    anyhow |= self._part(run, want.group, Requirement(parts, (), False))
            if want.key:
                unplaced = self._have(run, Requirement(want.group, (), want.before))
                anyhow |= self._moved(run, want, unplaced)
            self._known[known] = self._few(anyhow)
        return self._known[known]

    def _made(self, run: int, want: Requirement) -> frozenset[Spent]:
        """The same, without what is kept of these very rows: what a partition is made of."""
        known = ("made", run, want)
        if known not in self._known:
            made = {*self._computed(run, want)}
            parts = self._space.splits.get(want.group)
            if want.group in self._space.replaced and parts is not None and not want.key:
                made |= self._part(run, want.group, Requirement(parts, (), False))
            if want.key:
                made |= self._moved(
                    run, want, self._made(run, Requirement(want.group, (), want.before))
                )
            self._known[known] = self._few(made)
        return self._known[known]

    def _moved(self, run: int, want: Requirement, plans: Iterable[Spent]) -> frozenset[Spent]:
        if want.key not in self._space.wanted[want.group]:
            return frozenset()
        size = self._alternatives.size(want.group, want.before, self._spans[run])
        return self._all(run, round(operators.exchange(size, self._prices)), [plans])

    def _part(self, run: int, of: GroupId, requirement: Requirement) -> frozenset[Spent]:
        """A part of a group: of one that comes before it, so that nothing is made of itself."""
        place = self._space.place
        if place[requirement.group] >= place[of] or not self._is_there(run, requirement):
            return frozenset()
        return self._have(run, requirement)

    def _is_there(self, run: int, requirement: Requirement) -> bool:
        """A step leads from a run to a run, and what was before needs a run before."""
        step = self._space.memo.group(requirement.group).step
        return bool(self._spans[run].base) or not (requirement.before or step)

    # -- computing ----------------------------------------------------------------------------

    def _computed(self, run: int, want: Requirement) -> Iterator[Spent]:
        span = self._spans[run]
        for expression in self._space.memo.alternatives(want.group):
            if expression.origin and not self._terms.keeping:
                continue
            if isinstance(expression.node, Stamped):
                yield from self._stamped(run, want, expression.node)
                continue
            if isinstance(expression.node, Kept):
                yield from self._as_kept(run, want, expression.node)
                continue
            for alternative in self._distinct_alternatives(expression, want, span):
                if want.key in ((), alternative.delivers):
                    parts = [
                        self._part(run, want.group, requirement)
                        for requirement in alternative.requirements
                    ]
                    yield from self._all(run, alternative.own, parts)

    def _distinct_alternatives(
        self, expression: Expression, want: Requirement, span: Span
    ) -> set[PhysicalAlternative]:
        keys: Iterable[Key] = self._space.wanted[want.group]
        return {
            alternative
            for key in keys
            for alternative in self._alternatives.of(expression, key, want.before, span)
        }

    # -- the store ----------------------------------------------------------------------------

    def _slots_of(self, group: GroupId) -> Iterator[tuple[Slot, Key, ChainId]]:
        if self._terms.keeping:
            for slot in self._space.slots_of(group):
                for key in self._space.keys[slot.index]:
                    yield slot, key, self._twins.get((slot.index, key), (slot.index, key))

    def _from_store(self, run: int, want: Requirement) -> Iterator[Spent]:
        """Whole, up to the run that is asked for; or up to the run before, with the delta added."""
        span = self._spans[run]
        for slot, key, kept in self._slots_of(want.group):
            until = run - 1 if want.before else run
            size = self._stored(slot, span.base if want.before else span.run)
            extra = 0
            if slot.weighted and slot.whole == want.group:
                grouped = operators.group(size.rows, size.rows, self._prices)
                extra = round(grouped + operators.exchange(size, self._prices))
            if want.key in ((), key) and not (extra and want.key):
                own = round(operators.read(size, self._prices)) + extra
                yield from self._all(run, own, [self._chain(until, kept, want.group, run)])
            if want.before or want.key or not span.base or slot.delta is None:
                continue
            old = round(operators.read(self._stored(slot, span.base), self._prices)) + extra
            chain = self._chain(run - 1, kept, want.group, run)
            yield from self._all(run, old, [chain, self._part_of_slot(run, want, slot.delta)])
            if slot.singles is not None:
                own = old + self._more_to_merge(slot, slot.singles, span)
                singles = self._part_of_slot(run, want, slot.singles)
                yield from self._all(run, own, [chain, singles])

    def _part_of_slot(self, run: int, want: Requirement, group: GroupId) -> frozenset[Spent]:
        return self._part(run, want.group, Requirement(group, (), False))

    def _stamped(self, run: int, want: Requirement, node: Stamped) -> Iterator[Spent]:
        """What this run appended to a chain, marked: there must be an earlier partition."""
        group = self._space.memo.leader(node.group)
        for slot, key, kept in self._slots_of(group):
            if slot.whole == group and want.key in ((), key) and not slot.replaced:
                own = round(operators.read(self._stored(slot, self._spans[run].run), self._prices))
                yield from self._all(run, own, [self._appended(run, kept)])

    def _as_kept(self, run: int, want: Requirement, node: Kept) -> Iterator[Spent]:
        """All rows of a group as the run before has kept them."""
        group = self._space.memo.leader(node.group)
        for slot, key, kept in self._slots_of(group):
            if slot.replaced and slot.whole == group and want.key in ((), key):
                own = round(operators.read(self._stored(slot, self._spans[run].base), self._prices))
                yield from self._all(run, own, [self._chain(run - 1, kept, group, run)])

    def _chain(self, until: int, kept: ChainId, of: GroupId, run: int) -> frozenset[Spent]:
        """A chain up to a run, with all its partitions: it starts anew there, or goes on."""
        slot = self._space.slots[kept[0]]
        if until < 0:
            nothing = (0,) * len(self._spans)
            return frozenset({nothing}) if kept in self._committed else frozenset()
        if until == run and self._space.place[slot.whole] > self._space.place[of]:
            return frozenset()
        known = ("chain", until, kept)
        if known not in self._known:
            self._known[known] = frozenset()  # nothing is made of itself
            found = {*self._appended(until, kept)}
            if slot.replaced or self._terms.late or until in (0, len(self._spans) - 1):
                own = self._write(slot.snapshot, until)
                whole = self._made(until, Requirement(slot.whole, kept[1], False))
                found |= self._all(until, own, [whole])
            self._known[known] = self._few(found)
        return self._known[known]

    def _appended(self, run: int, kept: ChainId) -> frozenset[Spent]:
        """A chain that was there, with one partition more, the delta, if it ever changes."""
        slot = self._space.slots[kept[0]]
        if slot.replaced and not self._alternatives.unchanged.goes_on(slot, self._spans[run]):
            return frozenset()
        if slot.delta is None:
            return self._chain(run - 1, kept, slot.whole, run)
        delta = Requirement(slot.delta, kept[1], False)
        place = self._space.place
        if not self._is_there(run, delta) or place[slot.delta] >= place[slot.whole]:
            return frozenset()
        before = self._chain(run - 1, kept, slot.whole, run)
        own = self._write(slot.delta, run)
        return self._all(run, own, [before, self._made(run, delta)]) if before else frozenset()

    # -- costs --------------------------------------------------------------------------------

    def _all(self, run: int, own: int, parts: list[Iterable[Spent]]) -> frozenset[Spent]:
        """Every combination of plans of the parts, and what putting them together costs."""
        mine = tuple(own if index == run else 0 for index in range(len(self._spans)))
        total = {mine}
        for part in parts:
            total = {tuple(map(sum, zip(*pair, strict=True))) for pair in product(total, part)}
            self._few(total)
        return frozenset(total)

    def _few(self, plans: Iterable[Spent]) -> frozenset[Spent]:
        found = frozenset(plans)
        if len(found) > self._most:
            raise TooManyError
        return found

    def _write(self, group: GroupId, run: int) -> int:
        size = self._alternatives.size(group, False, self._spans[run])
        return round(operators.write(size, self._prices))

    def _stored(self, slot: Slot, until: int) -> Size:
        """The rows of a chain: those of its partitions, of which there are as many before the runs
        that are planned as the snapshot had then."""
        if slot.replaced:
            return Size(self._alternatives.size(slot.snapshot, False, Span(0, until)).rows, 0.0)
        spans = [span for span in self._spans if span.run <= until]
        sizes = [
            self._alternatives.size(slot.delta if span.base else slot.snapshot, False, span)
            for span in spans
            if not (span.base and slot.delta is None)
        ]
        if spans and spans[0].base:
            sizes.append(self._alternatives.size(slot.snapshot, True, spans[0]))
        rows = sum(size.rows for size in sizes)
        if not rows or spans[-1].run < until:
            return Size(
                max(rows, self._alternatives.size(slot.snapshot, False, Span(0, until)).rows), 0.0
            )
        return Size(rows, 0.0)

    def _more_to_merge(self, slot: Slot, singles: GroupId, span: Span) -> int:
        rows = self._alternatives.size(singles, False, span).rows
        more = Size(max(0.0, rows - self._alternatives.size(slot.delta, False, span).rows), 0.0)
        return round(
            operators.group(more.rows, 0.0, self._prices)
            + operators.exchange(more, self._prices)
            + (more.rows * self._prices.sort_row if slot.sorts else 0.0)
        )
