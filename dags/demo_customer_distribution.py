"""How many customers have how many orders. Three runs on the demo's day."""

from __future__ import annotations

from forerun.demo.arrivals import demo_dag
from forerun.demo.reports import POLICY, demo_sources
from forerun_airflow import ReportSpec, expect

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

dag = demo_dag(REPORT)
