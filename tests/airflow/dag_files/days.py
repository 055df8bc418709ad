"""DAGs for test_days.py and test_s3.py: one report, several days. Copied into the DAG folder.

Data and store lie below ``FORERUN_TEST_ROOT``, a folder or an ``s3://`` URI.
"""

from __future__ import annotations

import io
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from airflow.sdk import DAG, BaseOperator

from forerun.airflow import (
    MarkerFile,
    ProgressiveTaskGroup,
    Shadow,
    expect,
    progressive_dag,
    report_params,
)
from forerun.include.days.instructions import Instruction, instruct
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
POLICY = sales_report().policy
# What arrives before each run.
ARRIVALS = {
    1: [("apple", 10), ("pear", 3), (None, 1)],
    2: [("apple", 5), ("plum", 7)],
    3: [("pear", -3), ("plum", None), (None, 4)],
}


class Arrive(BaseOperator):
    """Delivers one file; the last one marks the day as complete."""

    def __init__(self, *, data: str, run: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data = data
        self.run = run

    def execute(self, context: Any) -> None:
        self.deliver(context, self.run)

    def deliver(self, context: Any, run: int) -> None:
        group = self.task_id.removesuffix(f"arrive_{self.run}")
        opened = context["ti"].xcom_pull(task_ids=f"{group}open_day")
        store, folder = open_store(self.data), f"sales/{opened['day']}"
        names, amounts = zip(*ARRIVALS[run], strict=True)
        table = pa.table(
            {"item": pa.array(names, pa.string()), "amount": pa.array(amounts, pa.int64())}
        )
        file = io.BytesIO()
        pq.write_table(table, file)
        store.put_if_absent(f"{folder}/run-{run}.parquet", file.getvalue())
        if run == max(ARRIVALS):
            store.put_if_absent(f"{folder}/_SUCCESS", b"")


class LookAndArrive(Arrive):
    """Writes down what readers find published before the delivery comes."""

    def execute(self, context: Any) -> None:
        opened = context["ti"].xcom_pull(task_ids="open_day")
        store = open_store(f"{ROOT}/store")
        name = self.data.rpartition("/")[2]
        found = store.find(f"results/{name}/{opened['day']}/pointer.json")
        seen = found.data if found else b"null"
        open_store(self.data).put_if_absent(f"seen/{opened['day']}-{self.run}.json", seen)
        super().execute(context)


def as_group(spec, *, start_date, **options):
    """A DAG of one's own that holds the report's tasks as a group."""
    with DAG(spec.name, start_date=start_date, schedule=None, params=report_params()) as dag:
        ProgressiveTaskGroup(spec, group_id="tasks", **options)
    return dag


class ArriveInTwo(Arrive):
    """What comes third is there before the second run, which is the last one."""

    def execute(self, context: Any) -> None:
        super().execute(context)
        if self.run == 2:
            self.deliver(context, 3)


class ArriveAndTell(Arrive):
    """Before run 2 somebody wants batch at once."""

    def execute(self, context: Any) -> None:
        super().execute(context)
        if self.run == 2:
            opened = context["ti"].xcom_pull(task_ids="open_day")
            at = Generation(self.dag_id, opened["day"], opened["generation"])
            wanted = Instruction(kind="batch", by="anna", at="2026-03-01T15:00:00Z", form="f")
            instruct(open_store(f"{ROOT}/store"), at, wanted)


def build(
    name,
    *,
    make=progressive_dag,
    source=None,
    sql=None,
    expectations=(),
    deliveries=(),
    results_at=(),
    arriving=Arrive,
    policy=POLICY,
    shadow=None,
    **options,
):
    data = f"{ROOT}/{source or name}"
    spec = sales_report(
        store=f"{ROOT}/store",
        name=name,
        sources=(sales_source(data, complete_when=MarkerFile(), expectations=deliveries),),
        expectations=expectations,
        policy=replace(policy, results_at=results_at),
        shadow=shadow,
    )
    if sql:
        spec = spec.with_sql(sql)

    def before_run(run):
        return arriving(task_id=f"arrive_{run}", data=data, run=run, trigger_rule="all_done")

    # Tasks are tried again as often as anywhere, and at once.
    again = {"retry_delay": timedelta(0)}
    options = {"engine": "sail", "watch": False, "before_run": before_run, **again, **options}
    return make(spec, start_date=datetime(2026, 1, 1, tzinfo=UTC), poll=0.5, **options)


progressive = build("progressive")
batch = build("batch")
grouped = build("grouped", make=as_group)
by_hand = build("by_hand")
cleared = build("cleared")
backfilled = build("backfilled")
dry = build("dry")
in_shadow = build(
    "in_shadow",
    shadow=Shadow(compare_with=f"{ROOT}/old/revenue", days=1),
    notify="tests.airflow.pager.send",
)
told = build("told", arriving=ArriveAndTell)
# One early run shows it, where runs are dear.
ONE_EARLY = replace(POLICY, runs=POLICY.runs[1:])
on_spark = build("on_spark", engine="spark", policy=ONE_EARLY, arriving=ArriveInTwo)
early = build("early", results_at=(1, 2), arriving=LookAndArrive)
early_broken = build("early_broken", results_at=(1, 2), arriving=LookAndArrive)
early_broken.get_task("run_2.run").conf = {"spark.driver.memory": "1k"}
early_broken.get_task("run_2.run").retries = 0
early_late = build("early_late", results_at=(1, 2))
broken_early = build("broken_early")
# The JVM of run 2 cannot start.
broken_early.get_task("run_2.run").conf = {"spark.driver.memory": "1k"}
broken_early.get_task("run_2.run").retries = 0
critical = build(
    "critical",
    expectations=(expect("expect_column_values_to_not_be_null", column="item"),),
)
bad_delivery = build(
    "bad_delivery",
    deliveries=(expect("expect_column_values_to_not_be_null", column="item"),),
)
bad_delivery.get_task("run_1.run").retries = 0
warned = build(
    "warned",
    expectations=(
        expect("expect_column_values_to_not_be_null", column="item", severity="warning"),
    ),
)


def stumble(context):
    """Fail the first try of a task."""
    if context["ti"].try_number == 1:
        raise RuntimeError(f"{context['ti'].task_id} has stumbled")


for task in batch.tasks:
    if not task.task_id.startswith("arrive"):
        task.pre_execute = stumble
