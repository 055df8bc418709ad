"""How many customers have how many orders. Three runs on the demo's day."""

from __future__ import annotations

from datetime import UTC, datetime

from forerun_airflow import ReportSpec, expect, progressive_dag
from forerun_airflow.arrivals import demo_arrivals
from include.demo import POLICY, demo_sources

REPORT = ReportSpec(
    name="customer_distribution",
    description="How many customers have how many orders.",
    owner="demo",
    sql_file="customer_distribution.sql",
    sources=demo_sources("customer_distribution", "customer", "orders"),
    policy=POLICY,
    deadline="26:00",
    expectations=(
        expect("expect_column_values_to_be_unique", column="c_count"),
        expect("expect_column_values_to_be_between", column="customers", min_value=1),
    ),
)

dag = progressive_dag(
    REPORT,
    dag_id="demo_customer_distribution",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=None,
    # The demo's day is over, and small: left to itself, Forerun would see no use in early runs.
    mode="progressive",
    before_run=demo_arrivals(REPORT),
    tags=("demo",),
)
