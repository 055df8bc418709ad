"""DAGs for tests with a real scheduler: reports that will miss their deadlines. Copied into the DAG
folder; data and store lie below ``FORERUN_TEST_ROOT``. ``FORERUN_TEST_DUE`` is when the second one
is due, on the clock of the day."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from forerun.airflow import MarkerFile, RunPolicy, RunTime, deadline_alerts, progressive_dag
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
PAGER = "tests.airflow.pager.send"
# One run, at the start of the day, and two days kept free: the latest safe start is at once.
ALONE = RunPolicy(runs=(RunTime(at="00:00"),), reserve="+48:00")


def report(name, due):
    source = sales_source(f"{ROOT}/data", complete_when=MarkerFile())
    return sales_report(
        store=f"{ROOT}/store", name=name, sources=(source,), policy=ALONE, deadline=due
    )


given = {"start_date": datetime(2026, 1, 1, tzinfo=UTC), "schedule": None, "engine": "sail"}
late = progressive_dag(report("late", "48:00"), notify=PAGER, poll=1.0, **given)
soon = report("soon", os.environ["FORERUN_TEST_DUE"])
soon_due = progressive_dag(
    soon, watch=False, deadline=deadline_alerts(soon, notify=PAGER), poll=1.0, **given
)
