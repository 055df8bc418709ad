"""Reports as SQL files with front matter, and as functions: the same spec as in Python."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from airflow.sdk.exceptions import AirflowFailException

from forerun.airflow import progressive_report, report_folder
from forerun.include.reports.front_matter import read_report_file
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.sources.complete_when import ClockTime
from forerun.include.reports.values.fields import SpecError
from tests.airflow.reports import sales_report, sales_source

START = datetime(2026, 1, 1, tzinfo=UTC)
FILE = """/*---
sources:
  sales:
    path: /data/sales/{ds}
    columns: {item: STRING, amount: BIGINT}
    complete_when: {ClockTime: {at: "24:00"}}
policy:
  runs: [{at: "10:00", weight: 0.25}, {at: "16:00", weight: 0.3}, {at: "24:00"}]
  reserve: 30m
dag: {pool: reports}
---*/
SELECT item, sum(amount) AS revenue, count(*) AS n FROM sales GROUP BY item
"""


def test_a_file_says_what_python_says(tmp_path):
    (tmp_path / "revenue.sql").write_text(FILE)
    found = read_report_file(tmp_path / "revenue.sql")
    runs = (RunTime(at="10:00", weight=0.25), RunTime(at="16:00", weight=0.3), RunTime(at="24:00"))
    policy = RunPolicy(runs=runs, reserve="+00:30")
    wanted = sales_report(
        policy=policy, sources=(sales_source("/data", complete_when=ClockTime(at="24:00")),)
    )
    assert found.spec.sql.strip() == wanted.sql
    assert found.spec.with_sql(wanted.sql) == wanted
    assert found.options == {"pool": "reports"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("reserve: 30m", "reserve: soon", "line 9, policy.reserve: "),
        ("policy:", "polity:", "line 7, polity: ReportSpec has no field polity"),
        ("weight: 0.25", "weight: heavy", "policy.runs.0"),
        ("{ClockTime:", "{Clocktime:", "line 6, sources.0.complete_when: "),
        ("reserve: 30m", "reserve: [", "line 1"),
        ("FROM sales", "FROM sale", "line 12"),
        ("/*---", "/*", "does not begin with the fields of a report"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_line_and_field(tmp_path, monkeypatch, old, new, says):
    (tmp_path / "revenue.sql").write_text(FILE.replace(old, new, 1))
    (tmp_path / "second.sql").write_text(FILE)
    made = report_folder(str(tmp_path), start_date=START)
    assert set(made["second"].task_dict) > {"open_day", "publish"}, "the other one is whole"
    broken = made["revenue"]
    assert list(broken.task_dict) == ["broken"]
    with pytest.raises(AirflowFailException) as raised:
        broken.task_dict["broken"].execute({})
    assert says in str(raised.value)
    assert "hint" in str(raised.value)


def test_a_folder_lies_beside_the_dag_file_and_has_to_have_reports(tmp_path):
    with pytest.raises(SpecError, match=r"there is no SQL file in .*/tests/airflow/nowhere"):
        report_folder("nowhere", start_date=START)


def test_options_of_all_and_of_one(tmp_path):
    (tmp_path / "revenue.sql").write_text(FILE)
    made = report_folder(str(tmp_path), start_date=START, retries=5)
    task = made["revenue"].task_dict["run_3.run"]
    assert (task.pool, task.retries) == ("reports", 5)


def test_a_function_that_returns_sql_is_a_report():
    @progressive_report(
        start_date=START, sources=(sales_source("/data"),), policy=sales_report().policy, pool="p"
    )
    def revenue():
        """Revenue by item.

        More of it.
        """
        return sales_report().sql

    assert revenue.dag_id == "revenue"
    assert revenue.task_dict["open_day"].pool == "p"
    assert revenue.description == "Revenue by item."
