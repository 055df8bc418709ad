"""Reports planned together: which time points are opened, what that costs, and for whom."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner import api, report_group
from forerun.planner.errors import ForerunError
from forerun.planner.explain import group
from forerun.planner.report_group import GroupPlan, Member, plan_group, whole_days
from forerun.planner.request import PlanRequest, Settings, TimePoint
from forerun.planner.result import PlanResult
from tests.planner.sales import SALES
from tests.planner.starts import CHEAP_RUNS

SUMS = "SELECT g, sum(v) AS s FROM sales GROUP BY g"
COUNTS = "SELECT k % 7 AS d, count(*) AS n FROM sales GROUP BY k % 7"
MEDIANS = "SELECT g, median(v) AS m FROM sales GROUP BY g"
DEAR_STARTS = replace(CHEAP_RUNS, run_start=6e6, member_start=500_000.0, warm=0.5)
"""An early run of one report is not repaid by what it saves, one of three is."""
DAY = (TimePoint(weight=0.5, arrived=0.8), TimePoint(weight=1.0))


def request(
    sql: str, name: str = "r", points: tuple[TimePoint, ...] = DAY, rows: int = 20_000_000
) -> PlanRequest:
    return PlanRequest(
        report=name,
        sql=sql,
        sources=(replace(SALES, rows=rows, bytes=40 * rows),),
        points=points,
        settings=Settings(prices=DEAR_STARTS),
    )


def planned(*requests: PlanRequest) -> GroupPlan:
    return plan_group(whole_days(requests))


def opened(result: PlanResult | ForerunError) -> list[int]:
    assert isinstance(result, PlanResult)
    return [run.index for run in result.plan.runs if run.opened]


def test_an_early_application_that_one_report_does_not_repay_is_repaid_by_several():
    alone = request(SUMS)
    assert api.plan(alone).plan.method == "batch"
    assert planned(alone).opened == (2,)
    together = planned(*(request(SUMS, f"r{i}") for i in range(4)))
    assert together.opened == (1, 2)
    assert [opened(one) for one in together.results] == [[1, 2]] * 4
    assert together.cost < 0.94 * together.batch


def test_early_applications_have_to_be_clearly_cheaper(monkeypatch):
    requests = [request(SUMS, f"r{i}") for i in range(4)]
    final = DEAR_STARTS.application([DEAR_STARTS.stage_start] * 4)  # which there is either way
    share = (planned(*requests).cost - final) / (planned(*requests).batch - final)
    monkeypatch.setattr(report_group, "CLEARLY", share * 0.99)
    assert planned(*requests).opened == (2,)


def test_what_is_clear_is_measured_by_those_that_do_something_else():
    """A report that is batch either way, and a thousand times as dear, hides nothing."""
    requests = [request(SUMS, f"r{i}") for i in range(4)]
    dear = request(MEDIANS, "m", rows=20_000_000_000)
    together = planned(*requests, dear)
    assert together.opened == planned(*requests).opened == (1, 2)
    assert together.cost > 0.99 * together.batch


def test_a_report_does_early_only_what_pays_for_it():
    together = planned(*(request(SUMS, f"r{i}") for i in range(4)), request(MEDIANS, "m"))
    assert together.opened == (1, 2)
    assert opened(together.results[-1]) == [2]


def test_a_time_point_that_too_few_want_is_not_opened_for_any():
    small = request(COUNTS, rows=4_000_000)
    together = planned(small, request(MEDIANS, "m"))
    assert together.opened == (2,)
    assert together.cost == together.batch
    assert [opened(one) for one in together.results] == [[2], [2]]


def by_another(asked: PlanRequest) -> PlanRequest:
    """The same report, whose early runs another engine does, which starts more cheaply."""
    early = replace(DEAR_STARTS, run_start=1e6, member_start=50_000.0)
    keyless = replace(DEAR_STARTS, buckets=False)
    settings = replace(asked.settings, prices=keyless, early_prices=replace(early, buckets=False))
    return replace(asked, settings=settings)


def test_a_cheap_process_of_an_early_engine_is_repaid_by_one_report():
    assert planned(request(SUMS)).opened == (2,)
    alone = planned(by_another(request(SUMS)))
    assert alone.opened == (1, 2)
    (found,) = alone.results
    early, final = found.plan.runs
    engine = by_another(request(SUMS)).settings.early_prices
    process = 0.5 * engine.application([engine.stage_start])
    application = DEAR_STARTS.application([DEAR_STARTS.stage_start])
    assert alone.cost == pytest.approx(
        0.5 * early.estimated_cost + final.estimated_cost + process + application
    )


def test_each_engine_has_its_own_application_at_a_time_point():
    """Reports that have their early runs done elsewhere do not pay for the others' application, nor
    get theirs for nothing."""
    there = [by_another(request(SUMS, f"a{i}")) for i in range(2)]
    here = [request(SUMS, f"r{i}") for i in range(4)]
    both, first, second = planned(*there, *here), planned(*there), planned(*here)
    assert [opened(one) for one in both.results] == [[1, 2]] * 6
    early = [
        0.5 * sum(one.plan.runs[0].estimated_cost for one in group.results)
        for group in (both, first, second)
    ]
    assert early[0] == pytest.approx(early[1] + early[2])
    starts = [
        group.cost
        - sum(one.plan.estimated_cost for one in group.results)
        - DEAR_STARTS.application([DEAR_STARTS.stage_start] * len(group.results))
        for group in (both, first, second)
    ]
    assert starts[0] == pytest.approx(starts[1] + starts[2])


def test_a_report_that_cannot_be_planned_is_an_error_and_the_others_are_planned():
    together = planned(request("SELECT nowhere FROM sales", "broken"), request(SUMS, "fine"))
    broken, fine = together.results
    assert isinstance(broken, ForerunError)
    assert "nowhere" in str(broken)
    assert opened(fine) == [2]
    shown = group.render(
        whole_days((request("SELECT 1", "broken"), request(SUMS, "fine"))), together
    )
    assert "error: " in shown
    assert "report fine: batch" in shown


def test_a_group_of_none_and_one_of_broken_reports_only():
    assert plan_group([]).results == ()
    assert planned(request("SELECT", "broken")).opened == ()


def test_reports_with_other_runs_meet_at_time_points():
    """One report is due at the second time point, the others at the third: its results are given
    there, and its early work is done in the application that is open for all."""
    early = request(SUMS, "early", (TimePoint(weight=0.5, arrived=0.9), TimePoint(weight=1.0)))
    late = [
        request(SUMS, f"late{i}", (DAY[0], TimePoint(weight=0.9, arrived=0.9), DAY[1]))
        for i in range(4)
    ]
    members = [
        Member(request=early, points=(1, 2)),
        *(Member(request=one, points=(1, 2, 3)) for one in late),
    ]
    together = plan_group(members)
    assert {2, 3} <= set(together.opened)
    assert opened(together.results[0]) == [1, 2]
    assert all(1 in opened(one) for one in together.results[1:])


def test_runs_that_may_not_be_opened_are_not():
    free = replace(request(SUMS), settings=Settings(prices=CHEAP_RUNS), points=(DAY[0], *DAY))
    assert 1 in opened(api.plan(free)) or 2 in opened(api.plan(free))
    assert opened(api.plan(replace(free, may_open=()))) == [3]
    assert opened(api.plan(replace(free, may_open=(2, 3)))) == [2, 3]
    forced = replace(free, method="progressive", may_open=(2,))
    assert opened(api.plan(forced)) == [2, 3]


def test_early_work_that_was_asked_for_is_opened_for_all():
    asked = replace(request(MEDIANS, "m"), method="progressive")
    together = planned(asked, request(SUMS))
    assert together.opened == (1, 2)
    assert opened(together.results[0]) == [1, 2]
    assert opened(together.results[1]) == [1, 2], "the application is there anyway"


@pytest.mark.parametrize("seed", range(30))
def test_never_dearer_by_estimate_than_apart_nor_than_batch_together(seed: int):
    rng = random.Random(f"group-{seed}")
    count = rng.randint(2, 4)
    weights = [rng.choice((0.2, 0.4, 0.7, 1.0)) for _ in range(count - 1)]
    points = (
        *(TimePoint(weight=w, arrived=(i + 1) / count) for i, w in enumerate(weights)),
        TimePoint(weight=1.0),
    )
    requests = [
        request(
            rng.choice((SUMS, COUNTS, MEDIANS)), f"r{i}", points, rng.choice((10**5, 10**7, 10**8))
        )
        for i in range(rng.randint(1, 5))
    ]
    together = planned(*requests)
    apart = sum(api.plan(one).decision.chosen.total for one in requests)
    assert together.cost <= apart * (1 + 1e-9)
    assert together.cost <= together.batch * (1 + 1e-9)
    assert together.opened[-1] == count
