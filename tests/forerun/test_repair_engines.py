"""Which engine computes a repair: never one whose result may not be Spark's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.engines import ENGINES
from forerun.include.past.repair import LookedAt, look_at
from forerun.include.reports.expectations import expect
from forerun.include.runs import exact_engines
from forerun.include.runs.exact_engines import NotExactError
from forerun.include.runs.prepare import publish_result
from forerun.past import repair_engines
from forerun.past.repair_engines import cheapest_engine, repair_on
from tests.include.days.day_cases import DAY, NOW, DayCase

SAIL, SPARK = ENGINES["sail"], ENGINES["spark"]


@pytest.fixture
def looked(tmp_path: Path) -> LookedAt:
    """A published day to which a row has come late."""
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    generation = case.open()
    for run in (1, 2):
        case.deliver(str(run), *((k, run) for k in range(20)))
        case.commit(case.prepare(generation, run))
    publish_result(case.day(generation), now=NOW)
    case.deliver("late", (7, 7))
    return look_at(case.store, case.spec, DAY, now=NOW)


def with_sql(looked: LookedAt, sql: str) -> LookedAt:
    spec = replace(looked.day.spec, sql=sql)
    return replace(looked, day=replace(looked.day, spec=spec), bases=())


def test_the_cheaper_engine_is_taken_where_it_is_exact(looked: LookedAt):
    chosen = cheapest_engine(looked)
    assert (chosen.engine, chosen.passed_over) == (SAIL, ())
    assert chosen.repair.best.cost < SPARK.prices.run_start


def test_spark_is_taken_with_the_reason_where_it_is_not(looked: LookedAt):
    other = with_sql(looked, "SELECT k, stddev(v) AS s FROM orders GROUP BY k")
    chosen = cheapest_engine(other)
    assert chosen.engine == SPARK
    assert [name for name, _ in chosen.passed_over] == ["sail"]
    assert "stddev" in chosen.passed_over[0][1]
    with pytest.raises(NotExactError, match="stddev_samp was not compared with Spark"):
        repair_on(SAIL, other)


def test_an_engine_that_is_not_installed_is_passed_over(looked: LookedAt, monkeypatch):
    missing = replace(SAIL, package="no_such_package")
    monkeypatch.setattr(repair_engines, "ENGINES", {"sail": missing, "spark": SPARK})
    chosen = cheapest_engine(looked)
    assert chosen.engine == SPARK
    assert chosen.passed_over == (("sail", "no_such_package is not installed"),)


def test_what_is_too_much_for_this_process_is_refused(looked: LookedAt, monkeypatch):
    monkeypatch.setattr(exact_engines, "MOST_READ_BYTES", 1)
    with pytest.raises(NotExactError, match="in this process"):
        repair_on(SAIL, looked)
    assert cheapest_engine(looked).engine == SPARK


def test_expectations_are_checked_by_spark(looked: LookedAt):
    spec = replace(
        looked.day.spec, expectations=(expect("expect_column_values_to_not_be_null", column="k"),)
    )
    checked = replace(looked, day=replace(looked.day, spec=spec))
    with pytest.raises(NotExactError, match="what is expected of its result"):
        repair_on(SAIL, checked)


def test_quotients_are_computed_in_stages_that_are_exact(looked: LookedAt):
    sql = "SELECT k, sum(CAST(v AS DECIMAL(21,2))) / 3.00 AS q FROM orders GROUP BY k"
    repair = repair_on(SAIL, with_sql(looked, sql))
    (stage,) = repair.best.result.plan.run.stages
    assert stage.sql != sql
    assert "AS DECIMAL(38,6)) / 3.00BD AS DECIMAL(37,6))" in stage.sql
