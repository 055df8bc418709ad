"""DAGs for test_chosen_days.py: one report whose times are chosen. Copied into the DAG folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forerun_airflow import progressive_dag
from tests.include.days.past_days import chosen_report, with_marker

ROOT = Path(os.environ["FORERUN_TEST_ROOT"])

totals = progressive_dag(
    with_marker(chosen_report(ROOT, store=str(ROOT / "store"), deadline="30:00")),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=None,
    engine="sail",
    watch=False,  # `DAG.test` runs its trigger in line, before any run
    poll=1800.0,
    retry_delay=timedelta(0),
)
