"""Stages say what their cost is made of: times the prices, it is the cost
(forerun.planner.cost.work)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.engines import ENGINES
from forerun.planner import api
from forerun.planner.contract.codec import decode_plan, encode_plan
from forerun.planner.contract.plan_v1 import Plan
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.request import Method, PlanRequest
from tests.planner.materialize.test_own_batch import request_of
from tests.planner.starts import OPEN

QUICK = ("q01", "q03", "q13", "q18", "q21")
QUERIES = tuple(
    pytest.param(query, marks=() if query in QUICK else pytest.mark.slow)
    for query in (f"q{number:02}" for number in range(1, 23))
)


def asked(query: str, method: Method, prices: Prices = SPARK) -> PlanRequest:
    request = request_of(query, early=0.25, method=method)
    return replace(request, settings=replace(request.settings, prices=prices))


def assert_work_adds_up(plan: Plan, prices: Prices, run_start: float) -> None:
    """The work of a stage is its cost, and the stages of a run are what the search charged for the
    run beside its start (nothing is declared here that a run would have to check)."""
    assert decode_plan(encode_plan(plan)) == plan
    opened = [run for run in plan.runs if run.stages]
    assert opened
    for run in opened:
        for stage in run.stages:
            cost = sum(getattr(prices, name) * count for name, count in stage.work)
            assert cost == pytest.approx(stage.estimated_cost, rel=1e-4, abs=100), stage.title
        charged = run_start + sum(stage.estimated_cost for stage in run.stages)
        assert charged == pytest.approx(run.estimated_cost, rel=1e-6, abs=100), run.index


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("method", ["auto", "progressive", "batch"])
def test_work_times_prices_is_the_cost_of_every_stage(query: str, method: Method) -> None:
    plan = api.plan(asked(query, method)).plan
    assert_work_adds_up(plan, SPARK, 0.0 if method == "progressive" else SPARK.run_start)


@pytest.mark.parametrize("prices", [SPARK.in_group(), ENGINES["sail"].prices, OPEN])
def test_so_it_is_at_other_prices(prices: Prices) -> None:
    for query in ("q03", "q18"):
        assert_work_adds_up(api.plan(asked(query, "progressive", prices)).plan, prices, 0.0)
