"""DAGs for test_bad_days.py: a report each, and one more DAG with the report of another. Copied
into the DAG folder; data and store lie below ``FORERUN_TEST_ROOT``."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from forerun.airflow import MarkerFile, progressive_dag
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]


def build(dag_id, report=""):
    name = report or dag_id
    source = sales_source(f"{ROOT}/{name}", complete_when=MarkerFile())
    return progressive_dag(
        sales_report(store=f"{ROOT}/store", name=name, sources=(source,)),
        dag_id=dag_id,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        mode="progressive",
        engine="sail",
        watch=False,
        poll=0.2,
        retry_delay=timedelta(0),
    )


away, lost, lost_early, again, jumping, planned, committed, edited = map(
    build, ("away", "lost", "lost_early", "again", "jumping", "planned", "committed", "edited")
)
second = build("second", report="edited")
