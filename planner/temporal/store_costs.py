"""What a solver charges beside the ways to compute: moving, writing and reading rows. None of it
depends on what is shared, so each is found once for all the solutions of a solver."""

from __future__ import annotations

from planner.cost import operators
from planner.cost.operators import Size
from planner.cost.prices import Prices
from planner.memo.memo import GroupId
from planner.temporal.space import Slot
from planner.temporal.ways import Span, Ways


class StoreCosts:
    """Of one search over these opened runs. Not weighted. ``index``: of an opened run.
    ``stage_cost``: of writing a partition, beside its rows."""

    def __init__(self, ways: Ways, spans: tuple[Span, ...], stage_cost: int) -> None:
        self._ways = ways
        self._prices = ways.prices
        self._spans = spans
        self._stage_cost = stage_cost
        self._sizes: dict[tuple[int, int], Size] = {}
        self._moved: dict[tuple[GroupId, int, bool], int] = {}
        self._written: dict[tuple[GroupId, int], int] = {}
        self._read: dict[tuple[int, GroupId, int, bool], tuple[int, int]] = {}
        self._added: dict[tuple[int, GroupId, int], tuple[tuple[GroupId, int], ...]] = {}

    def moved(self, group: GroupId, index: int, before: bool) -> int:
        """Of shuffling a group."""
        known = (group, index, before)
        if known not in self._moved:
            size = self._ways.size(group, before, self._spans[index])
            self._moved[known] = round(operators.exchange(size, self._prices))
        return self._moved[known]

    def written(self, group: GroupId, index: int) -> int:
        """Of writing a partition."""
        known = (group, index)
        if known not in self._written:
            size = self._ways.size(group, False, self._spans[index])
            self._written[known] = write_cost(size, self._stage_cost, self._prices)
        return self._written[known]

    def read(self, slot: Slot, group: GroupId, index: int, before: bool) -> tuple[int, int]:
        """Of reading a chain as a group, and how much of it is to make plain rows of weighted
        ones."""
        known = (slot.index, group, index, before)
        if known not in self._read:
            span = self._spans[index]
            size = self._stored(slot, span.base if before else span.run)
            extra = self._consolidation(slot, group, size)
            self._read[known] = round(operators.read(size, self._prices)) + extra, extra
        return self._read[known]

    def added(self, slot: Slot, group: GroupId, index: int) -> tuple[tuple[GroupId, int], ...]:
        """The groups that may be added to what earlier runs kept, and of reading and adding that,
        beside having them."""
        known = (slot.index, group, index)
        if known not in self._added:
            span = self._spans[index]
            whole = self._stored(slot, span.run)
            own = round(operators.read(self._stored(slot, span.base), self._prices))
            own += self._consolidation(slot, group, whole)
            self._added[known] = tuple(
                (change, own + self._more_to_merge(slot, change, span))
                for change in (slot.delta, slot.singles)
                if change is not None
            )
        return self._added[known]

    def stamped(self, slot: Slot, index: int) -> int:
        """Of reading a chain with the runs that wrote its rows."""
        return round(operators.read(self._stored(slot, self._spans[index].run), self._prices))

    def _more_to_merge(self, slot: Slot, added: GroupId, span: Span) -> int:
        """Of merging single rows, beside the states that there would be of them."""
        if added == slot.delta:
            return 0
        rows = self._ways.size(added, False, span)
        more = Size(max(0.0, rows.rows - self._ways.size(slot.delta, False, span).rows), rows.width)
        return round(
            operators.group(more.rows, 0.0, (), 1, self._prices)
            + operators.exchange(more, self._prices)
        )

    def _stored(self, slot: Slot, until: int) -> Size:
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

    def _consolidation(self, slot: Slot, group: GroupId, size: Size) -> int:
        """Of making plain rows of weighted ones: a grouping by all columns."""
        if not slot.weighted or slot.whole != group:
            return 0
        grouped = operators.group(size.rows, size.rows, (), 1, self._prices)
        return round(grouped + operators.exchange(size, self._prices))


def write_cost(size: Size, stage_cost: int, prices: Prices) -> int:
    """Of writing a partition, not weighted."""
    return stage_cost + round(operators.write(size, prices))
