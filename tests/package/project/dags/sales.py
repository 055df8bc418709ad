"""A report of the team's, in a DAG file that uses packages of its own project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from airflow.sdk import BaseOperator
from include.start_day import START

from forerun.airflow import (
    ColumnSpec,
    MarkerFile,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    progressive_dag,
)
from planner import OWNER

DATA = Path(os.environ["TEAM_DATA"])
ARRIVALS = {1: [("a", 10), ("b", 3)], 2: [("a", 5), ("c", 7)], 3: [("b", -3), (None, 4)]}

REVENUE = ReportSpec(
    name="revenue",
    sql_file="sql/revenue.sql",
    owner=OWNER,
    sources=(
        SourceSpec(
            name="sales",
            path=f"{DATA.as_uri()}/sales/{{ds}}",
            columns=(
                ColumnSpec(name="item", type="STRING"),
                ColumnSpec(name="amount", type="BIGINT"),
            ),
            complete_when=MarkerFile(),
        ),
    ),
    policy=RunPolicy(
        runs=(
            RunTime(at="10:00", weight=0.25),
            RunTime(at="16:00", weight=0.3),
            RunTime(at="24:00", weight=1.0),
        )
    ),
    deadline="30:00",
)


class Arrive(BaseOperator):
    """Delivers what comes in before a run; the last delivery marks the day as complete."""

    def __init__(self, *, run: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run = run

    def execute(self, context: Any) -> None:
        folder = DATA / "sales" / context["ti"].xcom_pull(task_ids="open_day")["day"]
        folder.mkdir(parents=True, exist_ok=True)
        items, amounts = zip(*ARRIVALS[self.run], strict=True)
        table = pa.table({"item": pa.array(items, pa.string()), "amount": list(amounts)})
        pq.write_table(table, folder / f"run-{self.run}.parquet")
        if self.run == max(ARRIVALS):
            (folder / "_SUCCESS").touch()


dag = progressive_dag(
    REVENUE,
    start_date=START,
    watch=False,
    poll=0.5,
    before_run=lambda run: Arrive(task_id=f"arrive_{run}", run=run, trigger_rule="all_done"),
)
