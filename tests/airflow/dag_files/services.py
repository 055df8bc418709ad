"""The DAG of test_services.py: a topic joined with a table of PostgreSQL, published into another
one. Copied into the DAG folder.

Before its second run the brokers have deleted all that the first one has read.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from airflow.sdk import BaseOperator

from forerun.airflow import (
    ClockTime,
    PostgresqlTable,
    RunPolicy,
    RunTime,
    SourceSpec,
    progressive_dag,
)
from tests.airflow.reports import sales_report
from tests.kafka_broker import Broker

ROOT = os.environ["FORERUN_TEST_ROOT"]
TOPIC = "sold"
ARRIVALS = {1: [(1, 5), (2, 7), (1, 3)], 2: [(2, 1), (3, 2)], 3: [(1, 1), (9, 9)]}
"""What is sold before each run: ids of items, and amounts."""


class ArriveMessages(BaseOperator):
    """Writes messages of the day, after those that are there have been deleted."""

    def __init__(self, *, run: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run = run

    def execute(self, context: Any) -> None:
        opened = context["ti"].xcom_pull(task_ids="open_day")
        begins = datetime.combine(date.fromisoformat(opened["day"]), time(), UTC).timestamp()
        connection = json.loads(os.environ["AIRFLOW_CONN_SHOP"])
        broker = Broker(connection["extra"]["bootstrap.servers"])
        read = sum(len(rows) for run, rows in ARRIVALS.items() if run < self.run)
        if read:
            broker.delete_before(TOPIC, read)
        values = ({"id": item, "amount": amount} for item, amount in ARRIVALS[self.run])
        broker.send(TOPIC, *values, at=begins + 3600 * self.run)


def before_run(run: int) -> BaseOperator:
    return ArriveMessages(task_id=f"arrive_{run}", run=run, trigger_rule="all_done")


served = progressive_dag(
    sales_report(
        name="served",
        store=f"{ROOT}/store",
        sql="SELECT i.item, sum(s.amount) AS revenue, count(*) AS n FROM sold s "
        "JOIN items i ON s.id = i.id GROUP BY i.item",
        sources=(
            SourceSpec(
                name="sold",
                path=f"kafka://shop/{TOPIC}",
                format="kafka",
                columns={"id": "BIGINT", "amount": "BIGINT"},
                complete_when=ClockTime(at="24:00"),
            ),
            SourceSpec(
                name="items",
                path="postgresql://warehouse/public.items",
                format="postgresql",
                columns={"id": "BIGINT", "item": "STRING"},
                arrival="static",
            ),
        ),
        policy=RunPolicy(
            runs=(
                RunTime(at="10:00", weight=0.25),
                RunTime(at="16:00", weight=0.3),
                RunTime(at="24:00"),
            )
        ),
        sink=PostgresqlTable(path="postgresql://warehouse/public.served"),
    ),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    engine="sail",
    watch=False,
    poll=0.5,
    before_run=before_run,
    retry_delay=timedelta(0),
)
