"""Early runs at the prices of another engine: what a run costs is the product of its weight and its
prices, so where all prices of early runs are half as high, the plan is that of half the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from forerun.include.engines import ENGINES
from forerun.planner import api
from forerun.planner.algebra.relational import Relation
from forerun.planner.contract import Plan
from forerun.planner.cost.prices import SPARK, STARTS, Prices
from forerun.planner.materialize.diss import BudgetStep
from forerun.planner.materialize.diss_actions import steps_of
from forerun.planner.request import Method, PlanRequest, Problem, ivm
from forerun.planner.stages import build
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.group_costs import DpProblem
from forerun.planner.temporal.solution import ChainId
from forerun.planner.temporal.solve import Solver
from tests.planner.materialize.test_budget import Small
from tests.planner.materialize.test_own_batch import request_of

HALF = SPARK.times(0.5).with_prices({name: 0.5 * SPARK.of(name) for name in STARTS})
QUERIES = ("q01", "q04", "q12", "q15", "q21")
APART = replace(ENGINES["sail"].apart, buckets=False)
KEYLESS = replace(SPARK, buckets=False)


def asked(query: str, *, early: float = 0.25, **settings: object) -> PlanRequest:
    request = request_of(query, early)
    return replace(request, settings=replace(request.settings, small_sides=False, **settings))


def kept_by(plan: Plan) -> list[str]:
    return sorted(family.title for family in plan.families)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("method", "budget"), [("auto", None), ("auto", 10**8), ("im1", None)])
def test_half_the_prices_are_half_the_weight(
    query: str, method: Method, budget: int | None
) -> None:
    priced = replace(asked(query, early_prices=HALF, state_budget=budget), method=method)
    weighed = replace(asked(query, early=0.125, state_budget=budget), method=method)
    found, expected = api.plan(priced).plan, api.plan(weighed).plan
    assert found.estimated_cost == pytest.approx(expected.estimated_cost, rel=1e-6)
    assert kept_by(found) == kept_by(expected)
    for run, other in zip(found.runs[:-1], expected.runs[:-1], strict=True):
        assert run.estimated_cost == pytest.approx(0.5 * other.estimated_cost, rel=1e-6)
    assert found.runs[-1].estimated_cost == pytest.approx(expected.runs[-1].estimated_cost)


@pytest.mark.parametrize("query", QUERIES)
def test_an_engine_with_the_same_prices_changes_nothing(query: str) -> None:
    found = api.plan(asked(query, early_prices=SPARK)).plan
    assert found == api.plan(asked(query)).plan


def test_runs_that_give_a_result_have_the_prices_of_the_final_run() -> None:
    request = asked("q01", prices=KEYLESS, early_prices=APART)
    assert [request.prices_of(run) for run in (1, 2, 3)] == [APART, APART, KEYLESS]
    of_results = replace(request, problem=Problem(results_at=(2,)))
    assert [of_results.prices_of(run) for run in (1, 2, 3)] == [APART, KEYLESS, KEYLESS]
    assert replace(request, problem=ivm(3)).early_runs == frozenset()


@pytest.mark.parametrize("query", ["q01", "q03", "q13", "q18"])
def test_work_times_the_prices_of_its_run_is_the_cost_of_a_stage(query: str) -> None:
    request = replace(asked(query, prices=KEYLESS, early_prices=APART), method="progressive")
    plan = api.plan(request).plan
    assert all(run.stages for run in plan.runs)
    for run in plan.runs:
        prices: Prices = request.prices_of(run.index)
        for stage in run.stages:
            cost = sum(prices.of(name) * count for name, count in stage.work)
            assert cost == pytest.approx(stage.estimated_cost, rel=1e-4, abs=100), stage.title


@pytest.mark.parametrize("seed", range(4))
def test_so_they_are_where_bytes_are_weighed_against_costs(seed: int) -> None:
    small = Small(seed)
    early = frozenset(list(small.weights)[:-1])
    given = small.day.alternatives
    halved = {run: weight // 2 if run in early else weight for run, weight in small.weights.items()}
    priced = steps_at(small, given.with_early(early, HALF), small.weights)
    weighed = steps_at(small, given, halved)
    assert [step.bytes for step in priced] == [step.bytes for step in weighed]
    for one, other in zip(priced, weighed, strict=True):
        assert one.cost == pytest.approx(other.cost, rel=1e-4)


def steps_at(
    small: Small, alternatives: AlternativeEnumerator, weights: Mapping[int, int]
) -> tuple[BudgetStep[ChainId], ...]:
    """What is kept by bytes, with what the day then costs."""
    spans, twins = small.day.near.spans, small.day.twins
    near = Solver(DpProblem(small.space, alternatives, spans, weights, twins=twins)).solve()
    return steps_of(replace(small.day, alternatives=alternatives, near=near, weights=weights))


def test_each_stage_is_written_for_the_engine_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def written(prices: Prices, _ids: object, relation: Relation) -> Relation:
        seen.append(prices.flaws)
        return relation

    monkeypatch.setattr(build, "written_for", written)
    api.plan(replace(asked("q03", prices=KEYLESS, early_prices=APART), method="progressive"))
    assert set(seen) == {APART.flaws, frozenset()}


def test_stages_are_written_for_the_engine_of_their_run() -> None:
    """A quotient of the small engine is written otherwise; its result and side tables are none."""
    request = replace(asked("q01", prices=KEYLESS, early_prices=APART), method="progressive")
    settings = replace(request.settings, small_sides=True)
    runs = api.plan(replace(request, settings=settings)).plan.runs
    everywhere = replace(settings, prices=APART, early_prices=None)
    small = api.plan(replace(request, settings=everywhere)).plan.runs
    spark = api.plan(replace(request, settings=replace(settings, early_prices=None))).plan.runs
    assert runs[0].stages
    assert [s.sql for s in runs[0].stages] == [s.sql for s in small[0].stages]
    assert runs[2].stages[-1].output == spark[2].stages[-1].output
    assert runs[2].stages[-1].output != small[2].stages[-1].output
    assert not any(stage.small_sides for run in runs[:-1] for stage in run.stages)
