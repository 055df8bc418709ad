"""DAGs for tests with a real scheduler: a report for each bad night. Copied into the DAG folder;
data and store lie below ``FORERUN_TEST_ROOT``. ``FORERUN_TEST_DUE`` is when the late one is due, on
the clock of the day."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from forerun.airflow import MarkerFile, RunPolicy, RunTime, deadline_alerts, expect, progressive_dag
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
PAGER = "tests.airflow.pager.send"
ONE = RunPolicy(runs=(RunTime(at="00:00"),))
# Two days are kept free: the latest safe start is at once.
AT_ONCE = RunPolicy(runs=(RunTime(at="00:00"),), reserve="+48:00")
TWO = RunPolicy(runs=(RunTime(at="00:00", weight=0.1), RunTime(at="00:01")))
NEVER_NEGATIVE = expect(
    "expect_column_values_to_be_between", column="revenue", min_value=0, severity="critical"
)


def night(name, *, store="store", policy=ONE, deadline="48:00", alerted=False, **more):
    report = sales_report(
        name=name,
        sources=(sales_source(f"{ROOT}/{name}", complete_when=MarkerFile()),),
        store=f"{ROOT}/{store}",
        policy=policy,
        deadline=deadline,
        **more,
    )
    return progressive_dag(
        report,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        schedule=None,
        engine="sail",
        retries=0,
        poll=1.0,
        notify=PAGER,
        **({"deadline": deadline_alerts(report, notify=PAGER)} if alerted else {}),
    )


truncated, drifted, killed, waiting, held = map(
    night, ("truncated", "drifted", "killed", "waiting", "held")
)
blocked = night("blocked", expectations=(NEVER_NEGATIVE,))
not_there = night("not_there", policy=AT_ONCE, on_incomplete="fail")
without = night("without", policy=AT_ONCE, on_incomplete="publish_with_warning")
unopened = night("unopened", store="no-folder")
full = night("full", store="full-disk")
lost = night("lost", policy=TWO)
late = night("late", deadline=os.environ["FORERUN_TEST_DUE"], alerted=True)
