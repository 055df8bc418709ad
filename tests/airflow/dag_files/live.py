"""A DAG for tests with a real scheduler: a report of a day that is still to come. Copied into the
DAG folder; data and store lie below ``FORERUN_TEST_ROOT``. The test makes its connection."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from forerun.airflow import progressive_dag
from tests.airflow.reports import sales_report

ROOT = os.environ["FORERUN_TEST_ROOT"]

live = progressive_dag(
    sales_report(f"{ROOT}/data", f"{ROOT}/store", name="live"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=None,
    conn_id="live_spark",
    engine="sail",
    poll=1.0,
    retry_delay=timedelta(seconds=1),
)
