"""The ten orders of the building segment with the highest revenue. Three runs on the demo's day."""

from __future__ import annotations

from forerun.demo.arrivals import demo_dag
from forerun.demo.reports import POLICY, demo_sources
from forerun_airflow import ReportSpec, expect

REPORT = ReportSpec(
    name="top_orders",
    description="The ten orders of the building segment with the highest revenue.",
    owner="demo",
    sql_file="top_orders.sql",
    sources=demo_sources("top_orders", "customer", "orders", "lineitem"),
    policy=POLICY,
    deadline="26:00",
    expectations=(
        expect("expect_table_row_count_to_be_between", min_value=1, max_value=10),
        expect("expect_column_values_to_be_unique", column="o_orderkey"),
    ),
)

dag = demo_dag(REPORT)
