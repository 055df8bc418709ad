"""Throughput by deliveries and workers: days give the rows of batch, and their figures add up."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.engines import ENGINES
from forerun.simulation.running import InProcessRunner
from forerun.spark_jobs.engines.sail import start_sail
from tests.benchmarks import scale
from tests.benchmarks.driver import Figures
from tests.benchmarks.figures import days_of, figures_of
from tests.benchmarks.scale import (
    DELIVERIES,
    FOR_WORKERS,
    LOCAL,
    QUERIES,
    WORKERS,
    Case,
    Worker,
    arrivals_of,
    cases,
    delivered_rows,
    execute,
    lines,
    lines_of,
)
from tests.benchmarks.test_executed import account, run
from tests.spark.standalone import wait

ONE, APART, BOTH_MORE = Worker("local[1]", 1, 1), WORKERS[2], WORKERS[5]


def test_every_delivery_gives_a_result_and_the_day_equals_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path / "home"))
    engine = start_sail()
    runner = InProcessRunner(ENGINES["sail"], engine)
    found = execute(Case(LOCAL, 2, "q11"), 0.01, runner, tmp_path / "work")
    engine.stop()
    assert found["equal"]
    assert [run["index"] for run in found["runs"]] == [1, 2]
    assert all(run["stages"] for run in found["runs"]), "no delivery waits for the next one"
    assert delivered_rows(0.01)["q11"] == 8000, "the rows of partsupp, which alone changes"


def test_a_master_is_asked_again_while_it_says_nothing(tmp_path: Path) -> None:
    answers = iter(["", '{"aliveworkers": 1}'])
    wait(lambda: json.loads(next(answers))["aliveworkers"] == 1, tmp_path)


def test_the_days_of_the_command() -> None:
    found = list(cases())
    names = {case.name for case in found}
    assert len(found) == len(names) == len(QUERIES) * (len(DELIVERIES) + len(WORKERS) - 1)
    assert {case.worker for case in found if case.deliveries == FOR_WORKERS} == set(WORKERS)
    assert [p.arrived for p in arrivals_of(4).points] == [0.25, 0.5, 0.75, 1.0]


# -- figures ---------------------------------------------------------------------------------------


def day_of(*cpu: float, wall: float = 1.0) -> Figures:
    runs = [replace(run(i, 1.0, c), wall_s=wall, plan_ms=500.0) for i, c in enumerate(cpu, 1)]
    return figures_of(replace(account(), runs=tuple(runs)))


FOUND = {
    ("q01", "1", str(LOCAL)): day_of(2.0),
    ("q01", "2", str(LOCAL)): day_of(2.0, 2.0),
    ("q01", "4", str(LOCAL)): day_of(*(1.0,) * 4, wall=2.0),
    ("q01", "4", str(ONE)): day_of(*(1.0,) * 4, wall=3.0),
    ("q01", "4", str(APART)): day_of(*(1.0,) * 4, wall=4.0),
    ("q01", "4", str(BOTH_MORE)): day_of(*(1.0,) * 4, wall=5.0),
}


def test_throughput_is_rows_that_came_by_what_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "delivered_rows", lambda _scale: {"q01": 8000})
    text = "\n".join(lines(argparse.Namespace(scale=1.0), FOUND))
    # 8 thousand rows in 2, 4 and 4 CPU seconds; the day of four took 8 s of the clock
    assert "| q01 | 8,000 | 4 | 2 | 2 | 2.0 | 0.50 s | 1 |" in text
    row = re.search(r"^\| q01 \| 12\.0 / .*", text, re.MULTILINE)
    assert row is not None
    assert row[0].endswith("| 1.50 |  |  | 0.80 |"), "12 s over 8 s, and 16 s over 20 s"
    assert "12.0 / 0.0 (4.0)" in row[0]
    (line,) = lines_of(days_of(FOUND))
    assert line.points == [(1, 1.0), (2, 0.5), (4, 0.5)]
