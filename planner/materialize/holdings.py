"""How many bytes a plan keeps in the store, by estimate: rows times their width, not compressed.

Held after a run is every partition that it or an earlier run has written: nothing is taken out of
the store before the report is published. What the final run writes is read by itself alone and is
not kept. A partition counts once, however many readers it has.
"""

from __future__ import annotations

import math

from planner.temporal.chosen import Chosen
from planner.temporal.figures import Figures
from planner.temporal.space import Space
from planner.temporal.tables import Kept
from planner.temporal.ways import Span


class Holdings:
    """``committed``: the bytes that the committed runs hold, as they were counted."""

    def __init__(self, space: Space, figures: Figures, committed: int) -> None:
        self._space = space
        self._figures = figures
        self.committed = committed

    def partition(self, kept: Kept, span: Span, *, start: bool) -> int:
        """Bytes of the partition that a run writes: of the whole where a chain starts, else of the
        delta, with the rows that it takes back."""
        slot = self._space.slots[kept[0]]
        if start or not span.base:
            size = self._figures.snapshot(slot.snapshot, span.run)
            return math.ceil(size.bytes)
        size = self._figures.step(slot.delta, span.base, span.run)
        lost = self._figures.taken_back(slot.tvr, span.base, span.run) if slot.weighted else 0.0
        return math.ceil((size.rows + lost) * size.width)

    def chain(self, kept: Kept, spans: tuple[Span, ...], *, committed: bool) -> int:
        """Bytes that the runs before the last one write of a chain that is kept from the first."""
        return sum(
            self.partition(kept, span, start=index == 0 and not committed)
            for index, span in enumerate(spans[:-1])
        )

    def after_runs(self, chosen: Chosen) -> tuple[int, ...]:
        """What the store holds after each opened run but the last, committed runs included."""
        spans, links = chosen.solution.spans, chosen.solution.links
        held, total = [], self.committed
        for index, span in enumerate(spans[:-1]):
            total += sum(
                self.partition(kept, span, start=links[index][kept].start)
                for kept, at in chosen.partitions
                if at == index
            )
            held.append(total)
        return tuple(held)

    def most(self, chosen: Chosen) -> int:
        """The most that the store holds at any time: after the last early run."""
        held = self.after_runs(chosen)
        return held[-1] if held else self.committed
