"""Sales by ship mode, consolidated with the returns that came in. Three runs on the demo's day."""

from __future__ import annotations

from forerun.demo.arrivals import demo_dag
from forerun.demo.reports import POLICY, demo_sources
from forerun_airflow import ReportSpec, expect

REPORT = ReportSpec(
    name="consolidated_revenue",
    description="Sales by ship mode, consolidated with the returns that came in.",
    owner="demo",
    sql_file="consolidated_revenue.sql",
    sources=demo_sources("consolidated_revenue", "lineitem", "returns"),
    policy=POLICY,
    deadline="26:00",
    expectations=(
        expect("expect_column_values_to_not_be_null", column="category"),
        expect("expect_column_values_to_be_between", column="sales", min_value=1),
        expect("expect_table_row_count_to_be_between", max_value=7, severity="warning"),
    ),
)

dag = demo_dag(REPORT)
