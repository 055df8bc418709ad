"""The DAGs of test_periods.py: a weekly report, and one over the last week, day after day. Copied
into the DAG folder."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from airflow.sdk import BaseOperator

from forerun.airflow import (
    ClockTime,
    MarkerFile,
    RunPolicy,
    RunTime,
    Trailing,
    Weekly,
    progressive_dag,
)
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
ARRIVALS = {1: range(3), 2: range(3, 6), 3: range(6, 7)}
"""Which days of the week come before each run."""


class ArriveDays(BaseOperator):
    """Delivers a file to the folder of each of some days, and marks them as complete."""

    def __init__(self, *, run: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run = run

    def execute(self, context: Any) -> None:
        opened = context["ti"].xcom_pull(task_ids="open_day")
        monday = date.fromisoformat(opened["day"]) - timedelta(days=6)
        for number in ARRIVALS[self.run]:
            folder = Path(ROOT) / "sales" / str(monday + timedelta(days=number))
            folder.mkdir(parents=True)
            rows = {"item": ["apple", f"of day {number}"], "amount": [number, 1]}
            types = pa.schema([("item", pa.string()), ("amount", pa.int64())])
            pq.write_table(pa.table(rows, types), folder / "1.parquet")
            (folder / "_SUCCESS").touch()


def before_run(run: int) -> BaseOperator:
    return ArriveDays(task_id=f"arrive_{run}", run=run, trigger_rule="all_done")


weekly = progressive_dag(
    sales_report(
        name="weekly",
        store=f"{ROOT}/store",
        period=Weekly(),
        sources=(sales_source(ROOT, complete_when=MarkerFile()),),
        policy=RunPolicy(
            runs=(
                RunTime(at="-4d 24:00", weight=0.25),
                RunTime(at="-1d 24:00", weight=0.3),
                RunTime(at="24:00"),
            )
        ),
    ),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    engine="sail",
    watch=False,
    poll=0.5,
    before_run=before_run,
    retry_delay=timedelta(0),
)

rolling = progressive_dag(
    sales_report(
        name="rolling",
        store=f"{ROOT}/store",
        sources=(
            sales_source(f"{ROOT}/rolling", complete_when=ClockTime(), over=Trailing(days_back=7)),
        ),
        policy=RunPolicy(runs=(RunTime(at="24:00"),), inherit_days=6),
    ),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    engine="sail",
    watch=False,
    poll=0.5,
    retry_delay=timedelta(0),
)
