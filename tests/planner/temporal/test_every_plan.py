"""The temporal search finds the best of all plans: 500 random problems of four runs, under both
cost functions, against a list of every plan there is.

What is random: what every operator costs in every run, how many rows every group has, which ways
and distributions there are at all, which chains an earlier run has committed, the weights. The
shapes are those of small queries. Problems with too many plans to list are thinned out until they
have few enough. Left out: the gain of hashing a side of a join whose other side happens to be in
place, which the search takes where it finds it and does not look for.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, fields, replace
from functools import cache

import pytest

from forerun.planner.algebra.relational import Join, Scan
from forerun.planner.algebra.types import BIGINT
from forerun.planner.api import PlanResult, plan
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import Prices
from forerun.planner.materialize.objective import ABOVE_ALL_COSTS
from forerun.planner.materialize.sharing import GreedySharing
from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import AsOf, Span
from forerun.planner.temporal.extraction import extract_plan
from forerun.planner.temporal.group_costs import DpProblem
from forerun.planner.temporal.physical import PhysicalAlternative
from forerun.planner.temporal.solution import ChainId, ChainTerms
from forerun.planner.temporal.solve import Solver
from forerun.planner.temporal.space import Key, Space
from tests.planner.temporal.every_plan import EveryPlan, Spent, TooManyError
from tests.selection import few

pytestmark = pytest.mark.search
PROBLEMS, CHUNK = 500, 50
MOST_PLANS, THINNEST = 1000, 12
RUNS = 4


def source(name: str, *columns: str, changing: bool = True) -> Source:
    typed = tuple(SourceColumn(name=column, type=BIGINT) for column in columns)
    return Source(name=name, columns=typed, changing=changing, rows=10**6)


SOURCES = (source("r", "k", "g", "v"), source("s", "k", "h"), source("t", "k", "h", changing=False))
QUERIES = (
    "SELECT k, v FROM r WHERE g > 3",
    "SELECT g, sum(v) AS x FROM r GROUP BY g",
    "SELECT sum(v) AS x FROM r",
    "SELECT r.k, r.v, t.h FROM r JOIN t ON r.k = t.k",
    "SELECT t.h, count(*) AS n FROM r JOIN t ON r.k = t.k GROUP BY t.h",
    "SELECT r.k, s.h FROM r JOIN s ON r.k = s.k",
    "SELECT r.k, s.h FROM r LEFT JOIN s ON r.k = s.k",
    "SELECT k FROM r UNION ALL SELECT k FROM s",
    "SELECT DISTINCT g FROM r",
    "SELECT g, max(v) AS x FROM r GROUP BY g ORDER BY x LIMIT 3",
    "SELECT k, g FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k)",
    "SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY v) AS m FROM r GROUP BY g",
    "SELECT g, v, rank() OVER (PARTITION BY g ORDER BY v) AS x FROM r",
    "SELECT g, count(*) AS n FROM (SELECT g, sum(v) OVER (PARTITION BY g) AS x FROM r) GROUP BY g",
    "SELECT x, count(*) AS n FROM (SELECT g, sum(v) AS x FROM r GROUP BY g) GROUP BY x",
)


FREE = replace(Prices(**{price.name: 0 for price in fields(Prices)}), beside=())


class RandomWays(AlternativeEnumerator):
    """Each way with a cost of its own in each run, and some of them not there. Reading a row, or
    writing or moving it, costs 1; a partition costs ``stage_start`` more."""

    def __init__(
        self, found: PlanResult, seed: str, there: float, stage_start: float = 0.0
    ) -> None:
        prices = replace(
            FREE, stage_start=stage_start, scan_row=1.0, write_row=1.0, exchange_row=1.0
        )
        super().__init__(found.space, found.group_sizes, prices=prices)
        self._seed = seed
        self._there = there

    def size(self, group: GroupId, before: bool, span: Span) -> Size:
        rng = random.Random(f"{self._seed} {group} {before} {span}")
        return Size(float(rng.randint(0, 1)), 0.0)

    def as_of(self, group: GroupId, before: bool, span: Span) -> AsOf:
        return AsOf(2 * span.base + before, span.run)  # nothing is the same in two runs

    def of(
        self, expression: Expression, key: Key, before: bool, span: Span
    ) -> tuple[PhysicalAlternative, ...]:
        alternatives = []
        for alternative in super().of(expression, key, before, span):
            rng = random.Random(f"{self._seed} {expression.id} {alternative} {before} {span}")
            own = rng.randint(0, 4)
            if rng.random() < self._there or not alternative.requirements:
                alternatives.append(alternative._replace(own=own, hashed_input=None, hash_gain=0))
        return tuple(alternatives)


@dataclass(frozen=True)
class Problem:
    """``costs``: of every plan, by run."""

    found: PlanResult
    space: Space
    alternatives: AlternativeEnumerator
    spans: tuple[Span, ...]
    committed: frozenset[ChainId]
    terms: ChainTerms
    weights: dict[int, int]
    costs: frozenset[Spent]

    def best(self, weights: dict[int, int]) -> tuple[int, Spent]:
        """What the search finds: the cost of the result in the last run, and the costs by run of
        the plan that it stands for."""
        twins = self.found.families.twins
        given = (
            self.space,
            self.alternatives,
            self.spans,
            weights,
            self.committed,
            twins,
            self.terms,
        )
        solution = Solver(DpProblem(*given)).solve()
        chosen = extract_plan(self.space, solution, weights)
        assert chosen is not None
        return solution.entries[-1][chosen.root].cost, tuple(chosen.by_run)


@cache
def explored(sql: str) -> PlanResult:
    count = RUNS + 1  # a run that is committed may go before the others
    points = tuple(TimePoint(weight=1.0, arrived=(i + 1) / count) for i in range(count))
    return plan(PlanRequest(report="r", sql=sql, sources=SOURCES, points=points))


def random_problem(number: int) -> Problem:
    """The first of a row of problems, each thinner than the one before, that has a plan and not too
    many of them."""
    for seed in range(number, 100_000, PROBLEMS):
        found = explored(QUERIES[seed % len(QUERIES)])
        for thin in range(THINNEST):
            problem = _random(found, f"{seed} {thin}", there=0.85 * 0.8**thin)
            if problem is not None:
                return problem
    raise AssertionError("no problem is small enough")


def _random(found: PlanResult, seed: str, there: float) -> Problem | None:
    rng = random.Random(seed)
    space = copy.copy(found.space)
    space.keys = tuple(
        tuple(key for key in keys if rng.random() < there**0.3) for keys in found.space.keys
    )
    terms = ChainTerms(late=rng.random() < 0.7)
    alternatives = RandomWays(found, seed, there, stage_start=rng.randint(0, 3))
    base = rng.choice((0, 0, 1))
    spans = tuple(Span(base + i, base + i + 1) for i in range(RUNS))
    chains = [(slot.index, key) for slot in space.slots for key in space.keys[slot.index]]
    committed = frozenset(rng.sample(chains, rng.randint(0, len(chains))) if base else ())
    weights = {span.run: rng.randint(1, 9) for span in spans}
    every = EveryPlan(
        space, alternatives, spans, committed, found.families.twins, terms, MOST_PLANS
    )
    try:
        costs = every.of_result()
    except TooManyError:
        return None
    if not costs:
        return None
    return Problem(found, space, alternatives, spans, committed, terms, weights, costs)


@pytest.mark.parametrize("start", few(range(0, PROBLEMS, CHUNK), 2))
def test_the_search_finds_the_best_of_all_plans(start: int) -> None:
    plans = kept = 0
    for number in range(start, start + CHUNK):
        problem = random_problem(number)
        weighted = min(
            sum(problem.weights[span.run] * c for span, c in zip(problem.spans, cost, strict=True))
            for cost in problem.costs
        )
        assert problem.best(problem.weights)[0] == weighted, number
        last_first = min(problem.costs, key=lambda cost: tuple(reversed(cost)))
        powers = {span.run: ABOVE_ALL_COSTS**i for i, span in enumerate(problem.spans)}
        found = problem.best(powers)[0]
        assert tuple(found // p % ABOVE_ALL_COSTS for p in powers.values()) == last_first, number
        plans += len(problem.costs)
        kept += any(last_first[:-1])
    assert plans >= 50 * CHUNK
    assert kept >= CHUNK // 5


class JoinOfTen(AlternativeEnumerator):
    """A join of one row that costs 10 wherever it is computed whole; all else is free."""

    def __init__(self, found: PlanResult, prices: Prices) -> None:
        super().__init__(found.space, found.group_sizes, prices=prices)
        self._join = found.space.root

    def size(self, group: GroupId, before: bool, span: Span) -> Size:
        return Size(1.0 if group == self._join else 0.0, 0.0)

    def of(
        self, expression: Expression, key: Key, before: bool, span: Span
    ) -> tuple[PhysicalAlternative, ...]:
        own = 10 if self._memo.leader(expression.group) == self._join else 0
        return tuple(
            alternative._replace(own=own)
            for alternative in super().of(expression, key, before, span)
        )


@pytest.mark.parametrize(
    ("weights", "costs"),
    [
        ((6, 10), (0, 10)),
        ((2, 10), (15, 4)),
        ((1, ABOVE_ALL_COSTS), (15, 4)),
    ],
    ids=["0.6 and 1", "0.2 and 1", "last run first"],
)
def test_the_example_of_section_6_2(weights: tuple[int, int], costs: Spent) -> None:
    """Computing a join costs 10, saving it 5, loading it 4, and nothing comes after the first run:
    either (0, 10), or (15, 4)."""
    found = explored("SELECT r.k, s.h FROM r JOIN s ON r.k = s.k")
    space = found.space
    alternatives = JoinOfTen(found, replace(FREE, write_row=5.0, scan_row=4.0))
    by_run = dict(zip((1, 2), weights, strict=True))
    spans = (Span(0, 1), Span(1, 2))
    solution = Solver(DpProblem(space, alternatives, spans, by_run)).solve()
    chosen = extract_plan(space, solution, by_run)
    assert chosen is not None
    assert tuple(chosen.by_run) == costs
    every = EveryPlan(
        space, alternatives, spans, frozenset(), {}, ChainTerms(), MOST_PLANS
    ).of_result()
    assert {(0, 10), (15, 4)} <= every


class SmallThenBig(AlternativeEnumerator):
    """Scanning a table costs 1, moving it 2, a shuffled join of two that are in place 1. To
    broadcast one costs 3 in the first run, when it is small, and 50 later; so do other joins."""

    def __init__(self, found: PlanResult) -> None:
        super().__init__(
            found.space,
            found.group_sizes,
            prices=replace(FREE, exchange_row=1.0, broadcast_bytes=1.0),
        )
        self._join = join_of(found)

    def size(self, group: GroupId, before: bool, span: Span) -> Size:
        known = self._memo.group(group)
        return Size(0.0 if known.step else 2.0, 0.0)

    def of(
        self, expression: Expression, key: Key, before: bool, span: Span
    ) -> tuple[PhysicalAlternative, ...]:
        def own(alternative: PhysicalAlternative) -> int:
            if not isinstance(expression.node, Join):
                return int(isinstance(expression.node, Scan))
            if self._memo.leader(expression.group) == self._join and is_shuffled(alternative):
                return 1
            return 50 if span.run > 1 else 3

        alternatives = super().of(expression, key, before, span)
        return tuple(
            alternative._replace(own=own(alternative), hashed_input=None, hash_gain=0)
            for alternative in alternatives
        )


def join_of(found: PlanResult) -> GroupId:
    written = (one for one in found.space.memo.expressions if not one.origin)
    return next(one.group for one in written if isinstance(one.node, Join))


def is_shuffled(alternative: PhysicalAlternative) -> bool:
    return bool(alternative.requirements) and all(
        requirement.key for requirement in alternative.requirements
    )


@pytest.mark.parametrize(("runs", "shuffled"), [(1, False), (2, True)], ids=["alone", "together"])
def test_runs_that_prefer_different_joins_are_planned_together(runs: int, shuffled: bool) -> None:
    """Section 2.2 (3): in the first run alone a broadcast is cheaper; with a later run, for which
    the rows are put in place and kept, the first run reads these, too."""
    found = explored("SELECT r.k, s.h FROM r JOIN s ON r.k = s.k")
    spans = (Span(0, 1), Span(1, 2))[:runs]
    by_run = {1: 1, 2: 10}
    alternatives = SmallThenBig(found)
    solver = Solver(DpProblem(found.space, alternatives, spans, by_run))
    chosen = GreedySharing(found.space, solver, by_run, tries=20, early=(0,)[: runs - 1]).first()
    assert chosen is not None
    alternative = chosen.entry(0, (join_of(found), (), False)).alternative
    assert alternative is not None
    assert is_shuffled(alternative) == shuffled
    assert chosen.by_run[0] == (7 if shuffled else 5)
