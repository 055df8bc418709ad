"""The work of a plan that was chosen: its costs once more, at prices that remember what they were
multiplied by (:mod:`forerun.planner.cost.work`).

The search costs thousands of alternatives in plain numbers; what a chosen plan is made of are some
dozens, which are cheap to look at again.
"""

from __future__ import annotations

from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.extraction import ExtractedPlan, counted
from forerun.planner.temporal.physical import PhysicalAlternative
from forerun.planner.temporal.solution import ChainCost, ChainId, DpEntry, EntryKey, How
from forerun.planner.temporal.space import Space
from forerun.planner.temporal.store_costs import StoreCosts


def itemized_plan(
    space: Space, chosen: ExtractedPlan, alternatives: AlternativeEnumerator
) -> ExtractedPlan:
    """Return a plan with its costs at the prices of ``alternatives``: if they are charges, the
    costs of its partitions, results and runs know their work. It is the same plan, so its prices
    must be those that it was chosen by. It has no total."""
    costs = CountedAgain(space, chosen, alternatives)
    return counted(space, chosen.solution, chosen.root, chosen.results, costs)


class CountedAgain:
    """Costs the entries and partitions of a plan at other prices than those they were found by."""

    def __init__(
        self, space: Space, chosen: ExtractedPlan, alternatives: AlternativeEnumerator
    ) -> None:
        self._space = space
        self._spans = chosen.solution.spans
        self._alternatives = alternatives
        self._store = StoreCosts(alternatives, self._spans)

    def of_entry(self, index: int, entry: DpEntry, place: EntryKey) -> int:
        """Return what the entry adds to its inputs in its run."""
        group, _, before = place
        if entry.how is How.EXPRESSION:
            return self._computed(index, entry, place)
        if entry.how is How.MOVED:
            return self._store.moved(group, index, before)
        if entry.how in (How.SPLIT, How.EMPTY):
            return 0
        if entry.slot is None:
            raise ValueError(f"{place} reads nothing that is kept")
        if entry.how is How.ADDED:
            return dict(self._store.added(entry.slot, group, index))[entry.added]
        if entry.expression is not None:
            return self._store.stored(entry.slot, index, before=entry.reads_before)
        if group in self._space.steps:
            return self._store.appended(entry.slot, group, index)
        return self._store.read(entry.slot, group, index, before)[0]

    def of_partition(self, index: int, kept: ChainId, chain_cost: ChainCost) -> int:
        """Return what writing the partition costs, without what its rows are computed from."""
        slot = self._space.slots[kept[0]]
        delta = None if chain_cost.start else slot.delta
        return self._store.written(slot, slot.snapshot if delta is None else delta, index)

    def _computed(self, index: int, entry: DpEntry, place: EntryKey) -> int:
        chosen, expression = entry.alternative, entry.expression
        if chosen is None or expression is None:
            raise ValueError(f"{place} is computed by no alternative")
        group, _, before = place
        span = self._spans[index]
        # What is unchanged is computed as of the end of the step, also where OLD is asked for.
        before = before and not self._alternatives.unchanged.is_same(group, span)
        again = min(
            (
                one
                for key in self._space.wanted[group]
                for one in self._alternatives.of(expression, key, before, span)
                if _is_like(one, chosen)
            ),
            key=lambda one: abs(one.own - chosen.own),
        )
        return again.own - again.hash_gain if entry.hashed else again.own


def _is_like(one: PhysicalAlternative, other: PhysicalAlternative) -> bool:
    return (one.requirements, one.delivers, one.shuffles) == (
        other.requirements,
        other.delivers,
        other.shuffles,
    )
