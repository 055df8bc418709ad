"""The greedy search for what is kept, beside the best of all sets of kept partitions; and when it
is enough to keep things as early as they can be (Tempura 6.3, Algorithm 1 and Theorem 7)."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, combinations

import pytest

from planner.api import PlanResult, plan
from planner.cost.operators import Size
from planner.materialize.search import Search
from planner.memo.memo import Expression, GroupId
from planner.request import PlanRequest, TimePoint
from planner.temporal.chosen import choose
from planner.temporal.fill import Terms
from planner.temporal.solve import Solver
from planner.temporal.space import Key, Space
from planner.temporal.tables import Kept, Partition
from planner.temporal.ways import Span, Way, Ways
from tests.planner.temporal.test_every_plan import FREE, QUERIES, SOURCES, RandomWays, explored

MOST_PARTITIONS = 9
PROBLEMS = 30
OF_ONE_TABLE = tuple(sql for sql in QUERIES if "JOIN" not in sql and "EXISTS" not in sql)


@dataclass(frozen=True)
class Sets:
    """A problem, with the search for what to keep and all that could be kept."""

    space: Space
    solver: Solver
    weights: dict[int, int]

    def greedy(self) -> int:
        search = Search(self.space, self.solver, self.weights, tries=24)
        first = search.first()
        assert first is not None
        return search.better(first).total

    def partitions(self) -> list[Partition]:
        links = self.solver.solve().links
        return sorted((kept, index) for index, made in enumerate(links) for kept in made)

    def best(self) -> int:
        """The cheapest plan over every set of partitions that may be shared."""
        every = self.partitions()
        sets = chain.from_iterable(combinations(every, n) for n in range(len(every) + 1))
        found = (self._total(frozenset(shared)) for shared in sets)
        return min(total for total in found if total is not None)

    def _total(self, shared: frozenset[Partition]) -> int | None:
        chosen = choose(self.space, self.solver.solve(shared), self.weights)
        return None if chosen is None else chosen.total


def random_sets(seed: int) -> Sets | None:
    """A small query over tables of random sizes, with random prices and arrivals; None where there
    is more to keep than can be tried."""
    rng = random.Random(f"sets {seed}")
    sources = tuple(replace(s, rows=round(10 ** rng.uniform(4, 8))) for s in SOURCES)
    weights = sorted(rng.uniform(0.1, 1.0) for _ in range(rng.choice((2, 2, 3))))
    arrived = [*sorted(rng.uniform(0.1, 0.9) for _ in weights[1:]), 1.0]
    points = (TimePoint(weight=w, arrived=a) for w, a in zip(weights, arrived, strict=True))
    sql = QUERIES[seed % len(QUERIES)]
    found = plan(PlanRequest(report="r", sql=sql, sources=sources, points=tuple(points)))
    spans = tuple(Span(i, i + 1) for i in range(len(weights)))
    by_run = {run: round(1e6 * weight) for run, weight in enumerate(weights, 1)}
    ways, twins = Ways(found.space, found.figures), found.families.twins
    terms = Terms(stage_cost=rng.choice((0, 10_000, 150_000)))
    sets = Sets(
        found.space,
        Solver(found.space, ways, spans, by_run, frozenset(), twins, terms),
        by_run,
    )
    return sets if len(sets.partitions()) <= MOST_PARTITIONS else None


def random_costs(seed: int) -> Sets | None:
    """A small query whose operators cost anything in any run, so that choices are harder than they
    are with estimates; three chains may be kept over three runs."""
    rng = random.Random(f"costs {seed}")
    found = explored(QUERIES[seed % len(QUERIES)])
    space = _with_few_chains(found.space, rng, 3)
    by_run = {run: rng.randint(1, 9) for run in (1, 2, 3)}
    spans = (Span(0, 1), Span(1, 2), Span(2, 3))
    ways = RandomWays(found, f"{seed}", 1.0)
    sets = Sets(space, Solver(space, ways, spans, by_run, frozenset(), {}, Terms()), by_run)
    return sets if len(sets.partitions()) <= MOST_PARTITIONS else None


def _with_few_chains(space: Space, rng: random.Random, count: int) -> Space:
    chains = [(slot.index, key) for slot in space.slots for key in space.keys[slot.index]]
    few, other = rng.sample(chains, min(count, len(chains))), copy.copy(space)
    other.keys = tuple(
        tuple(key for key in keys if (index, key) in few) for index, keys in enumerate(space.keys)
    )
    return other


@pytest.mark.parametrize("problem", [random_sets, random_costs])
def test_greedy_is_never_better_than_the_best_set_and_seldom_worse(
    problem: Callable[[int], Sets | None],
) -> None:
    """The gap that docs/benchmarks.md reports; run with ``-s`` to see it."""
    gaps = []
    for seed in range(1000):
        sets = problem(seed)
        if sets is None:
            continue
        greedy, best = sets.greedy(), sets.best()
        assert greedy >= best, seed
        gaps.append(greedy / best - 1 if best else float(greedy > 0))
        if len(gaps) == PROBLEMS:
            break
    worse = [gap for gap in gaps if gap > 1e-9]
    print(
        f"{problem.__name__}: {len(worse)} of {len(gaps)} problems above the best of up to "
        f"2**{MOST_PARTITIONS} sets, mean gap {sum(gaps) / len(gaps):.2%}, largest {max(gaps):.2%}"
    )
    assert len(gaps) == PROBLEMS
    assert sum(gaps) / len(gaps) < 0.02


class SameEveryRun(Ways):
    """All data is there at the first run: whatever comes later is nothing, so what is kept goes on
    for nothing; and computing something costs the same whenever it is done. Of one table: a join
    may also be computed as a step, from what was there and what came."""

    def __init__(self, found: PlanResult, seed: int) -> None:
        super().__init__(found.space, found.figures, prices=replace(FREE, write_row=1.0))
        self._seed = seed

    def size(self, group: GroupId, before: bool, span: Span) -> Size:
        rng = random.Random(f"{self._seed} {group}")
        return Size(0.0 if self._memo.group(group).step else float(rng.randint(0, 3)), 0.0)

    def of(self, expression: Expression, key: Key, before: bool, span: Span) -> tuple[Way, ...]:
        step = self._memo.group(expression.group).step
        ways = []
        for way in super().of(expression, key, before, span):
            rng = random.Random(f"{self._seed} {expression.id} {way.asks} {way.gives}")
            own = 0 if step or before else rng.randint(0, 20)
            ways.append(way._replace(own=own, hashes=None, gain=0))
        return tuple(ways)


def earliest_and_any(seed: int, weights: tuple[int, ...]) -> tuple[int, int]:
    """What the best plan costs if things are kept as early as they can be, and if at any time: over
    every set of partitions of two chains that are there to be kept."""
    found = explored(OF_ONE_TABLE[seed % len(OF_ONE_TABLE)])
    spans = tuple(Span(i, i + 1) for i in range(len(weights)))
    by_run = dict(enumerate(weights, 1))
    ways, none = SameEveryRun(found, seed), frozenset[Kept]()
    space = _with_few_chains(found.space, random.Random(seed), 2)
    earliest, any_time = (
        Sets(space, Solver(space, ways, spans, by_run, none, {}, Terms(late=late)), by_run).best()
        for late in (False, True)
    )
    return earliest, any_time


@pytest.mark.parametrize("start", range(0, 60, 12))
def test_theorem_7_the_earliest_time_is_enough_where_weights_rise(start: int) -> None:
    """Strictly rising weights, and nothing to pay for holding what is kept."""
    rng = random.Random(f"rising {start}")
    saved = 0
    for seed in range(start, start + 12):
        weights = tuple(sorted(rng.sample(range(1, 20), 3)))
        earliest, any_time = earliest_and_any(seed, weights)
        assert earliest == any_time, (seed, weights)
        saved += earliest < earliest_and_any(seed, (weights[-1],) * 3)[0]
    assert saved


def test_theorem_7_needs_rising_weights() -> None:
    """Where an early run is the dear one, it can be better to keep things later."""
    pairs = [earliest_and_any(seed, (9, 1, 10)) for seed in range(3 * len(OF_ONE_TABLE))]
    assert any(any_time < earliest for earliest, any_time in pairs)
