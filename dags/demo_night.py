"""Three reports of a small shop, planned and run together. Three time points on the demo's day."""

from __future__ import annotations

from forerun.airflow import ReportGroup, ReportSpec, expect
from forerun.demo.arrivals import demo_dag
from forerun.demo.reports import POLICY, demo_sources, demo_sql

CONSOLIDATED_REVENUE = ReportSpec(
    name="consolidated_revenue",
    description="Sales by ship mode, consolidated with the returns that came in.",
    owner="demo",
    sql_file=demo_sql("consolidated_revenue"),
    sources=demo_sources("lineitem", "returns"),
    policy=POLICY,
    deadline="26:00",
    expectations=(
        expect("expect_column_values_to_not_be_null", column="category"),
        expect("expect_column_values_to_be_between", column="sales", min_value=1),
        expect("expect_table_row_count_to_be_between", max_value=7, severity="warning"),
    ),
)
DELIVERY_NOTES = ReportSpec(
    name="delivery_notes",
    description="What is written on order lines, by ship mode and month.",
    owner="demo",
    sql_file=demo_sql("delivery_notes"),
    sources=demo_sources("lineitem"),
    policy=POLICY,
    deadline="26:00",
    expectations=(
        expect("expect_table_row_count_to_be_between", min_value=1),
        expect("expect_column_values_to_not_be_null", column="month"),
    ),
)
CUSTOMER_DISTRIBUTION = ReportSpec(
    name="customer_distribution",
    description="How many customers have how many orders.",
    owner="demo",
    sql_file=demo_sql("customer_distribution"),
    sources=demo_sources("customer", "orders"),
    policy=POLICY,
    deadline="26:00",
    expectations=(
        expect("expect_column_values_to_be_unique", column="c_count"),
        expect("expect_column_values_to_be_between", column="customers", min_value=1),
    ),
)

GROUP = ReportGroup(
    name="night", reports=(CONSOLIDATED_REVENUE, DELIVERY_NOTES, CUSTOMER_DISTRIBUTION)
)

dag = demo_dag(GROUP)
