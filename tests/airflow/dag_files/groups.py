"""DAGs for test_groups.py: report groups on one source each. Copied into the DAG folder.

Data and store lie below ``FORERUN_TEST_ROOT``.
"""

from __future__ import annotations

import io
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from airflow.sdk import BaseOperator

from forerun.airflow import (
    Cluster,
    Hours,
    MarkerFile,
    ReportGroup,
    RunTime,
    expect,
    group_dag,
)
from forerun.include.stores.opening import open_store
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
ARRIVALS = {
    1: [("apple", 10), ("pear", 3), (None, 1)],
    2: [("apple", 5), ("plum", 7)],
    3: [("pear", -3), ("plum", None), (None, 4)],
}
COUNT = "SELECT item, count(*) AS n, max(amount) AS most FROM sales GROUP BY item"
TOTAL = "SELECT sum(amount) AS total FROM sales"
FAILS = "SELECT item, sum(amount / (amount - amount)) AS revenue FROM sales GROUP BY item"


class Arrive(BaseOperator):
    """Delivers one file into the folders of all reports; the last one marks their days complete,
    but for the ``late`` one."""

    def __init__(self, *, names: tuple[str, ...], run: int, late: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.names = names
        self.run = run
        self.late = late

    def execute(self, context: Any) -> None:
        table = pa.table({
            "item": pa.array([item for item, _ in ARRIVALS[self.run]], pa.string()),
            "amount": pa.array([amount for _, amount in ARRIVALS[self.run]], pa.int64()),
        })  # fmt: skip
        file = io.BytesIO()
        pq.write_table(table, file)
        for name in self.names:
            opened = context["ti"].xcom_pull(task_ids=f"{name}.open_day")
            store, folder = open_store(f"{ROOT}/{name}"), f"sales/{opened['day']}"
            store.put_if_absent(f"{folder}/run-{self.run}.parquet", file.getvalue())
            if self.run == max(ARRIVALS) and name != self.late:
                store.put_if_absent(f"{folder}/_SUCCESS", b"")


class Complete(Arrive):
    """Marks the day of the late report as complete, once the application has gone on without."""

    def execute(self, context: Any) -> None:
        opened = context["ti"].xcom_pull(task_ids=f"{self.late}.open_day")
        store = open_store(f"{ROOT}/{self.late}")
        store.put_if_absent(f"sales/{opened['day']}/_SUCCESS", b"")


def report(name: str, **changes: Any) -> Any:
    source = sales_source(f"{ROOT}/{name}", complete_when=MarkerFile())
    return sales_report(store=f"{ROOT}/store", name=name, sources=(source,), **changes)


def build(name: str, *reports: Any, late: str = "", **options: Any) -> Any:
    names = tuple(one.name for one in reports)

    def before_point(point: int) -> BaseOperator:
        return Arrive(
            task_id=f"arrive_{point}", names=names, run=point, late=late, trigger_rule="all_done"
        )

    group = ReportGroup(name=name, reports=reports, patience="+00:00:00")
    again = {"retry_delay": timedelta(0), "watch": False}
    cores = Cluster(name="groups", ceiling=(Hours(start="00:00", end="24:00", value=2),))
    given = {"engine": "sail", "before_point": before_point, "cluster": cores, **again}
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return group_dag(group, start_date=start, schedule=None, poll=0.5, **given, **options)


POLICY = replace(sales_report().policy, early_engine="sail")
night = build(
    "night",
    report("night_revenue", policy=POLICY),
    report("night_count", sql=COUNT, policy=replace(POLICY, runs=(RunTime(at="24:00"),))),
    report("night_total", sql=TOTAL, policy=replace(POLICY, results_at=(2,))),
)
rough = build(
    "rough",
    report("rough_fails", sql=FAILS),
    report("rough_fine"),
    report(
        "rough_checked",
        expectations=(expect("expect_column_values_to_be_between", column="n", min_value=9),),
    ),
    report("rough_late"),
    late="rough_late",
    retries=0,
)
with rough:
    complete = Complete(
        task_id="complete", names=(), run=3, late="rough_late", trigger_rule="all_done"
    )
    # DAG.test runs one task after the other: a wait for what comes later would never end.
    rough.get_task("at_3.run") >> complete >> rough.get_task("rough_late.run_3.wait")
