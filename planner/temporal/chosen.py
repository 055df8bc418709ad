"""What a solution chose: which partitions of which chains are made, and what all of it costs.
The result is one more reader of what is kept, in the final run and in each early run that gives it.

A part that two readers of one run need is made twice, as Spark would; a partition is made once,
whoever reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from planner.memo.memo import GroupId
from planner.memo.reference import Shared
from planner.temporal.space import Slot, Space
from planner.temporal.tables import Cell, How, Kept, Partition, Place, Solution


@dataclass(slots=True)
class Chosen:
    """``results``: the indices of the runs that give the result, the last one among them.
    ``partitions``: what is written, with the place of its rows in the ``made`` table.
    ``result_costs``: of what a run computes for its result alone.
    ``by_run``: the cost of each opened run, not weighted; ``total``: weighted. ``used``: the chains
    that are read. ``keeps``: whether any run reads what an earlier one, or another report, left.
    ``worked``: the groups that are computed, by the index of the run. ``appended``: partitions that
    are read as what their run appended, where the chain starts anew."""

    solution: Solution
    root: Place
    results: tuple[int, ...]
    partitions: dict[Partition, Place] = field(default_factory=dict)
    partition_costs: dict[Partition, int] = field(default_factory=dict)
    result_costs: dict[int, int] = field(default_factory=dict)
    by_run: list[int] = field(default_factory=list)
    total: int = 0
    keeps: bool = False
    worked: set[tuple[int, GroupId]] = field(default_factory=set)
    appended: set[Partition] = field(default_factory=set)

    @property
    def used(self) -> frozenset[Partition]:
        return frozenset(self.partitions)

    @property
    def has_tables(self) -> bool:
        return bool(self.solution.cells[-1].of)

    def without_tables(self) -> Chosen:
        """What it costs and keeps, without how: it can no longer be planned."""
        known = self.solution
        return replace(self, solution=Solution(known.spans, known.shared, known.allowed))

    def cell(self, index: int, place: Place, *, made: bool = False) -> Cell:
        table = self.solution.made if made else self.solution.cells
        return table[index][place]


def choose(
    space: Space, solution: Solution, weights: Mapping[int, int], early: tuple[int, ...] = ()
) -> Chosen | None:
    """Walk the best way to have the root in the last run, and in the ``early`` ones; None if there
    is none."""
    results = (*early, len(solution.spans) - 1)
    root = (space.root, (), False)
    if any(root not in solution.cells[index] for index in results):
        return None
    chosen = _walked(space, solution, root, results)
    while appended := chosen.appended:
        # What was appended is read, so the chain goes on for all its readers.
        chosen = _walked(space, chosen.solution.with_longer(appended), root, results)
    chosen.total = sum(
        weights[span.run] * cost for span, cost in zip(solution.spans, chosen.by_run, strict=True)
    )
    return chosen


def _walked(space: Space, solution: Solution, root: Place, results: tuple[int, ...]) -> Chosen:
    chosen = Chosen(solution, root, results, by_run=[0 for _ in solution.spans])
    walk = _Walk(space, chosen)
    for index in results:
        walk.visit(index, chosen.cell(index, root), root)
    walk.finish()
    return chosen


def _is_shared(cell: Cell) -> bool:
    return cell.expression is not None and isinstance(cell.expression.node, Shared)


def inputs_of(cell: Cell, place: Place, index: int) -> tuple[list[Place], list[Partition]]:
    """What a cell is made of in its run: other places, and partitions up to some run."""
    group, _, before = place
    if cell.how is How.EXPRESSION and cell.way is not None:
        return [(ask.group, ask.key, ask.before) for ask in cell.way.asks], []
    if cell.how is How.MOVED:
        return [(group, (), before)], []
    if cell.how is How.SPLIT:
        return [(cell.added, (), False)], []
    if cell.kept is None:
        raise ValueError(f"{place} reads nothing that is kept")
    if cell.how is How.ADDED:
        return [(cell.added, (), False)], [(cell.kept, index - 1)]
    return [], [(cell.kept, index - 1 if before else index)]


class _Walk:
    def __init__(self, space: Space, chosen: Chosen) -> None:
        self._space = space
        self._chosen = chosen
        self._waiting: list[tuple[int, Cell, Place, Partition | None]] = []

    def visit(self, index: int, cell: Cell, place: Place, to: Partition | None = None) -> None:
        """Count a part that is made for a partition, or (None) for the result."""
        self._waiting.append((index, cell, place, to))

    def finish(self) -> None:
        chosen = self._chosen
        while self._waiting:
            index, cell, place, to = self._waiting.pop()
            self._count(index, cell.own, to)
            if cell.how is How.EXPRESSION:
                chosen.worked.add((index, place[0]))
                chosen.keeps = chosen.keeps or _is_shared(cell)
            places, partitions = inputs_of(cell, place, index)
            for below in places:
                self.visit(index, cell.moved or chosen.cell(index, below), below, to)
            delta = cell.how is How.READ and self._space.memo.group(place[0]).step
            for kept, until in partitions:
                if delta and chosen.solution.links[until][kept].start:
                    chosen.appended.add((kept, until))
                chosen.keeps = chosen.keeps or self._is_kept(kept, until, index)
                for made_at in chain(chosen.solution, kept, until):
                    self._partition(kept, made_at)

    def _is_kept(self, kept: Kept, until: int, index: int) -> bool:
        """Whether a reader in the run ``index`` reads a partition of an earlier run."""
        made = list(chain(self._chosen.solution, kept, until))
        start = start_of(self._chosen, kept, until)
        return start is None or any(at < index for at in made)

    def _count(self, index: int, own: int, to: Partition | None) -> None:
        self._chosen.by_run[index] += own
        if to is None:
            costs_of_results = self._chosen.result_costs
            costs_of_results[index] = costs_of_results.get(index, 0) + own
        else:
            costs = self._chosen.partition_costs
            costs[to] = costs.get(to, 0) + own

    def _partition(self, kept: Kept, index: int) -> None:
        chosen = self._chosen
        if (kept, index) in chosen.partitions:
            return
        link = chosen.solution.links[index][kept]
        slot = self._space.slots[kept[0]]
        place = source_of(slot, kept, start=link.start)
        chosen.partitions[kept, index] = place
        self._count(index, link.own, (kept, index))
        self.visit(index, chosen.cell(index, place, made=True), place, (kept, index))


def source_of(slot: Slot, kept: Kept, *, start: bool) -> Place:
    """Where the rows of a partition come from."""
    return (slot.whole if start else slot.delta, kept[1], False)


def start_of(chosen: Chosen, kept: Kept, until: int) -> int | None:
    """The run in which a chain starts; None if it did so before the runs that are planned."""
    for index in chain(chosen.solution, kept, until):
        if chosen.solution.links[index][kept].start:
            return chosen.solution.spans[index].run
    return None


def chain(solution: Solution, kept: Kept, until: int) -> Iterator[int]:
    """The indices of the runs whose partitions make up a chain, latest first; what was committed
    before the first of them is there."""
    for index in range(until, -1, -1):
        link = solution.links[index].get(kept)
        if link is None:
            return
        yield index
        if link.start:
            return
