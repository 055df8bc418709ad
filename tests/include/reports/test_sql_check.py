"""What is checked of a report's result when its DAG file is parsed."""

from __future__ import annotations

import pytest

from forerun.airflow.authoring.sql_check import check_sql
from forerun.include.reports.sinks import DeltaTable, only_spark_reads
from forerun.include.reports.spec import PartitionFolder, SpecError
from tests.airflow.reports import sales_report

SQL = "SELECT item, SUM(amount) AS total FROM sales GROUP BY item"


@pytest.mark.parametrize("column", ["item", "TOTAL"])
def test_a_result_with_the_column_of_its_partition_folder_is_refused(column: str) -> None:
    sink = PartitionFolder(path="/w/t", column=column)
    with pytest.raises(SpecError, match=f"its result has the column {column}"):
        check_sql(sales_report(sql=SQL, sink=sink))
    check_sql(sales_report(sql="SELECT count(*) AS n FROM sales", sink=sink))


def test_a_result_that_a_table_does_not_hold_as_spark_gives_it_is_refused() -> None:
    sql = "SELECT item, make_dt_interval(max(amount)) AS waited FROM sales GROUP BY item"
    with pytest.raises(
        SpecError, match="the column waited of its result is INTERVAL DAY TO SECOND"
    ):
        check_sql(sales_report(sql=sql, sink=DeltaTable(path="/w/t")))
    check_sql(sales_report(sql=sql, sink=PartitionFolder(path="/w/t")))
    as_text = sql.replace("make_dt_interval(max(amount))", "CAST(make_dt_interval(1) AS STRING)")
    check_sql(sales_report(sql=as_text, sink=DeltaTable(path="/w/t")))


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("INTERVAL DAY TO SECOND", True), ("interval year to month", True), ("VARIANT", True),
        ("ARRAY<VARIANT>", True), ("STRUCT<a:INT,b:INTERVAL DAY>", True), ("STRING", False),
        ("MAP<STRING,VARIANT>", True), ("STRUCT<variant:INT,interval:INT>", False),
        ("STRUCT<variant: STRING>", False), ("ARRAY<STRUCT<q: INTERVAL MONTH>>", True),
    ],
)  # fmt: skip
def test_types_that_spark_alone_reads(kind: str, refused: bool) -> None:
    assert only_spark_reads(kind) is refused
