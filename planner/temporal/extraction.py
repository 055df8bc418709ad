"""Plan extraction: walks a solution from the result down and collects the partitions that are
written and what everything costs.

The result is read in the final run and in each early run that gives it. A part that two readers
need in one run is computed and counted twice, as Spark would compute it; a partition is written and
counted once, however many readers it has.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.relying import Relying
from forerun.planner.temporal.alternatives import forced_penalty
from forerun.planner.temporal.solution import (
    ChainCost,
    ChainId,
    DpEntry,
    EntryKey,
    How,
    Partition,
    Solution,
)
from forerun.planner.temporal.space import Slot, Space


@dataclass(slots=True)
class ExtractedPlan:
    """The plan that a solution chose. Costs are in millionths of a CPU second.

    ``results`` are the indices of the opened runs that give the result, the last run among them.
    ``partitions`` maps each partition that is written to the key of its rows' entry in
    ``solution.made``. ``partition_costs`` is the unweighted cost per partition, ``result_costs``
    the one per run of what is computed for the result alone, ``by_run`` the one of each opened run.
    ``total`` is the weighted sum, with a penalty for each of the ``penalized`` alternatives.
    ``keeps`` says whether any run reads what an earlier run or another report stored. ``worked``
    holds the groups that are computed, with the index of the run. ``appended`` holds the partitions
    that are read as a delta although their chain starts in that run; it is empty in a plan that
    :func:`extract_plan` returns. ``relied`` holds the foreign keys that a run depends on, with its
    index. ``gone_on`` are the groups of which a run takes what the run before has kept whole.
    """

    solution: Solution
    root: EntryKey
    results: tuple[int, ...]
    partitions: dict[Partition, EntryKey] = field(default_factory=dict)
    partition_costs: dict[Partition, int] = field(default_factory=dict)
    result_costs: dict[int, int] = field(default_factory=dict)
    by_run: list[int] = field(default_factory=list)
    total: int = 0
    penalized: int = 0
    keeps: bool = False
    worked: set[tuple[int, GroupId]] = field(default_factory=set)
    appended: set[Partition] = field(default_factory=set)
    relied: set[tuple[int, ReliedForeignKey]] = field(default_factory=set)
    gone_on: set[GroupId] = field(default_factory=set)

    @property
    def used(self) -> frozenset[Partition]:
        """The partitions that the plan writes, whether the result or another partition reads
        them."""
        return frozenset(self.partitions)

    @property
    def has_tables(self) -> bool:
        """Return whether the plan still has the DP tables that it was extracted from."""
        return bool(self.solution.entries[-1].of)

    def without_tables(self) -> ExtractedPlan:
        """Return a copy without the DP tables, to save memory. It still tells what the plan costs
        and keeps, but no stages can be made of it."""
        known = self.solution
        return replace(self, solution=Solution(known.spans, known.shared, known.allowed))

    def entry(self, index: int, place: EntryKey, *, made: bool = False) -> DpEntry:
        """Return the DP entry at a place in the run of this index; with ``made``, the one of
        ``solution.made``."""
        table = self.solution.made if made else self.solution.entries
        return table[index][place]


def extract_plan(
    space: Space, solution: Solution, weights: Mapping[int, int], early: tuple[int, ...] = ()
) -> ExtractedPlan | None:
    """Extract the cheapest plan for the root in the last run and in the ``early`` ones, given by
    index. Returns None if one of these runs has no entry for the root."""
    results = (*early, len(solution.spans) - 1)
    root = (space.root, (), False)
    if any(root not in solution.entries[index] for index in results):
        return None
    chosen = counted(space, solution, root, results)
    while appended := chosen.appended:
        # A reader needs the appended delta, so the chain goes on for all its readers.
        chosen = counted(space, chosen.solution.with_extended(appended), root, results)
    chosen.total = chosen.penalized * forced_penalty(weights) + sum(
        weights[span.run] * cost for span, cost in zip(solution.spans, chosen.by_run, strict=True)
    )
    return chosen


class OwnCosts(Protocol):
    """Tells what an entry and a partition add to the cost of their run, unweighted."""

    def of_entry(self, index: int, entry: DpEntry, place: EntryKey) -> int: ...

    def of_partition(self, index: int, kept: ChainId, chain_cost: ChainCost) -> int: ...


def counted(
    space: Space,
    solution: Solution,
    root: EntryKey,
    results: tuple[int, ...],
    costs: OwnCosts | None = None,
) -> ExtractedPlan:
    """Walk from the result of each of the runs, and return the plan without its total, with its
    parts at these costs; without any, at those that the search has found."""
    chosen = ExtractedPlan(solution, root, results, by_run=[0 for _ in solution.spans])
    walk = _Walk(space, chosen, costs)
    for index in results:
        walk.visit(index, chosen.entry(index, root), root)
    walk.finish()
    return chosen


def inputs_of(
    entry: DpEntry, place: EntryKey, index: int
) -> tuple[list[EntryKey], list[Partition]]:
    """Return what an entry is computed from in its run: the keys of other entries, and the chains
    that it reads, each with the index of the run up to which it reads them. Raises ValueError if an
    entry that should read a chain names none."""
    group, _, before = place
    if entry.how is How.EXPRESSION and entry.alternative is not None:
        return [
            (requirement.group, requirement.key, requirement.before)
            for requirement in entry.alternative.requirements
        ], []
    if entry.how is How.MOVED:
        return [(group, (), before)], []
    if entry.how is How.SPLIT:
        return [(entry.added, (), False)], []
    if entry.how is How.EMPTY:
        return [], []
    if entry.kept is None:
        raise ValueError(f"{place} reads nothing that is kept")
    if entry.how is How.ADDED:
        return [(entry.added, (), False)], [(entry.kept, index - 1)]
    return [], [(entry.kept, index - 1 if before or entry.reads_before else index)]


class _Walk:
    """Walks a plan and counts its costs. A part that a run needs n times is visited once and
    counted n times, because deep plans can have exponentially many paths to it."""

    def __init__(self, space: Space, chosen: ExtractedPlan, costs: OwnCosts | None) -> None:
        self._space = space
        self._chosen = chosen
        self._costs = costs
        self._waiting: list[tuple[int, DpEntry, EntryKey, Partition | None]] = []

    def visit(
        self, index: int, entry: DpEntry, place: EntryKey, to: Partition | None = None
    ) -> None:
        """Queue an entry to be counted for a partition, or for the result if ``to`` is None."""
        self._waiting.append((index, entry, place, to))

    def finish(self) -> None:
        """Count all that is queued, and what that leads to."""
        while self._waiting:
            self._count_parts(*self._waiting.pop())

    def _count_parts(
        self, index: int, entry: DpEntry, place: EntryKey, to: Partition | None
    ) -> None:
        """Count an entry and everything that it is computed from in its run. Groups are taken in
        reverse order, so that a part is counted after all of its readers have said how often they
        need it."""
        times: dict[tuple[EntryKey, int], int] = {}
        waiting: list[tuple[int, int, EntryKey, DpEntry]] = []

        def need(entry: DpEntry, place: EntryKey, count: int) -> None:
            known = (place, id(entry))
            if known not in times:
                heapq.heappush(
                    waiting, (-self._space.place[place[0]], -len(place[1]), place, entry)
                )
            times[known] = times.get(known, 0) + count

        need(entry, place, 1)
        while waiting:
            *_, place, entry = heapq.heappop(waiting)
            count = times.pop((place, id(entry)))
            own = entry.own if self._costs is None else self._costs.of_entry(index, entry, place)
            self._count(index, count * own, to)
            for below in self._parts_of(index, entry, place, count):
                need(entry.moved or self._chosen.entry(index, below), below, count)

    def _parts_of(self, index: int, entry: DpEntry, place: EntryKey, count: int) -> list[EntryKey]:
        """Record what an entry computes and which partitions it reads; return the keys of the
        entries of the same run that it is computed from."""
        chosen = self._chosen
        if entry.how is How.EXPRESSION:
            chosen.worked.add((index, place[0]))
            if entry.alternative is not None and entry.alternative.penalized:
                chosen.penalized += count
            if entry.expression is not None and isinstance(entry.expression.node, Relying):
                chosen.relied |= {(index, one) for one in entry.expression.node.on}
        if entry.reads_before and entry.slot is not None:
            chosen.gone_on.add(entry.slot.whole)
        places, partitions = inputs_of(entry, place, index)
        step = self._space.memo.group(place[0]).step
        delta = entry.how is How.READ and step and not entry.reads_before
        for kept, until in partitions:
            if delta and chosen.solution.chain_costs[until][kept].start:
                chosen.appended.add((kept, until))
            chosen.keeps = chosen.keeps or self._is_kept(kept, until, index)
            for made_at in chain(chosen.solution, kept, until):
                self._partition(kept, made_at)
        return places

    def _is_kept(self, kept: ChainId, until: int, index: int) -> bool:
        """Return whether a reader in run ``index`` reads a partition that an earlier run wrote."""
        made = list(chain(self._chosen.solution, kept, until))
        start = start_of(self._chosen, kept, until)
        return start is None or any(at < index for at in made)

    def _count(self, index: int, own: int, to: Partition | None) -> None:
        """Charge a cost to a run, and to the partition or the result that it is spent on."""
        self._chosen.by_run[index] += own
        if to is None:
            costs_of_results = self._chosen.result_costs
            costs_of_results[index] = costs_of_results.get(index, 0) + own
        else:
            costs = self._chosen.partition_costs
            costs[to] = costs.get(to, 0) + own

    def _partition(self, kept: ChainId, index: int) -> None:
        """Record a partition once, with its cost, and queue what its rows are computed from."""
        chosen = self._chosen
        if (kept, index) in chosen.partitions:
            return
        chain_cost = chosen.solution.chain_costs[index][kept]
        slot = self._space.slots[kept[0]]
        place = source_of(slot, kept, start=chain_cost.start)
        chosen.partitions[kept, index] = place
        own = chain_cost.own
        if self._costs is not None:
            own = self._costs.of_partition(index, kept, chain_cost)
        self._count(index, own, (kept, index))
        self.visit(index, chosen.entry(index, place, made=True), place, (kept, index))


def source_of(slot: Slot, kept: ChainId, *, start: bool) -> EntryKey:
    """Return the key of the entry that the rows of a partition come from: the whole snapshot if the
    chain starts there, else the delta."""
    return (slot.whole if start or slot.delta is None else slot.delta, kept[1], False)


def start_of(chosen: ExtractedPlan, kept: ChainId, until: int) -> int | None:
    """Return the run in which a chain starts, looking back from the index ``until``; None if it
    started before the runs that are planned."""
    for index in chain(chosen.solution, kept, until):
        if chosen.solution.chain_costs[index][kept].start:
            return chosen.solution.spans[index].run
    return None


def chain(solution: Solution, kept: ChainId, until: int) -> Iterator[int]:
    """Yield the indices of the planned runs that write a chain's partitions, latest first, back to
    the one in which it starts. Partitions that were committed before are not among them."""
    for index in range(until, -1, -1):
        chain_cost = solution.chain_costs[index].get(kept)
        if chain_cost is None:
            return
        if not chain_cost.goes_on:
            yield index
        if chain_cost.start:
            return
