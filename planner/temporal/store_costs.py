"""How big what is kept is, and what reading and writing it costs beside its bytes."""

from __future__ import annotations

from planner.cost import operators
from planner.cost.operators import Size
from planner.cost.prices import Prices
from planner.memo.memo import GroupId
from planner.temporal.space import Slot
from planner.temporal.ways import Span, Ways


class StoreCosts:
    """Of the chains of one search over these opened runs. Costs are not weighted."""

    def __init__(self, ways: Ways, spans: tuple[Span, ...]) -> None:
        self._ways = ways
        self._spans = spans
        self._sizes: dict[tuple[int, int], Size] = {}

    def size(self, slot: Slot, until: int) -> Size:
        """Rows of a chain: more than the snapshot has, where every run left states of a group."""
        if (slot.index, until) not in self._sizes:
            self._sizes[slot.index, until] = self._sum(slot, until)
        return self._sizes[slot.index, until]

    def _sum(self, slot: Slot, until: int) -> Size:
        rows, width, before = 0.0, 8.0, 0
        for span in self._spans:
            if span.run > until:
                break
            part = (
                self._ways.size(slot.delta, False, span)
                if span.base
                else self._ways.size(slot.snapshot, False, span)
            )
            rows, width, before = rows + part.rows, part.width, span.run
        if before < until or not rows:
            whole = self._ways.size(slot.snapshot, False, Span(0, until))
            return Size(max(rows, whole.rows), whole.width)
        return Size(rows, width)

    def more_to_merge(self, slot: Slot, added: GroupId, span: Span) -> int:
        """Of merging single rows, beside the states that there would be of them."""
        if added == slot.delta:
            return 0
        rows, prices = self._ways.size(added, False, span), self._ways.prices
        more = Size(max(0.0, rows.rows - self._ways.size(slot.delta, False, span).rows), rows.width)
        merged = operators.group(more.rows, 0.0, (), 1, prices)
        return round(merged + operators.exchange(more, prices))

    def consolidation(self, slot: Slot, group: GroupId, size: Size) -> int:
        """Of making plain rows of weighted ones: a grouping by all columns."""
        if not slot.weighted or slot.whole != group:
            return 0
        prices = self._ways.prices
        grouped = operators.group(size.rows, size.rows, (), 1, prices)
        return round(grouped + operators.exchange(size, prices))


def write_cost(size: Size, stage_cost: int, prices: Prices) -> int:
    """Of writing a partition, not weighted."""
    return stage_cost + round(operators.write(size, prices))
