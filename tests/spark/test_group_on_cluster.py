"""The demo's reports as a group on a Spark cluster that loses a worker in the middle of the night.

The store is a bucket. The deliveries lie in a folder, which workers of this machine can read;
:mod:`tests.spark.test_cluster` has a day whose machines share nothing but the store.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forerun.deliveries import parse_correlation
from forerun.demo.data import generate_day
from forerun.planning import Report
from forerun.running import SparkRunner, Used
from forerun.simulate_group import simulate_group
from forerun.simulated_day import Simulation
from include.machine.jvm import driver_files
from tests.benchmarks.days import POINTS
from tests.benchmarks.page import ROOT
from tests.s3_servers import use_bucket
from tests.spark.standalone import Standalone, standalone
from tests.spark.test_cluster import small

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.s3,
    pytest.mark.skipif(driver_files().jars is None, reason="the S3A jars are not here: make jars"),
]
CHANGING = frozenset({"customer", "orders", "lineitem", "returns"})
IN_THE_MIDDLE = "night-2"


class LosingRunner(SparkRunner):
    """Kills the first worker while the application of the second time point works there."""

    cluster: Standalone
    lost = False

    def run(self, plan_uris: Sequence[str], name: str, *, tiny: bool) -> Used:
        if name != IN_THE_MIDDLE:
            return super().run(plan_uris, name, tiny=tiny)
        killer = threading.Thread(target=self._kill_when_busy)
        killer.start()
        used = super().run(plan_uris, name, tiny=tiny)
        killer.join()
        return used

    def _kill_when_busy(self) -> None:
        """Once the application has cores of both workers, and has had the time to start tasks."""
        limit = time.monotonic() + 120
        while time.monotonic() < limit:
            if sum(worker["coresused"] for worker in self.cluster.state()["workers"]) == 2:
                time.sleep(4)
                self.cluster.processes[0].kill()
                self.lost = True
                return
            time.sleep(0.1)


def applications(folder: Path) -> list[list[dict[str, Any]]]:
    logs = sorted(folder.iterdir(), key=lambda log: log.stat().st_mtime)
    return [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]


def executors_of(events: list[dict[str, Any]], kind: str) -> list[str]:
    """The executors that events of a kind are about."""
    return [
        e["Task Info"]["Executor ID"] if kind == "TaskEnd" else e["Executor ID"]
        for e in events
        if e["Event"] == f"SparkListener{kind}"
    ]


def test_a_group_whose_cluster_loses_a_worker(versitygw_server, monkeypatch, tmp_path: Path):
    store = f"{use_bucket(versitygw_server, monkeypatch)}/store"
    tables = generate_day(tmp_path / "tables", 0.01)
    for folder in ("logs", "events"):
        (tmp_path / folder).mkdir()
    texts = sorted((ROOT / "include" / "sql").glob("*.sql"))
    reports = [Report(path.stem, path.read_text()) for path in texts]
    what = Simulation(
        name="night", sql="", tables=tables, changing=CHANGING, points=POINTS,
        correlations=(parse_correlation("lineitem.l_orderkey=orders.o_orderkey"),), seed=1,
        work=tmp_path / "work", store=store, incoming=None, method="progressive",
    )  # fmt: skip
    what.work.mkdir()
    logged = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (tmp_path / "events").as_uri(),
        # One of the two executors is gone for good after a while: nobody waits for it then.
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "10s",
    }
    with standalone(tmp_path / "cluster") as cluster:
        conf = small() | logged
        runner = LosingRunner(tmp_path / "logs", cluster.url, conf, memory="1g")
        runner.cluster = cluster
        night = simulate_group(what, reports, runner, lambda _text: None, lambda _rows: None)
        assert cluster.state()["aliveworkers"] == 1
    assert runner.lost
    assert night.equal
    assert [run.skipped for run in night.runs] == [False] * 3
    first, second, third = applications(tmp_path / "events")[:3]
    for events in (first, second, third):
        assert "driver" not in executors_of(events, "TaskEnd")
        assert executors_of(events, "TaskEnd")
    assert len(set(executors_of(first, "TaskEnd"))) == 2
    assert executors_of(second, "ExecutorRemoved"), "it was lost while the application worked"
    assert len(set(executors_of(third, "TaskEnd"))) == 1, "the other worker has done the rest"
