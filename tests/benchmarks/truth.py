"""What a plan costs by other figures than it was made with: the same operators, exchanges, reads
and writes, over as many rows as there are in truth."""

from __future__ import annotations

from collections.abc import Mapping

from planner.algebra.relational import Filter, Relation
from planner.algebra.scalar import Scalar
from planner.cost import operators
from planner.memo.memo import Memo
from planner.request import PlanRequest
from planner.stats.estimate import Estimator
from planner.stats.values import Estimate, resized
from planner.temporal.chosen import Chosen, chain, inputs_of, source_of
from planner.temporal.figures import Figures
from planner.temporal.space import Space
from planner.temporal.store_costs import StoreCosts
from planner.temporal.tables import Cell, How, Kept, Partition, Place
from planner.temporal.ways import Way, Ways


class _TrueEstimator(Estimator):
    """An estimator that knows how many times as many rows some predicates let through."""

    def __init__(self, other: Estimator, through: Mapping[Scalar, float]) -> None:
        super().__init__((), {})
        self._sources, self._rows = other._sources, other._rows
        self._determined = other._determined
        self._through = through

    def of_node(self, node: Relation, inputs: tuple[Estimate, ...]) -> Estimate:
        estimate = super().of_node(node, inputs)
        if not isinstance(node, Filter) or node.predicate not in self._through:
            return estimate
        below = inputs[0]
        rows = min(below.rows, estimate.rows * self._through[node.predicate])
        return Estimate(rows=rows, columns=resized(below.columns, below.rows, rows))


class TrueFigures(Figures):
    """Of the groups of a memo, by a request with the right rows and arrivals. ``through``: how many
    times the rows that are estimated a predicate lets through."""

    def __init__(self, memo: Memo, request: PlanRequest, through: Mapping[Scalar, float]) -> None:
        super().__init__(memo, request)
        self._estimators = [_TrueEstimator(one, through) for one in self._estimators]


def true_costs(space: Space, chosen: Chosen, figures: Figures, stage_cost: int) -> list[int]:
    """The cost of each opened run of a plan, without what opening it costs."""
    return _Replay(space, chosen, figures, stage_cost).costs()


def written_rows(
    space: Space, chosen: Chosen, figures: Figures, index: int
) -> Mapping[Kept, float]:
    """Rows of the partitions that an opened run writes, by chain."""
    span = chosen.solution.spans[index]
    ways = Ways(space, figures)
    rows = {}
    for kept, at in chosen.used:
        if at == index:
            slot = space.slots[kept[0]]
            start = chosen.solution.links[index][kept].start
            group = slot.snapshot if start else slot.delta
            rows[kept] = ways.size(group, False, span).rows
    return rows


class _Replay:
    """Walks what was chosen, as :mod:`planner.temporal.chosen` does."""

    def __init__(self, space: Space, chosen: Chosen, figures: Figures, stage_cost: int) -> None:
        self._space = space
        self._chosen = chosen
        self._ways = Ways(space, figures)
        self._store = StoreCosts(self._ways, chosen.solution.spans, stage_cost)
        self._waiting: list[tuple[int, Cell, Place]] = []
        self._made: set[Partition] = set()

    def costs(self) -> list[int]:
        chosen = self._chosen
        by_run = [0 for _ in chosen.solution.spans]
        for index in chosen.results:
            self._waiting.append((index, chosen.cell(index, chosen.root), chosen.root))
        while self._waiting:
            index, cell, place = self._waiting.pop()
            by_run[index] += self._own(index, cell, place)
            places, partitions = inputs_of(cell, place, index)
            for below in places:
                self._waiting.append((index, cell.moved or chosen.cell(index, below), below))
            for kept, until in partitions:
                for at in chain(chosen.solution, kept, until):
                    by_run[at] += self._partition(kept, at)
        return by_run

    def _partition(self, kept: Kept, index: int) -> int:
        if (kept, index) in self._made:
            return 0
        self._made.add((kept, index))
        start = self._chosen.solution.links[index][kept].start
        slot = self._space.slots[kept[0]]
        place = source_of(slot, kept, start=start)
        self._waiting.append((index, self._chosen.cell(index, place, made=True), place))
        return self._store.written(slot.snapshot if start else slot.delta, index)

    def _own(self, index: int, cell: Cell, place: Place) -> int:
        group, _, before = place
        span = self._chosen.solution.spans[index]
        if cell.how is How.EXPRESSION and cell.expression is not None and cell.way is not None:
            return self._of_way(index, cell, cell.way, place)
        if cell.how is How.MOVED:
            return self._store.moved(group, index, before)
        if cell.how is How.SPLIT or cell.slot is None:
            return 0
        if cell.how is How.ADDED:
            added = dict(self._store.added(cell.slot, group, index))
            return added[cell.added]
        if cell.expression is not None:
            return self._store.stamped(cell.slot, index)
        if self._space.memo.group(group).step:
            size = self._ways.size(cell.slot.delta, False, span)
            return round(operators.read(size, self._ways.prices))
        return self._store.read(cell.slot, group, index, before)[0]

    def _of_way(self, index: int, cell: Cell, way: Way, place: Place) -> int:
        """The same way by the right sizes. Where a side turns out to be too large to be broadcast,
        Spark shuffles both."""
        if cell.expression is None:
            raise ValueError(f"{place} is computed by nothing")
        span, wanted = self._chosen.solution.spans[index], self._space.wanted[place[0]]
        ways = [
            one for key in wanted for one in self._ways.of(cell.expression, key, place[2], span)
        ]
        same = [one for one in ways if (one.asks, one.gives) == (way.asks, way.gives)]
        if same:
            best = min(same, key=lambda one: one.own)
            return best.own - (best.gain if cell.hashed else 0)
        other = min(ways, key=lambda one: one.own)
        return other.own + sum(
            self._store.moved(ask.group, index, ask.before) for ask in other.asks if ask.key
        )
