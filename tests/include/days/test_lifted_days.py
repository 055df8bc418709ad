"""Which days of a backfill one query computes, and why others are not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.include.past.backfill import begin_days, find_backfill
from forerun.include.past.lifted_days import lift_days
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs.prepare import AskedRun, ask_for_run, open_generation
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.stores.opening import open_store
from forerun.planner.api import plan
from forerun.planner.contract.lifted_v1 import decode_lifted
from forerun.planner.errors import LiftError, NotLifted
from forerun.planner.request import Settings
from tests.include.days.day_cases import DAY, NOW, DayCase, table

LATER = NOW + timedelta(days=5)
DAYS = [DAY + timedelta(days=n) for n in range(3)]


@pytest.fixture
def case(tmp_path: Path) -> DayCase:
    case = DayCase(tmp_path, (tmp_path / "store").as_uri(), runs=1)
    for n, day in enumerate(DAYS):
        folder = tmp_path / "sources" / day.isoformat()
        folder.mkdir(parents=True)
        pq.write_table(table(*((k, n) for k in range(10 * (n + 1)))), folder / "all.parquet")
    return case


def daily(case: DayCase, **changes: object) -> ReportSpec:
    """The report with a folder for each day."""
    (source,) = case.spec.sources
    path = str(case.folder / "sources" / "{ds}")
    return replace(case.spec, sources=(replace(source, path=path),), **changes)


def why_not(case: DayCase, spec: ReportSpec) -> str:
    found = find_backfill(case.store_uri, spec, DAYS[0], DAYS[-1], now=LATER, together=3)
    (application,) = found.applications
    assert not application.at_once
    assert all(day.cost > 0 for day in application.days)
    return application.why_not.partition(":")[0]


def test_days_of_their_own_files_are_computed_by_one_query(case: DayCase) -> None:
    spec = daily(case)
    found = find_backfill(case.store_uri, spec, DAYS[0], DAYS[-1], now=LATER, together=3)
    (application,) = found.applications
    assert application.at_once == frozenset(DAYS)
    assert found.cost < found.apart - 2 * found.start  # not only the start is shared
    begun = begin_days(case.store_uri, spec, application, now=LATER, settings=Settings())
    root, _, key = begun.query.partition("/reports/")
    query = decode_lifted(open_store(root).get(f"reports/{key}"))
    assert query.daily == ("orders",)
    assert query.days == tuple(prepared.plan_key for _, prepared in begun.runs)
    plans = [StoredPlan.read(prepared.plan_uri).plan for _, prepared in begun.runs]
    assert {plan.method for plan in plans} == {"batch"}
    assert {plan.run.stages[0].sql for plan in plans} == {spec.sql}
    costs = [plan.run.estimated_cost for plan in plans]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_a_parameter_of_the_day_is_refused(case: DayCase) -> None:
    text = "SELECT k, :report_date AS d FROM orders"
    assert why_not(case, daily(case, sql=text)) == NotLifted.PARAMETER


def test_stages_of_our_own_are_planned_for_each_day(case: DayCase) -> None:
    """They may rely on the bounds of the files that they read, and hold values of parameters."""
    settings = Settings(own_batch="always")
    spec = daily(case, sql="SELECT k, sum(v) AS total FROM orders WHERE v < 3 GROUP BY k")
    found = find_backfill(
        case.store_uri, spec, DAYS[0], DAYS[-1], now=LATER, together=3, settings=settings
    )
    (application,) = found.applications
    assert application.at_once == frozenset(DAYS)
    begun = begin_days(case.store_uri, spec, application, now=LATER, settings=settings)
    plans = [StoredPlan.read(prepared.plan_uri).plan for _, prepared in begun.runs]
    assert {plan.method for plan in plans} == {"own-batch"}
    assert not any(stage.sql == spec.sql for plan in plans for stage in plan.run.stages)
    alone = []
    for day in DAYS:
        opened = open_generation(case.store_uri, spec, day, trigger="t", now=LATER)
        asked = ask_for_run(opened, 1, now=LATER, settings=settings)
        assert isinstance(asked, AskedRun)
        alone.append(plan(replace(asked.request, method="batch")).plan)
    assert plans == alone

    text = "SELECT k, :report_date AS d FROM orders"
    other = daily(case, sql=text)
    found = find_backfill(
        case.store_uri, other, DAYS[0], DAYS[-1], now=LATER, together=3, settings=settings
    )
    assert found.applications[0].why_not.startswith(NotLifted.PARAMETER)


def test_a_query_for_each_may_be_asked_for(case: DayCase) -> None:
    found = find_backfill(
        case.store_uri, daily(case), DAYS[0], DAYS[-1], now=LATER, together=3, at_once=False
    )
    assert not found.applications[0].at_once
    assert not found.applications[0].why_not


def test_a_changelog_is_refused(case: DayCase) -> None:
    (source,) = daily(case).sources
    spec = replace(daily(case), sources=(replace(source, change="changelog"),))
    asked = ask_for_run(
        open_generation(case.store_uri, daily(case), DAYS[0], trigger="t", now=LATER),
        1,
        now=LATER,
    )
    assert isinstance(asked, AskedRun)
    other = replace(asked, day=replace(asked.day, spec=spec))
    with pytest.raises(LiftError) as refused:
        lift_days((other, other))
    assert refused.value.reason is NotLifted.CHANGELOG


def test_a_table_that_each_day_adds_to_is_refused(case: DayCase) -> None:
    """Between the pins of two days a file has come into the one folder."""
    case.deliver("first", (1, 1))
    asked = []
    for day in DAYS[:2]:
        opened = open_generation(case.store_uri, case.spec, day, trigger="t", now=LATER)
        asked.append(ask_for_run(opened, 1, now=LATER))
        case.deliver(f"after-{day}", (2, 2))
    with pytest.raises(LiftError) as refused:
        lift_days(asked)
    assert refused.value.reason is NotLifted.OVERLAP


def test_one_result_for_all_days_is_no_lifted_query(case: DayCase) -> None:
    case.deliver("first", (1, 1))
    assert why_not(case, case.spec) == NotLifted.NOTHING_DAILY


def test_values_that_differ_each_time_are_refused(case: DayCase) -> None:
    text = "SELECT k, rand() AS r FROM orders"
    assert why_not(case, daily(case, sql=text)) == NotLifted.VARIES


def test_what_goes_by_the_order_of_rows_is_refused(case: DayCase) -> None:
    text = "SELECT k, first(v) AS f FROM orders GROUP BY k"
    assert why_not(case, daily(case, sql=text)) == NotLifted.CHOOSES


def test_a_column_of_the_name_is_refused(case: DayCase) -> None:
    text = "SELECT k AS __day FROM orders"
    assert why_not(case, daily(case, sql=text)) == NotLifted.NAME


def test_hints_are_for_one_day(case: DayCase) -> None:
    text = "SELECT /*+ REPARTITION(3) */ k FROM orders"
    assert why_not(case, daily(case, sql=text)) == NotLifted.HINTED
