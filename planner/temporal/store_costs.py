"""The costs of shuffling, writing and reading rows, which the search charges besides the
alternatives.

None of it depends on the shared partitions, so each cost is computed once for all solutions.
"""

from __future__ import annotations

from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import Prices
from forerun.planner.memo.groups import GroupId
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.space import Slot


class StoreCosts:
    """Caches these costs for one set of opened runs. They are unweighted, in millionths of a CPU
    second. ``index`` is that of an opened run."""

    def __init__(self, alternatives: AlternativeEnumerator, spans: tuple[Span, ...]) -> None:
        self._alternatives = alternatives
        self._unchanged = alternatives.unchanged
        self._prices = [alternatives.prices_of(span.run) for span in spans]
        self._spans = spans
        self._sizes: dict[tuple[int, int], Size] = {}
        self._moved: dict[tuple[GroupId, int, bool], int] = {}
        self._written: dict[tuple[int, GroupId, int], int] = {}
        self._read: dict[tuple[int, GroupId, int, bool], tuple[int, int]] = {}
        self._added: dict[tuple[int, GroupId, int], tuple[tuple[GroupId, int], ...]] = {}
        self._buckets: dict[int, int] = {}

    def moved(self, group: GroupId, index: int, before: bool) -> int:
        """Return the cost of shuffling a group."""
        known = (group, index, before)
        if known not in self._moved:
            size = self._alternatives.size(group, before, self._spans[index])
            self._moved[known] = round(operators.exchange(size, self._prices[index]))
        return self._moved[known]

    def written(self, slot: Slot, group: GroupId, index: int) -> int:
        """Return the cost of writing a group as a partition of a slot."""
        known = (slot.index, group, index)
        if known not in self._written:
            size = self._alternatives.size(group, False, self._spans[index])
            buckets = self._buckets_of(slot)
            self._written[known] = round(operators.write(size, self._prices[index], buckets))
        return self._written[known]

    def read(self, slot: Slot, group: GroupId, index: int, before: bool) -> tuple[int, int]:
        """Return the cost of reading a chain as a group, and how much of it consolidates weighted
        rows."""
        known = (slot.index, group, index, before)
        if known not in self._read:
            span = self._spans[index]
            size = self._stored(slot, span.base if before else span.run)
            extra = self._consolidation(slot, group, size, self._prices[index])
            own = self._read_from(slot, size, span.base if before else span.run, index)
            own += self._sorted(slot, group, size, self._prices[index])
            self._read[known] = own + extra, extra
        return self._read[known]

    def added(self, slot: Slot, group: GroupId, index: int) -> tuple[tuple[GroupId, int], ...]:
        """Return the groups that can be added to what earlier runs kept of a slot: its delta, and
        the delta as states of single rows. Each comes with the cost of reading what is kept and
        adding the group to it, without the cost of computing the group."""
        known = (slot.index, group, index)
        if known not in self._added:
            span = self._spans[index]
            whole = self._stored(slot, span.run)
            own = self._read_from(slot, self._stored(slot, span.base), span.base, index)
            own += self._consolidation(slot, group, whole, self._prices[index])
            own += self._sorted(slot, group, whole, self._prices[index])
            self._added[known] = tuple(
                (change, own + self._more_to_merge(slot, change, index))
                for change in (slot.delta, slot.singles)
                if change is not None
            )
        return self._added[known]

    def stored(self, slot: Slot, index: int, *, before: bool) -> int:
        """Return the cost of reading a chain as it lies: with the runs that wrote its rows, or what
        there was ``before``."""
        span = self._spans[index]
        until = span.base if before else span.run
        return self._read_from(slot, self._stored(slot, until), until, index)

    def appended(self, slot: Slot, delta: GroupId, index: int) -> int:
        """Return the cost of reading the partition, a ``delta``, that a run appends to a chain."""
        size = self._alternatives.size(delta, False, self._spans[index])
        return round(operators.read(size, self._prices[index], self._buckets_of(slot)))

    def _read_from(self, slot: Slot, size: Size, until: int, index: int) -> int:
        """Return the cost of reading so much from the partitions of a chain up to a run."""
        written = (one.run <= until and not self._goes_on(slot, one) for one in self._spans)
        partitions = 1 if slot.replaced else sum(written) + (self._spans[0].base > 0)
        buckets = self._buckets_of(slot)
        return round(operators.read(size, self._prices[index], buckets, partitions))

    def _buckets_of(self, slot: Slot) -> int:
        if slot.index not in self._buckets:
            self._buckets[slot.index] = buckets_of(slot, self._alternatives, self._spans)
        return self._buckets[slot.index]

    def _more_to_merge(self, slot: Slot, added: GroupId, index: int) -> int:
        """Return what merging single rows costs more than merging the states of their groups."""
        if added == slot.delta or slot.delta is None:
            return 0
        span, prices = self._spans[index], self._prices[index]
        rows = self._alternatives.size(added, False, span)
        merged = self._alternatives.size(slot.delta, False, span)
        more = Size(max(0.0, rows.rows - merged.rows), rows.width)
        return round(
            operators.group(more.rows, 0.0, prices)
            + operators.exchange(more, prices)
            + (more.rows * prices.sort_row if slot.sorts else 0.0)
        )

    def _stored(self, slot: Slot, until: int) -> Size:
        """Return the size of a chain up to a run: the sum of its partitions. That is more than the
        snapshot where several runs wrote states of one group, and the snapshot itself where all
        rows are kept at once. Of what was there before the first of
        these runs, be it of this chain or not, the snapshot of then is taken."""
        if (slot.index, until) not in self._sizes:
            self._sizes[slot.index, until] = self._sum(slot, until)
        return self._sizes[slot.index, until]

    def _sum(self, slot: Slot, until: int) -> Size:
        if slot.replaced:
            return self._alternatives.size(slot.snapshot, False, Span(0, until))
        first = self._spans[0]
        there = (
            self._alternatives.size(slot.snapshot, True, first) if first.base else Size(0.0, 8.0)
        )
        rows, width, before = there.rows, there.width, first.base
        for span in self._spans:
            if span.run > until:
                break
            if self._goes_on(slot, span):
                before = span.run
                continue
            part = self._alternatives.size(
                slot.delta if span.base and slot.delta is not None else slot.snapshot, False, span
            )
            rows, width, before = rows + part.rows, part.width, span.run
        if before < until or not rows:
            whole = self._alternatives.size(slot.snapshot, False, Span(0, until))
            return Size(max(rows, whole.rows), whole.width)
        return Size(rows, width)

    def _goes_on(self, slot: Slot, span: Span) -> bool:
        return bool(span.base) and self._unchanged.goes_on(slot, span)

    def _sorted(self, slot: Slot, group: GroupId, size: Size, prices: Prices) -> int:
        """Return what sorting rows costs that windows read in an order which those below left."""
        if slot.whole != group or not self._alternatives.is_read_in_order(group):
            return 0
        return round(
            operators.sort(size.rows, prices) - operators.window_in_order(size.rows, prices)
        )

    def _consolidation(self, slot: Slot, group: GroupId, size: Size, prices: Prices) -> int:
        """Return the cost of turning weighted rows into plain ones by grouping over all columns; 0
        where the group is not read as plain rows."""
        if not slot.weighted or slot.whole != group:
            return 0
        grouped = operators.group(size.rows, size.rows, prices)
        return round(grouped + operators.exchange(size, prices))


def buckets_of(slot: Slot, alternatives: AlternativeEnumerator, spans: tuple[Span, ...]) -> int:
    """Return in how many tasks and files a slot is kept, by its size at the end of the day: by a
    key they are its buckets, and without one about as many."""
    return operators.bucket_count(alternatives.size(slot.snapshot, False, Span(0, spans[-1].run)))
