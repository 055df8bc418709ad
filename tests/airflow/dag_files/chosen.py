"""DAGs for test_chosen_days.py: the report that lies beside it. Copied into the DAG folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forerun_airflow import progressive_dag
from include.reports.spec import decode_report

ROOT = Path(os.environ["FORERUN_TEST_ROOT"])

totals = progressive_dag(
    decode_report((ROOT / "report.json").read_bytes()),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=None,
    engine="sail",
    watch=False,  # `DAG.test` runs its trigger in line, before any run
    poll=1800.0,
    retry_delay=timedelta(0),
)
