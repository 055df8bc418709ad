"""DAGs for test_night_in_airflow.py: reports that are due one after the other, with one cluster."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG

from forerun_airflow import Cluster, Hours, MarkerFile, RunPolicy, RunTime, progressive_dag
from forerun_airflow.submit import SubmitRun
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
BEGIN = datetime.fromisoformat(os.environ["FORERUN_TEST_BEGIN"])
"""When the early runs are; the final ones come 45 seconds later."""
NAMES = ("first", "killed", "late", "last")
TWO_RUNS = Cluster(
    name="night", ceiling=(Hours(start="00:00", end="24:00", value=4),), lease="+00:00:30"
)


def after(seconds: int) -> str:
    """A time of the day, so many seconds after the early runs."""
    since = BEGIN + timedelta(seconds=seconds) - BEGIN.replace(hour=0, minute=0, second=0)
    return (
        f"+{since // timedelta(hours=1):02}:{since.seconds // 60 % 60:02}:{since.seconds % 60:02}"
    )


class KilledOnce(SubmitRun):
    """Its process is killed in its first try, while it holds cores."""

    def submit(self, context: Any, plans: Any, *options: str) -> None:
        if context["ti"].try_number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        super().submit(context, plans, *options)


def report(place: int, name: str) -> DAG:
    spec = sales_report(
        name=name,
        sources=(sales_source(f"{ROOT}/{name}", complete_when=MarkerFile()),),
        policy=RunPolicy(
            runs=(RunTime(at=after(0), weight=0.25), RunTime(at=after(45))), reserve="+00:01"
        ),
        deadline=after(330 + 30 * place),
    )
    dag = progressive_dag(
        spec,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        schedule=None,
        engine="sail",
        cluster=TWO_RUNS,
        poll=2.0,
        watch=False,
        retry_delay=timedelta(seconds=1),
    )
    if name == "killed":
        dag.get_task("run_2.run").__class__ = KilledOnce
    return dag


for place, name in enumerate(NAMES):
    globals()[name] = report(place, name)
