"""Groups of reports on a Spark cluster that loses a worker in the middle of the night.

The store and the deliveries are in a bucket, and nothing else is in common to the machines.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forerun.demo.data import generate_day
from forerun.include.machine.jvm import driver_files
from forerun.planner.request import TimePoint
from forerun.simulation.deliveries import parse_correlation
from forerun.simulation.group import simulate_group
from forerun.simulation.planning import Report
from forerun.simulation.running import SparkRunner, Used
from forerun.simulation.simulated_day import Simulation, shared_place
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.days import POINTS
from tests.benchmarks.page import ROOT
from tests.benchmarks.suites import TPCH
from tests.s3_servers import use_bucket
from tests.spark.standalone import Standalone, standalone
from tests.spark.test_cluster import small

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.s3,
    pytest.mark.skipif(driver_files().jars is None, reason="the S3A jars are not here: make jars"),
]
SCALE = 0.01
EIGHT = ("q01", "q03", "q05", "q06", "q10", "q12", "q13", "q18")
_BUSY_SECONDS = 240.0
Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Night:
    """Reports that are a group, over tables that arrive by the time points. A worker is lost at
    work in the application of the second one."""

    texts: Callable[[], dict[str, str]]
    tables: Callable[[Path], dict[str, Table]]
    changing: frozenset[str]
    points: tuple[TimePoint, ...]


def _demo() -> dict[str, str]:
    folder = ROOT / "include" / "sql"
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.sql"))}


def _eight() -> dict[str, str]:
    texts = TPCH.texts()
    return {name: texts[name] for name in EIGHT}


NIGHTS = {
    "demo": Night(
        _demo,
        lambda folder: generate_day(folder, SCALE),
        frozenset({"customer", "orders", "lineitem", "returns"}),
        POINTS,
    ),
    "tpch": Night(
        _eight,
        lambda _folder: find_tables(TPCH.generate(SCALE)),
        TPCH.changing,
        (TimePoint(weight=0.3, arrived=0.7), TimePoint(weight=1.0, arrived=1.0)),
    ),
}


class LosingRunner(SparkRunner):
    """Kills the first worker once executors of both have ended tasks of an application."""

    cluster: Standalone
    events: Path
    lose_in: str
    lost = False

    def run(self, plan_uris: Sequence[str], name: str, **how: Any) -> Used:
        if name != self.lose_in:
            return super().run(plan_uris, name, **how)
        ended = threading.Event()
        killer = threading.Thread(target=self._kill_when_busy, args=[ended])
        killer.start()
        try:
            used = super().run(plan_uris, name, **how)
        finally:
            ended.set()
            killer.join()
        # From now on there is one executor, and nobody waits for two.
        self._conf["spark.scheduler.maxRegisteredResourcesWaitingTime"] = "1s"
        return used

    def _kill_when_busy(self, ended: threading.Event) -> None:
        """Spark writes its log to the disk whenever a stage is complete."""
        limit = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < limit and not ended.wait(0.1):
            for log in self.events.glob("*.inprogress"):
                if len(set(executors_of(read(log), "TaskEnd"))) == 2:
                    self.cluster.processes[0].kill()
                    self.lost = True
                    return


def read(log: Path) -> Events:
    """The events of a log, also of one that Spark is writing."""
    try:
        text = log.read_text()
    except FileNotFoundError:  # it has got its final name
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def applications(folder: Path) -> Iterator[Events]:
    for log in sorted(folder.iterdir(), key=lambda log: log.stat().st_mtime):
        yield read(log)


def executors_of(events: Events, kind: str) -> list[str]:
    """The executors that events of a kind are about."""
    return [
        e["Task Info"]["Executor ID"] if kind == "TaskEnd" else e["Executor ID"]
        for e in events
        if e["Event"] == f"SparkListener{kind}"
    ]


@pytest.mark.parametrize("name", NIGHTS)
def test_a_group_whose_cluster_loses_a_worker(
    name: str, versitygw_server, monkeypatch, tmp_path: Path
) -> None:
    night = NIGHTS[name]
    store = f"{use_bucket(versitygw_server, monkeypatch)}/store"
    for folder in ("logs", "events", "work"):
        (tmp_path / folder).mkdir()
    logged = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (tmp_path / "events").as_uri(),
    }
    with standalone(tmp_path / "cluster") as cluster:
        what = Simulation(
            name="night", sql="", tables=night.tables(tmp_path / "tables"),
            changing=night.changing, points=night.points,
            correlations=tuple(map(parse_correlation, TPCH.together)), seed=1,
            work=tmp_path / "work", store=store,
            arriving=shared_place(store, cluster.url, "night"), method="progressive",
        )  # fmt: skip
        runner = LosingRunner(tmp_path / "logs", cluster.url, small() | logged, memory="1g")
        runner.cluster, runner.events, runner.lose_in = cluster, tmp_path / "events", "night-run-2"
        reports = [Report(*report) for report in night.texts().items()]
        done = simulate_group(what, reports, runner, lambda _text: None, lambda _rows: None)
        assert runner.lost, "no application of that name, or too short to be hit"
        assert cluster.state()["aliveworkers"] == 1
    assert {day.report: day.equal for day in done.reports} == dict.fromkeys(night.texts(), True)
    assert [run.skipped for run in done.runs] == [False] * len(night.points)
    assert not (what.work / "sources").exists(), "sources are nowhere but in the store"
    first, second, *later = applications(tmp_path / "events")
    assert len(later) >= len(reports) + 1, "batch of each, and all in one application"
    for events in (first, second, *later):
        assert executors_of(events, "TaskEnd")
        assert "driver" not in executors_of(events, "TaskEnd")
    assert len(set(executors_of(first, "TaskEnd"))) == 2
    assert executors_of(second, "ExecutorRemoved"), "it was lost while the application worked"
    for events in later:
        assert len(set(executors_of(events, "TaskEnd"))) == 1, "the other worker has done the rest"
