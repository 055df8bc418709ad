"""The temporal search: costing only the cone above a change gives what costing all again gives, and
a chosen plan never costs more than one that shares nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.api import plan
from forerun.planner.request import PlanRequest, Settings, TimePoint
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.extraction import extract_plan
from forerun.planner.temporal.group_costs import DpProblem
from forerun.planner.temporal.solution import Partition
from forerun.planner.temporal.solve import Solver
from tests.planner.sql.tpch import SOURCES
from tests.planner.starts import CHEAP_RUNS

QUERIES = [Path(__file__).parents[2] / "tpch" / f"q{n:02}.sql" for n in (1, 3, 4, 13, 15, 18, 21)]
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.25, 0.5), (0.3, 0.8), (1.0, 1.0)))
WEIGHTS = {1: 250_000, 2: 300_000, 3: 1_000_000}
SPANS = (Span(0, 1), Span(1, 2), Span(2, 3))


def solver_of(path: Path) -> Solver:
    growing = ("orders", "lineitem", "customer", "partsupp")
    sources = tuple(replace(s, changing=s.name in growing, rows=10**6) for s in SOURCES)
    found = plan(
        PlanRequest(
            report="r",
            sql=path.read_text(),
            sources=sources,
            points=POINTS,
            settings=Settings(prices=CHEAP_RUNS),
        )
    )
    alternatives = AlternativeEnumerator(found.space, found.group_sizes, prices=CHEAP_RUNS)
    twins = found.families.twins
    return Solver(DpProblem(found.space, alternatives, SPANS, WEIGHTS, twins=twins))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_the_cone_above_a_change_is_all_that_changes(path: Path) -> None:
    solver = solver_of(path)
    near = solver.solve()
    made = sorted(
        (kept, i) for i, chain_costs in enumerate(near.chain_costs) for kept in chain_costs
    )
    rng = random.Random(path.stem)
    for _ in range(6):
        shared: frozenset[Partition] = frozenset(rng.sample(made, rng.randint(0, len(made))))
        again, whole = solver.solve(shared, near), solver.solve(shared)
        assert again.entries == whole.entries
        assert again.made == whole.made
        assert again.chain_costs == whole.chain_costs
        assert again.extended == whole.extended
        near = again


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_what_comes_out_the_same_is_not_looked_above(path: Path) -> None:
    """A difference spreads as far as something differs: nothing is costed again where it does not,
    and less than all above what is shared where it does."""
    solver = solver_of(path)
    near = solver.solve()
    whole = solver.evaluations
    solver.solve(frozenset(), near)
    assert solver.evaluations == whole
    made = sorted(
        (kept, i) for i, chain_costs in enumerate(near.chain_costs) for kept in chain_costs
    )
    for partition in made:
        solver.solve(frozenset({partition}), near)
    assert solver.evaluations - whole < 0.4 * whole * len(made)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_partition_is_paid_for_once(path: Path) -> None:
    """What a plan costs is what its runs cost, weighted; sharing what it uses is never dearer."""
    solver = solver_of(path)
    first = solver.solve()
    chosen = extract_plan(solver._space, first, WEIGHTS)
    assert chosen is not None
    assert chosen.total == sum(WEIGHTS[i] * cost for i, cost in enumerate(chosen.by_run, 1))
    parts = (*chosen.result_costs.values(), *chosen.partition_costs.values())
    assert sum(chosen.by_run) == sum(parts)
    assert chosen.total <= first.entries[-1][chosen.root].cost
