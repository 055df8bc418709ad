"""DAGs for test_night_in_airflow.py: reports at the times of a plan, alone and in groups, with one
cluster. Copied into
the DAG folder; data, store and plan lie below ``FORERUN_TEST_ROOT``."""

from __future__ import annotations

import json
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

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
from tests.airflow.reports import sales_report, sales_source

ROOT = Path(os.environ["FORERUN_TEST_ROOT"])
TWO_RUNS = Cluster(
    name="night", ceiling=(Hours(start="00:00", end="24:00", value=4),), lease="+00:00:30"
)


class KilledOnce(SubmitUnits):
    """Its process is killed in its first try, while it holds cores."""

    def submit(self, context: Any, plans: Any, *options: str) -> None:
        if context["ti"].try_number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        super().submit(context, plans, *options)


def report(name: str, runs: list[str], due: str) -> ReportSpec:
    return sales_report(
        name=name,
        sources=(sales_source(f"{ROOT}/{name}", complete_when=MarkerFile()),),
        policy=RunPolicy(
            runs=tuple(RunTime(at=at, weight=0.3 if at != runs[-1] else 1.0) for at in runs),
            reserve="+00:03",
        ),
        deadline=due,
    )


ALIKE: dict[str, Any] = {
    "start_date": datetime(2026, 1, 1, tzinfo=UTC),
    "schedule": None,
    "engine": "sail",
    "cluster": TWO_RUNS,
    "poll": 2.0,
    "watch": False,
    "retry_delay": timedelta(seconds=1),
}
NIGHT = json.loads((ROOT / "night.json").read_text())
REPORTS = {name: report(name, **planned) for name, planned in NIGHT["reports"].items()}
for group, members in NIGHT["groups"].items():
    specs = tuple(REPORTS.pop(name) for name in members)
    globals()[group] = group_dag(ReportGroup(name=group, reports=specs), **ALIKE)
for one, spec in REPORTS.items():
    dag = globals()[one] = progressive_dag(spec, **ALIKE)
    if one == "killed":
        dag.get_task(f"run_{spec.runs}.run").__class__ = KilledOnce
