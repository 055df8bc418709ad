"""What a plan costs by other figures than it was made with: the same operators, exchanges, reads
and writes, over as many rows as there are in truth."""

from __future__ import annotations

from collections.abc import Mapping

from forerun.planner.algebra.relational import Filter, Relation
from forerun.planner.algebra.scalar import Scalar
from forerun.planner.cost.prices import Prices
from forerun.planner.memo.memo import Memo
from forerun.planner.request import PlanRequest
from forerun.planner.stats.estimate import Estimator
from forerun.planner.stats.values import Estimate, resized
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.extraction import ExtractedPlan, chain, inputs_of, source_of
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.physical import PhysicalAlternative
from forerun.planner.temporal.solution import ChainId, DpEntry, EntryKey, How, Partition
from forerun.planner.temporal.space import Space
from forerun.planner.temporal.store_costs import StoreCosts


class _TrueEstimator(Estimator):
    """An estimator that knows how many times as many rows some predicates let through."""

    def __init__(self, other: Estimator, through: Mapping[Scalar, float]) -> None:
        super().__init__((), {})
        self._sources, self._rows = other._sources, other._rows
        self.determined = other.determined
        self._through = through

    def of_node(self, node: Relation, inputs: tuple[Estimate, ...]) -> Estimate:
        estimate = super().of_node(node, inputs)
        if not isinstance(node, Filter) or node.predicate not in self._through:
            return estimate
        below = inputs[0]
        rows = min(below.rows, estimate.rows * self._through[node.predicate])
        return Estimate(rows=rows, columns=resized(below.columns, below.rows, rows))


class TrueFigures(GroupSizes):
    """Of the groups of a memo, by a request with the right rows and arrivals. ``through``: how many
    times the rows that are estimated a predicate lets through."""

    def __init__(self, memo: Memo, request: PlanRequest, through: Mapping[Scalar, float]) -> None:
        super().__init__(memo, request)
        self._estimators = [_TrueEstimator(one, through) for one in self._estimators]


def true_costs(
    space: Space, chosen: ExtractedPlan, group_sizes: GroupSizes, prices: Prices
) -> list[int]:
    """The cost of each opened run of a plan, without what opening it costs."""
    return _Replay(space, chosen, group_sizes, prices).costs()


def written_rows(
    space: Space, chosen: ExtractedPlan, group_sizes: GroupSizes, index: int
) -> Mapping[ChainId, float]:
    """Rows of the partitions that an opened run writes, by chain."""
    span = chosen.solution.spans[index]
    alternatives = AlternativeEnumerator(space, group_sizes)
    rows = {}
    for kept, at in chosen.used:
        if at == index:
            slot = space.slots[kept[0]]
            start = chosen.solution.chain_costs[index][kept].start
            group = slot.snapshot if start else slot.delta
            rows[kept] = alternatives.size(group, False, span).rows
    return rows


class _Replay:
    """Walks what was chosen, as :mod:`forerun.planner.temporal.extraction` does."""

    def __init__(
        self, space: Space, chosen: ExtractedPlan, group_sizes: GroupSizes, prices: Prices
    ) -> None:
        self._space = space
        self._chosen = chosen
        self._alternatives = AlternativeEnumerator(space, group_sizes, prices=prices)
        self._store = StoreCosts(self._alternatives, chosen.solution.spans)
        self._waiting: list[tuple[int, DpEntry, EntryKey]] = []
        self._made: set[Partition] = set()

    def costs(self) -> list[int]:
        chosen = self._chosen
        by_run = [0 for _ in chosen.solution.spans]
        for index in chosen.results:
            self._waiting.append((index, chosen.entry(index, chosen.root), chosen.root))
        while self._waiting:
            index, entry, place = self._waiting.pop()
            by_run[index] += self._own(index, entry, place)
            places, partitions = inputs_of(entry, place, index)
            for below in places:
                self._waiting.append((index, entry.moved or chosen.entry(index, below), below))
            for kept, until in partitions:
                for at in chain(chosen.solution, kept, until):
                    by_run[at] += self._partition(kept, at)
        return by_run

    def _partition(self, kept: ChainId, index: int) -> int:
        if (kept, index) in self._made:
            return 0
        self._made.add((kept, index))
        start = self._chosen.solution.chain_costs[index][kept].start
        slot = self._space.slots[kept[0]]
        place = source_of(slot, kept, start=start)
        self._waiting.append((index, self._chosen.entry(index, place, made=True), place))
        delta = None if start else slot.delta
        return self._store.written(slot, slot.snapshot if delta is None else delta, index)

    def _own(self, index: int, entry: DpEntry, place: EntryKey) -> int:
        group, _, before = place
        if (
            entry.how is How.EXPRESSION
            and entry.expression is not None
            and entry.alternative is not None
        ):
            return self._of_alternative(index, entry, entry.alternative, place)
        if entry.how is How.MOVED:
            return self._store.moved(group, index, before)
        if entry.how is How.SPLIT or entry.slot is None:
            return 0
        if entry.how is How.ADDED:
            added = dict(self._store.added(entry.slot, group, index))
            return added[entry.added]
        if entry.expression is not None:
            return self._store.stored(entry.slot, index, before=entry.reads_before)
        if self._space.memo.group(group).step:
            return self._store.appended(entry.slot, group, index)
        return self._store.read(entry.slot, group, index, before)[0]

    def _of_alternative(
        self, index: int, entry: DpEntry, alternative: PhysicalAlternative, place: EntryKey
    ) -> int:
        """The same way by the right sizes. Where a side turns out to be too large to be broadcast,
        Spark shuffles both."""
        if entry.expression is None:
            raise ValueError(f"{place} is computed by nothing")
        span, wanted = self._chosen.solution.spans[index], self._space.wanted[place[0]]
        # What is unchanged is computed as of the end of the step, also where OLD is asked for.
        before = place[2] and not self._alternatives.unchanged.is_same(place[0], span)
        alternatives = [
            one
            for key in wanted
            for one in self._alternatives.of(entry.expression, key, before, span)
        ]
        same = [
            one
            for one in alternatives
            if (one.requirements, one.delivers) == (alternative.requirements, alternative.delivers)
        ]
        if same:
            best = min(same, key=lambda one: one.own)
            return best.own - (best.hash_gain if entry.hashed else 0)
        other = min(alternatives, key=lambda one: one.own)
        return other.own + sum(
            self._store.moved(requirement.group, index, requirement.before)
            for requirement in other.requirements
            if requirement.key
        )
