"""Where the result of a run is cut: where what is lost by ends costs more than storing rows."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from forerun.planner.algebra.types import BIGINT, STRING, decimal
from forerun.planner.api import plan
from forerun.planner.contract import Plan
from forerun.planner.explain import flow, tree
from forerun.planner.materialize.checkpoints import until_done
from forerun.planner.request import (
    ColumnStats,
    Days,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from tests.properties.costs import check_costs

ROWS = 10**9
COLUMNS = (("id", BIGINT, ROWS / 100), ("shop", STRING, 1000), ("amount", decimal(10, 2), 1e5))
SALES = Source(
    name="sales",
    columns=tuple(SourceColumn(name=name, type=type_) for name, type_, _ in COLUMNS),
    changing=True,
    rows=ROWS,
    bytes=30 * ROWS,
    stats=tuple((name, ColumnStats(distinct=values)) for name, _, values in COLUMNS),
)
SHOPS = Source(
    name="shops",
    columns=tuple(SourceColumn(name=name, type=STRING) for name in ("name", "region")),
    rows=1000,
    bytes=30_000,
    stats=(("name", ColumnStats(distinct=1000)), ("region", ColumnStats(distinct=10))),
)
PARTS = """
SELECT max(a.total) AS most, max(b.ways) AS ways
FROM (SELECT id, sum(amount) AS total FROM sales GROUP BY id) AS a
JOIN (SELECT id, count(DISTINCT amount) AS ways FROM sales GROUP BY id) AS b ON a.id = b.id
"""
OF_REGION = """
FROM sales JOIN shops ON sales.shop = shops.name WHERE region = 'north' GROUP BY id) AS a
"""
BY_SHOP = PARTS.replace("SELECT max", "SELECT a.id % 7 AS g, max") + " GROUP BY a.id % 7"
TWICE = """
WITH p AS (SELECT id, sum(amount) AS total FROM sales GROUP BY id)
SELECT count(DISTINCT a.total - b.total) AS n FROM p AS a JOIN p AS b ON a.id = b.id + 1
"""

SHARED = """
WITH p AS (
  SELECT a.id, sum(a.amount) AS total
  FROM sales AS a JOIN sales AS b ON a.id = b.id JOIN sales AS c ON b.id = c.id GROUP BY a.id
)
SELECT count(DISTINCT a.total - b.total) AS n FROM p AS a JOIN p AS b ON a.id = b.id + 1
"""


def request_of(
    interruptions: float, sql: str = PARTS, points: tuple[float, ...] = (1.0,), **settings: object
) -> PlanRequest:
    """A day with these time points, the early ones at a tenth of the price."""
    given = {"own_batch": "always", "interruptions": interruptions, **settings}
    return PlanRequest(
        report="r",
        sql=sql,
        sources=(SALES, SHOPS),
        points=tuple(TimePoint(weight=at if at == 1 else 0.1, arrived=at) for at in points),
        settings=Settings(**given),
    )


def planned(interruptions: float, sql: str = PARTS, **given: object) -> Plan:
    return plan(request_of(interruptions, sql, **given)).plan


def stages(of: Plan) -> list[str]:
    return [stage.id for stage in of.runs[-1].stages]


def test_what_is_begun_again_takes_longer() -> None:
    few = until_done(10e6, 0.001)
    assert few == pytest.approx(10e6 * (1 + 0.001 * 10 / 2), rel=1e-4)
    assert until_done(100e6, 0.01) == pytest.approx(1e8 * (math.e - 1))
    long = [until_done(seconds * 1e6, 1.0) for seconds in (40, 60, 600, 6e6)]
    assert long == sorted(long)
    assert until_done(600e6, 1.0) > 2 * until_done(300e6, 1.0)  # and two halves are better
    assert all(map(math.isfinite, long))


def test_a_long_result_is_cut_where_it_has_few_rows() -> None:
    whole, cut = planned(0.0), planned(0.002)
    assert stages(whole) == ["result"]
    assert stages(cut) == ["checkpoint-1", "result"]
    first, result = cut.run.stages
    family = cut.family(first.output.family)
    assert (family.kind, family.key, family.buckets) == ("checkpoint", (), 0)
    assert cut.kept == ()
    assert 0.3 < first.estimated_cost / whole.run.stages[0].estimated_cost < 0.7
    assert first.estimated_cost + result.estimated_cost > whole.run.stages[0].estimated_cost
    assert cut.estimated_cost - whole.estimated_cost == pytest.approx(
        cut.run.estimated_cost - whole.run.estimated_cost
    )
    assert flow.render(cut, cut.run).splitlines()[:2] == [
        "the report",
        f"  checkpoint: {family.title}",
    ]
    assert stages(planned(0.05)) == ["checkpoint-1", "result"]  # one more would bring little


def test_nothing_is_stored_where_that_saves_nothing() -> None:
    """An end in a day of one core, and a run of nine minutes."""
    assert stages(planned(1 / 86_400)) == ["result"]


def test_what_saves_less_than_storing_it_takes_is_not_stored() -> None:
    """Each cut pays for itself by the estimates: the run is expected to take less with it."""
    for rate in (1e-4, 1e-3, 1e-2):
        whole, cut = (planned(r) for r in (0.0, rate))
        lost, saved = (
            sum(until_done(stage.estimated_cost, rate) for stage in of.run.stages)
            for of in (whole, cut)
        )
        assert (saved < lost) == (len(cut.run.stages) > 1)
        assert saved <= lost


@pytest.mark.parametrize("sql", [TWICE, SHARED])
def test_what_is_computed_twice_is_stored_once(sql: str) -> None:
    """The second one's copies are one sub-plan, which the first one's are too small for."""
    cut = planned(0.05, sql)
    *stored, result = cut.run.stages
    families = [stage.output.family for stage in stored]
    assert len(set(families)) == len(families)
    assert [one.family for one in result.inputs] == families[-1:]  # not sales
    check_costs(cut, request_of(0.05, sql))


def test_a_final_run_that_goes_on_from_what_is_kept_is_cut_too() -> None:
    days = [planned(rate, points=(0.5, 1.0)) for rate in (0.0, 0.01)]
    assert [of.method for of in days] == ["incremental", "incremental"]
    assert stages(days[0])[-2:] == ["keep-1", "result"]
    assert stages(days[1])[-2:] == ["checkpoint-1", "result"]
    assert {family.id for family in days[1].kept} == {family.id for family in days[0].families}
    assert not any(stage.id.startswith("checkpoint") for stage in days[1].runs[0].stages)


def test_a_text_that_is_hardly_ever_done_gives_way_to_stages_of_our_own() -> None:
    """Written as it is, own batch is no cheaper; but it can be cut."""
    by_cost = [plan(request_of(rate, own_batch="cost")) for rate in (0.0, 0.02)]
    assert [of.plan.method for of in by_cost] == ["batch", "own-batch"]
    said = ["expected to be done sooner, as often" in tree.render(of) for of in by_cost]
    assert said == [False, True]


def test_the_same_run_is_cut_alike_again() -> None:
    """By the names of what is stored a try finds what an earlier one has left."""
    assert planned(0.001).families == planned(0.001).families


def test_each_stage_has_the_small_sides_that_it_names() -> None:
    """A side is computed for one stage. Here that of the result is made before the checkpoint."""
    of_region = PARTS.replace("FROM sales GROUP BY id) AS a", OF_REGION)
    seen = 0
    for rate in (0.001, 0.01):
        asked = request_of(rate, of_region)
        many = replace(asked, sources=(SALES, replace(SHOPS, rows=10**6, bytes=30 * 10**6)))
        for stage in plan(many).plan.run.stages:
            named = set(re.findall(r"__side_\d+", stage.sql))
            assert named == {side.view for side in stage.small_sides}
            seen += len(named)
    assert seen


def test_people_are_told_what_is_stored_and_what_is_kept() -> None:
    text = tree.render(plan(request_of(0.01, points=(0.5, 1.0))))
    kept, stored = text.index("\nkept between runs:\n"), text.index("\nstored on the way, for")
    assert kept < text.index("total by id", kept) < stored < text.index("checkpoint, ways by id")
    assert "stored on the way" not in tree.render(plan(request_of(0.0, points=(0.5, 1.0))))


def test_a_query_for_many_days_is_one_stage() -> None:
    days = Days(count=3, daily=("sales",))
    for rate in (0.0, 0.01):
        found = plan(replace(request_of(rate, BY_SHOP), days=days)).plan
        assert [stage.id for stage in found.run.stages] == ["result"]
    assert stages(planned(0.01, BY_SHOP))[0] == "checkpoint-1"
