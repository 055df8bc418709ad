"""Throughput by deliveries and workers: days give the rows of batch, and their figures add up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.engines import ENGINES
from forerun.simulation.accounts import DayAccount
from forerun.simulation.running import InProcessRunner, Runner
from forerun.spark_jobs.engines.sail import start_sail
from tests.benchmarks import results
from tests.benchmarks.results import BATCH, Results
from tests.benchmarks.scale import (
    DELIVERIES,
    FOR_WORKERS,
    QUERIES,
    WORKERS,
    Case,
    Measuring,
    arrivals_of,
    cases,
    delivered_rows,
)
from tests.benchmarks.scale_section import Measured, Worker, lines_of, section
from tests.benchmarks.test_executed import AT, HERE, account, run

ONE, TWO = Worker("local[1]", 1, 1), Worker("local[2]", 2, 1)
APART, BOTH = Worker("standalone[1]", 1, 1), Worker("standalone[2]", 2, 1)
BOTH_MORE = Worker("standalone[2]", 2, 2)


@pytest.fixture(scope="module")
def small_engine() -> Iterator[Runner]:
    engine = start_sail()
    yield InProcessRunner(ENGINES["sail"], engine)
    engine.stop()


def test_every_delivery_gives_a_result_and_the_day_equals_batch(
    small_engine: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path / "home"))
    kept = Results(tmp_path / "figures.csv")
    measured, case = Measuring(kept, 0.01, tmp_path / "work"), Case(TWO, 2, "q11")
    assert measured.measured(case) is None
    assert measured.missing([case]) == [case]
    measured.one(case, small_engine)
    assert measured.missing([case]) == []
    found = measured.measured(case)
    assert found is not None
    assert found.day is not None
    assert [row.run for row in found.day.runs] == ["1", "2"]
    assert all(row.stages for row in found.day.runs), "no delivery waits for the next one"
    assert all(row.equal for row in found.rows)
    assert delivered_rows(0.01)["q11"] == 8000, "the rows of partsupp, which alone changes"
    for other in (Case(TWO, 4, "q11"), Case(ONE, 2, "q11"), Case(replace(TWO, times=2), 2, "q11")):
        assert measured.missing([other]) == [other], "figures are found under their conditions only"


def test_the_days_of_the_command() -> None:
    found = list(cases(QUERIES, 64))
    assert len(found) == len(set(found)) == len(QUERIES) * (len(DELIVERIES) + len(WORKERS) - 1)
    assert {case.worker for case in found if case.deliveries == FOR_WORKERS} == set(WORKERS)
    assert [p.arrived for p in arrivals_of(4).points] == [0.25, 0.5, 0.75, 1.0]
    assert not [case for case in cases(QUERIES, 16) if case.deliveries > 16]


# -- figures ---------------------------------------------------------------------------------------


def day_of(*cpu: float, wall: float = 1.0, equal: bool = True) -> DayAccount:
    runs = [replace(run(i, 1.0, c), wall_s=wall, plan_ms=500.0) for i, c in enumerate(cpu, 1)]
    return replace(account(equal=equal), runs=tuple(runs))


def measured(worker: Worker, query: str, *cpu: float, wall: float = 1.0) -> Measured:
    rows = results.rows_of(HERE, AT, query, day_of(*cpu, wall=wall))
    return Measured.of(worker, len(cpu), query, rows)


FOUND = [
    measured(TWO, "q01", 2.0),
    measured(TWO, "q01", 2.0, 2.0),
    measured(TWO, "q01", *(1.0,) * 4, wall=2.0),
    measured(ONE, "q01", *(1.0,) * 4, wall=3.0),
    measured(APART, "q01", *(1.0,) * 4, wall=4.0),
    measured(BOTH_MORE, "q01", *(1.0,) * 4, wall=5.0),
]


def test_throughput_is_rows_that_came_by_what_was_used() -> None:
    text = "\n".join(section(FOUND, 6, {"q01": 8000}, "2 cores"))
    # 8 thousand rows in 2, 4 and 4 CPU seconds; the day of four took 8 s of the clock
    assert "| q01 | 8,000 | 4 | 2 | 2 | 2.0 | 0.50 s | 1 |" in text
    assert "Unfinished" not in text
    (line,) = lines_of(FOUND)
    assert line.points == [(1, 1.0), (2, 0.5), (4, 0.5)]


def test_scaling_is_one_core_over_two() -> None:
    text = "\n".join(section(FOUND, 6, {"q01": 8000}, "2 cores"))
    row = re.search(r"^\| q01 \| 8\.0 / .*", text, re.MULTILINE)
    assert row is not None
    assert row[0].endswith("| 1.50 |  |  | 0.80 |"), "12 s over 8 s, and 16 s over 20 s"
    assert "12.0 / 0.0 (4.0)" in row[0]


def test_what_was_not_run_or_went_wrong_is_said() -> None:
    text = "\n".join(section(FOUND[:1], 6, {"q01": 1}, "2 cores"))
    assert "**Unfinished: 1 of 6 days were run;" in text
    assert "Not run." in text
    failed = Measured.of(TWO, 8, "q03", results.failed(HERE, AT, "q03", "no memory"))
    unequal = results.rows_of(HERE, AT, "q06", day_of(1.0, equal=False))
    trouble = [failed, Measured.of(TWO, 1, "q06", unequal)]
    text = "\n".join(section([*FOUND, *trouble], 8, {"q01": 1, "q06": 1}, "2 cores"))
    assert "- q03, 8 deliveries on local[2] failed: no memory" in text
    assert "- q06, 1 deliveries on local[2] is not equal: row 1 is missing" in text
    assert [row.run for row in trouble[1].rows if row.run == BATCH]
    assert section([], 6, {}, "2 cores") == ["Not run yet."]
