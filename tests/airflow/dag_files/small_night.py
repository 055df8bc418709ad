"""DAGs for test_night_of_four.py: a group of two reports and two reports by themselves, with one
run each, and one run's worth of cores. Copied into the DAG folder; data and store lie below
``FORERUN_TEST_ROOT``."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from forerun.airflow import (
    Cluster,
    Hours,
    MarkerFile,
    ReportGroup,
    ReportSpec,
    RunPolicy,
    RunTime,
    group_dag,
    progressive_dag,
)
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.spark_jobs.run import main
from tests.airflow.reports import sales_report, sales_source

ROOT = Path(os.environ["FORERUN_TEST_ROOT"])
PAIR, ALONE = ("first", "second"), ("killed", "late")
ONE_RUN = Cluster(
    name="night", ceiling=(Hours(start="00:00", end="24:00", value=2),), lease="+00:00:10"
)


class RunHere(SubmitUnits):
    """Does the run in its own process: spark-submit, which starts a JVM, has its own tests."""

    def make_ready(self, store: str, *, tiny: bool, early_engine: str = "") -> None:
        """Nothing is submitted."""

    def submit(self, context: Any, plans: Any, *options: str) -> None:
        with (ROOT / "tries").open("a+") as tries:
            tries.write(f"{self.step.name}\n")
            tries.seek(0)
            said = tries.read().split()
        if said.count("killed") == 1 and self.step.name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        named = [part for plan in plans for part in ("--plan", plan)]
        attempt = f"t{context['ti'].try_number}-{context['ti'].id.hex[-8:]}"
        assert main([*named, *options, "--attempt", attempt, "--engine", "sail"]) == 0


def report(name: str) -> ReportSpec:
    return sales_report(
        name=name,
        sources=(sales_source(f"{ROOT}/{name}", complete_when=MarkerFile()),),
        policy=RunPolicy(runs=(RunTime(at="00:00"),), reserve="+00:01"),
        deadline=os.environ["FORERUN_TEST_DUE"],
    )


def run_here(dag: DAG) -> DAG:
    for task in dag.tasks:
        if isinstance(task, SubmitUnits):
            task.__class__ = RunHere
    return dag


ALIKE: dict[str, Any] = {
    "start_date": datetime(2026, 1, 1, tzinfo=UTC),
    "schedule": None,
    "engine": "sail",
    "cluster": ONE_RUN,
    "poll": 0.5,
    "watch": False,
    "retry_delay": timedelta(0),
}
pair = run_here(group_dag(ReportGroup(name="pair", reports=tuple(map(report, PAIR))), **ALIKE))
for one in ALONE:
    globals()[one] = run_here(progressive_dag(report(one), **ALIKE))
