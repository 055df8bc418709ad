"""What is checked of a report's result when its DAG file is parsed."""

from __future__ import annotations

import pytest

from forerun.airflow.authoring.sql_check import check_sql
from forerun.include.reports.spec import PartitionFolder, SpecError
from tests.airflow.reports import sales_report

SQL = "SELECT item, SUM(amount) AS total FROM sales GROUP BY item"


@pytest.mark.parametrize("column", ["item", "TOTAL"])
def test_a_result_with_the_column_of_its_partition_folder_is_refused(column: str) -> None:
    sink = PartitionFolder(path="/w/t", column=column)
    with pytest.raises(SpecError, match=f"its result has the column {column}"):
        check_sql(sales_report(sql=SQL, sink=sink))
    check_sql(sales_report(sql="SELECT count(*) AS n FROM sales", sink=sink))
