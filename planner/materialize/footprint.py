"""Estimates how many bytes a plan keeps in the store: rows times width, not compressed.

After a run, the store holds every partition that this or an earlier run has written: nothing is
removed before the report is published. What the final run writes is read only by itself and is not
kept. A partition counts once, however many readers it has.
"""

from __future__ import annotations

import math

from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.extraction import ExtractedPlan
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.solution import ChainId
from forerun.planner.temporal.space import Space


class Footprint:
    """Counts bytes. ``committed`` is what the committed runs hold, as it was measured."""

    def __init__(self, space: Space, group_sizes: GroupSizes, committed: int) -> None:
        self._space = space
        self._group_sizes = group_sizes
        self.committed = committed

    def partition(self, kept: ChainId, span: Span, *, start: bool) -> int:
        """Return the bytes of the partition that a run writes: the whole snapshot where the chain
        starts, else the delta together with the rows that it retracts."""
        slot = self._space.slots[kept[0]]
        if start or not span.base or slot.delta is None:
            size = self._group_sizes.snapshot(slot.snapshot, span.run)
            return math.ceil(size.bytes)
        size = self._group_sizes.step(slot.delta, span.base, span.run)
        lost = self._group_sizes.taken_back(slot.tvr, span.base, span.run) if slot.weighted else 0.0
        return math.ceil((size.rows + lost) * size.width)

    def chain(self, kept: ChainId, spans: tuple[Span, ...], *, committed: bool) -> int:
        """Return the bytes that all runs but the last one write of a chain that is kept from the
        first one. With ``committed``, its first partition is a delta too."""
        grows = self._space.slots[kept[0]].delta is not None
        return sum(
            self.partition(kept, span, start=index == 0 and not committed)
            for index, span in enumerate(spans[:-1])
            if grows or (index == 0 and not committed)
        )

    def after_runs(self, chosen: ExtractedPlan) -> tuple[int, ...]:
        """Return the bytes that the store holds after each opened run but the last, including those
        of committed runs."""
        spans, chain_costs = chosen.solution.spans, chosen.solution.chain_costs
        held, total = [], self.committed
        for index, span in enumerate(spans[:-1]):
            total += sum(
                self.partition(kept, span, start=chain_costs[index][kept].start)
                for kept, at in chosen.partitions
                if at == index
            )
            held.append(total)
        return tuple(held)

    def most(self, chosen: ExtractedPlan) -> int:
        """Return the most bytes that the store ever holds: after the last early run."""
        held = self.after_runs(chosen)
        return held[-1] if held else self.committed
