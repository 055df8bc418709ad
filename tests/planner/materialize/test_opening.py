"""Which runs are opened: by cost, as they were asked for, and when nothing repays them."""

from __future__ import annotations

import pytest

from forerun.planner import api
from forerun.planner.contract.plan_v1 import ArtifactOutput
from forerun.planner.request import PlanRequest, Settings, TimePoint
from tests.planner.sales import SALES
from tests.planner.starts import CHEAP_RUNS

SUMS = "SELECT g, sum(v) AS s FROM sales GROUP BY g"
ROWS = "SELECT k, g, v FROM sales"
MEDIANS = "SELECT g, median(v) AS m FROM sales GROUP BY g"
"""What can be kept early for these two is the input itself: writing it costs what it saves."""


def planned(
    sql: str, method: str, *weights: float, settings: Settings | None = None
) -> api.PlanResult:
    arrived = [(i + 1) / len(weights) for i in range(len(weights))]
    points = tuple(TimePoint(weight=w, arrived=a) for w, a in zip(weights, arrived, strict=True))
    request = PlanRequest(
        report="r", sql=sql, sources=(SALES,), points=points, method=method,
        settings=settings or Settings(),
    )  # fmt: skip
    return api.plan(request)


def opened(result: api.PlanResult) -> list[bool]:
    return [run.opened for run in result.plan.runs]


@pytest.mark.parametrize("sql", [ROWS, MEDIANS])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.5, 0.7, 1.0)])
def test_progressive_opens_the_runs_although_nothing_repays_them(sql, weights):
    """Early runs are what was asked for: they keep what can be kept, and the price is shown."""
    asked = planned(sql, "progressive", *weights)
    assert asked.plan.method == "incremental"
    assert opened(asked) == [True, True, True]
    for run in asked.plan.runs[:-1]:
        assert any(isinstance(stage.output, ArtifactOutput) for stage in run.stages)
    assert asked.decision.chosen.extracted.keeps
    assert asked.plan.estimated_cost > asked.plan.batch_cost


@pytest.mark.parametrize("sql", [ROWS, MEDIANS])
def test_auto_does_not_work_early_where_nothing_repays_it(sql):
    left = planned(sql, "auto", 0.5, 0.7, 1.0)
    assert left.plan.method == "batch"
    assert opened(left) == [False, False, True]
    assert left.plan.estimated_cost == left.plan.batch_cost


def test_progressive_goes_by_cost_where_something_repays_early_work():
    asked = planned(SUMS, "progressive", 0.25, 0.3, 1.0)
    assert opened(asked) == [True, True, True]
    assert asked.plan.estimated_cost < asked.plan.batch_cost


def test_progressive_does_not_charge_for_opening_runs_and_auto_does():
    given = Settings(prices=CHEAP_RUNS)
    asked = planned(SUMS, "progressive", 0.3, 1.0, settings=given)
    free = planned(SUMS, "auto", 0.3, 1.0, settings=given)
    fixed = CHEAP_RUNS.run_start
    assert opened(asked) == opened(free) == [True, True]
    assert free.plan.estimated_cost - asked.plan.estimated_cost == pytest.approx(1.3 * fixed)
    assert free.plan.batch_cost - asked.plan.batch_cost == pytest.approx(fixed)


def test_with_one_run_left_and_nothing_kept_there_is_only_batch():
    for method in ("auto", "progressive", "batch"):
        assert planned(SUMS, method, 1.0).plan.method == "batch"


def test_batch_is_the_users_text_or_where_that_is_asked_for_a_stage_of_our_own():
    text = planned(SUMS, "batch", 0.25, 0.3, 1.0)
    own = planned(SUMS, "batch", 0.25, 0.3, 1.0, settings=Settings(own_batch="always"))
    assert opened(text) == opened(own) == [False, False, True]
    assert [stage.sql for stage in text.plan.runs[-1].stages] == [SUMS]
    (stage,) = own.plan.runs[-1].stages
    assert stage.sql != SUMS
    assert [given.name for given in own.plan.sources] == ["sales"]
    assert own.plan.families == ()
    assert own.plan.estimated_cost <= own.plan.batch_cost == text.plan.batch_cost
    assert own.plan.method == "own-batch"
