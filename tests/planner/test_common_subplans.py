"""Sub-plans that reports of a group have in common: found by what they are, computed once where
that is clearly cheaper, and never at the cost of a report that reads none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.contract import decode_plan, encode_plan
from forerun.planner.cost.prices import SPARK
from forerun.planner.explain import group
from forerun.planner.explain.sql import statements
from forerun.planner.report_group import GroupPlan, plan_group, whole_days
from forerun.planner.request import ColumnStats, PlanRequest, Settings, TimePoint
from forerun.planner.result import PlanResult
from tests.planner.sales import SALES

TOTALS = "SELECT k, sum(v) AS t, count(*) AS n FROM sales GROUP BY k"
LARGE = f"WITH totals AS ({TOTALS}) SELECT k, t FROM totals WHERE t > 1000 AND n > 2"
BOTH = f"WITH totals AS ({TOTALS}) SELECT n, count(*) AS c, max(t) AS m FROM totals GROUP BY n"
OTHER = "SELECT g, sum(v) AS t FROM sales GROUP BY g"
LATE = (TimePoint(weight=1.0),)
ROWS = 200_000_000


def request(sql: str, name: str, *, rows: int = ROWS, **settings: object) -> PlanRequest:
    return PlanRequest(
        report=name,
        sql=sql,
        sources=(replace(SALES, rows=rows, bytes=40 * rows),),
        points=LATE,
        settings=Settings(**settings),
    )


def planned(*requests: PlanRequest) -> GroupPlan:
    return plan_group(whole_days(requests))


def results(plan: GroupPlan) -> list[PlanResult]:
    assert all(isinstance(one, PlanResult) for one in plan.results)
    return [one for one in plan.results if isinstance(one, PlanResult)]


def read(found: PlanResult) -> list[str]:
    return [one.view for stage in found.plan.run.stages for one in stage.common]


def test_what_two_reports_group_alike_is_computed_once():
    plan = planned(request(LARGE, "large"), request(BOTH, "both"), request(OTHER, "other"))
    large, both, other = results(plan)
    assert len(plan.common) == 1
    assert plan.common[0].readers == ("large", "both")
    assert read(large) == read(both) == [plan.common[0].view]
    assert not read(other)
    (ours,), (theirs,) = large.plan.run.stages[0].common, both.plan.run.stages[0].common
    assert ours == theirs, "the runs know by this that it is the same"
    assert "GROUP BY" not in large.plan.run.stages[0].sql
    assert [one.source for one in ours.inputs] == ["sales"]
    assert [one.source for one in both.plan.run.stages[0].inputs] == ["sales"]


def test_what_is_shared_is_paid_for_by_the_first_and_saves_what_is_said():
    apart = planned(request(LARGE, "large", common_subplans=False), request(BOTH, "both"))
    plan = planned(request(LARGE, "large"), request(BOTH, "both"))
    assert not apart.common
    assert apart.batch == plan.batch
    assert plan.cost == pytest.approx(apart.cost - plan.common[0].saved, rel=0.02)
    first, second = (found.plan.estimated_cost for found in results(plan))
    assert second < 0.5 * first
    work = [dict(found.plan.run.stages[0].work) for found in results(plan)]
    assert work[0]["aggregate_row"] > 0.9 * ROWS
    assert work[1].get("aggregate_row", 0.0) < 0.9 * ROWS
    for found in results(plan):
        stage, prices = found.plan.run.stages[0], found.request.settings.prices
        again = sum(prices.of(name) * count for name, count in stage.work)
        assert again == pytest.approx(stage.estimated_cost, rel=0.02)


def test_rows_that_are_dear_to_hold_are_computed_twice():
    dear = replace(SPARK, write_row=1000.0)
    assert not planned(request(LARGE, "l", prices=dear), request(BOTH, "b", prices=dear)).common


def test_an_engine_that_holds_nothing_shares_nothing():
    nothing = replace(SPARK, holds=False)
    assert not planned(
        request(LARGE, "large", prices=nothing), request(BOTH, "both", prices=nothing)
    ).common


def test_a_text_that_was_asked_for_stays_what_it_is():
    asked = replace(request(BOTH, "both"), method="batch")
    large, both = results(planned(request(LARGE, "large"), asked))
    assert both.plan.method == "batch"
    assert not read(large)
    assert not read(both)
    decided = replace(request(BOTH, "both"), batch_because="it lost for three days")
    assert results(planned(request(LARGE, "large"), decided))[1].plan.method == "batch"


def test_what_stages_read_is_shown_with_them():
    (found, _) = results(planned(request(LARGE, "large"), request(BOTH, "both")))
    shown = statements(found.plan.run.stages[0])
    assert shown.startswith(f"CREATE OR REPLACE TEMPORARY VIEW `{read(found)[0]}` AS\nSELECT")
    assert shown.count("GROUP BY") == 1


def test_few_rows_are_not_worth_it():
    assert not planned(request(LARGE, "l", rows=10_000), request(BOTH, "b", rows=10_000)).common


def test_filtered_scans_are_not_held():
    one = "SELECT k, v FROM sales WHERE v > 3 AND k > 5"
    assert not planned(request(one, "one"), request(one + " AND g < 9", "two")).common


def test_reports_that_see_a_source_otherwise_share_nothing():
    changed = request(BOTH, "both")
    other = replace(changed.sources[0], change="changelog")
    assert not planned(request(LARGE, "large"), replace(changed, sources=(other,))).common
    bounds = replace(changed.sources[0], stats=(("v", ColumnStats(minimum="0", maximum="7")),))
    assert not planned(request(LARGE, "large"), replace(changed, sources=(bounds,))).common
    session = (("spark.sql.ansi.enabled", "true"), ("spark.sql.session.timeZone", "Europe/Oslo"))
    assert not planned(request(LARGE, "large"), request(BOTH, "both", session=session)).common


def test_the_order_of_a_result_is_not_lost_in_what_is_held():
    ordered = f"{LARGE} ORDER BY t"
    first, second = results(planned(request(ordered, "one"), request(ordered, "two")))
    for found in (first, second):
        assert read(found)
        assert found.plan.run.stages[0].sql.rstrip().endswith("NULLS FIRST")


def test_a_plan_with_common_subplans_is_read_back_as_it_was_written():
    for found in results(planned(request(LARGE, "large"), request(BOTH, "both"))):
        assert decode_plan(encode_plan(found.plan)) == found.plan


def test_the_group_says_who_computes_what_for_whom():
    requests = (request(LARGE, "large"), request(BOTH, "both"))
    plan = planned(*requests)
    shown = group.render(whole_days(requests), plan)
    assert "large computes for both, too: " in shown
    said = group.as_json(whole_days(requests), plan)["common"]
    assert [one["reports"] for one in said] == [("large", "both")]
