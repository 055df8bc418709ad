"""Common sub-plans on Spark: computed by the first run that wants them, held for the others, and
computed anew by a run whose files are others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forerun.include.machine.cpu_meter import Meter
from forerun.include.runs.stored_plan import StoredPlan
from forerun.planner.contract import ColumnSpec, CommonSubplan, ResultOutput, SourceInput, Stage
from forerun.spark_jobs.application import Outcome, run_all
from forerun.spark_jobs.engines.spark import SparkEngine
from tests.spark.days import Day

pytestmark = pytest.mark.spark
ROWS = [(1, "a", 100), (2, "b", 250), (1, "a", 50)]
TOTALS = CommonSubplan(
    view="__common_1",
    sql=(
        "SELECT `shop` AS `c0`, sum(`amount`) AS `c1`, count(*) AS `c2` FROM `sales` "
        "GROUP BY `shop`"
    ),
    inputs=(SourceInput(view="sales", source="sales", version="snapshot"),),
    columns=(
        ColumnSpec(name="c0", type="STRING"),
        ColumnSpec(name="c1", type="DECIMAL(20,2)"),
        ColumnSpec(name="c2", type="BIGINT"),
    ),
)
"""What three reports group alike."""


def report(sql: str) -> Stage:
    return Stage(
        id="result",
        title="the report",
        sql=sql,
        inputs=TOTALS.inputs,
        common=(TOTALS,),
        output=ResultOutput(columns=("x", "y"), ordered=True),
    )


STAGES = (
    report("SELECT `c0` AS `x`, `c1` AS `y` FROM `__common_1` ORDER BY `c0`"),
    report("SELECT `c0` AS `x`, `c2` AS `y` FROM `__common_1` ORDER BY `c0`"),
    report("SELECT max(`c0`) AS `x`, sum(`c2`) AS `y` FROM `__common_1`"),
)
RESULTS = ([("a", 1.5), ("b", 2.5)], [("a", 2), ("b", 1)], [("b", 3)])


@pytest.fixture
def days(tmp_path: Path) -> list[Day]:
    """Three reports over one file."""
    made = []
    for number in range(3):
        day = Day(tmp_path, store_uri=str(tmp_path / f"store {number}"))
        if made:
            day.files = list(made[0].files)
        else:
            day.deliver(ROWS)
        made.append(day)
    return made


def plan(day: Day, stage: Stage) -> StoredPlan:
    key = day.plan_run(1, (stage,), final=True, families=())
    return StoredPlan(day.store, day.at, key, day.plan)


def done(engine: SparkEngine, plans: list[StoredPlan]) -> list[Outcome]:
    return run_all(engine, plans, "a1", lambda _: None, Meter())


def found(day: Day, outcome: Outcome) -> list[tuple[object, object]]:
    assert outcome.commit is not None, outcome.error
    return [(x, float(y) if str(y).count(".") else y) for x, y in day.rows(outcome.commit)]


@dataclass
class Held:
    """How many views were computed and held, and how many are by now."""

    made: int = 0


@pytest.fixture
def held(spark: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    counted, really = Held(), spark.computed_first

    def computed_first(view, frame, rows):
        counted.made += 1
        return really(view, frame, rows)

    monkeypatch.setattr(spark, "computed_first", computed_first)
    yield counted
    assert spark.session.sparkContext._jsc.getPersistentRDDs().isEmpty(), "all is let go"


def test_rows_are_computed_once_for_all(spark, days, held):
    outcomes = done(spark, [plan(day, stage) for day, stage in zip(days, STAGES, strict=True)])
    assert [found(day, one) for day, one in zip(days, outcomes, strict=True)] == [*RESULTS]
    assert held.made == 1


def test_a_run_that_is_alone_holds_nothing(spark, days, held):
    (outcome,) = done(spark, [plan(days[0], STAGES[0])])
    assert found(days[0], outcome) == RESULTS[0]
    assert held.made == 0


def test_a_run_whose_files_are_others_computes_for_itself(spark, days, held):
    days[1].deliver([(3, "c", 700)])
    outcomes = done(spark, [plan(day, stage) for day, stage in zip(days, STAGES, strict=True)])
    wanted = [RESULTS[0], [*RESULTS[1], ("c", 1)], RESULTS[2]]
    assert [found(day, one) for day, one in zip(days, outcomes, strict=True)] == wanted


def test_what_fails_in_one_report_fails_in_no_other(spark, days, held):
    broken = report("SELECT nowhere AS `x`, 1 AS `y` FROM `__common_1`")
    stages = (broken, *STAGES[1:])
    outcomes = done(spark, [plan(day, stage) for day, stage in zip(days, stages, strict=True)])
    assert outcomes[0].error is not None
    assert [found(days[n], outcomes[n]) for n in (1, 2)] == [RESULTS[1], RESULTS[2]]


def test_rows_of_a_file_that_changed_meanwhile_are_not_held(spark, days, held, monkeypatch):
    plans = [plan(day, stage) for day, stage in zip(days, STAGES, strict=True)]
    file = Path(days[0].files[0].uri.removeprefix("file://"))
    before, seen = file.read_bytes(), spark.computed_first

    def changed_first(view, frame, rows):
        file.write_bytes(before[:-1] + b"?")
        return seen(view, frame, rows)

    monkeypatch.setattr(spark, "computed_first", changed_first)
    outcomes = done(spark, plans)
    assert all(one.commit is None for one in outcomes), (
        "nothing is committed of what was not pinned"
    )
