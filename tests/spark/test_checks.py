"""Great Expectations on the small engine: what passes, fails and is broken."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from forerun.include.days.findings import CheckReport, Finding, encode_checks
from forerun.include.days.findings_page import render_checks
from forerun.include.reports.expectations import KNOWN, expect
from forerun.spark_jobs.checks.evaluation import evaluate
from forerun.spark_jobs.engines.sail import SailEngine

SQL = (
    "SELECT id AS k, IF(id % 7 = 0, NULL, CAST(id AS STRING)) AS s, "
    "CAST(id AS DECIMAL(10,2)) AS d, array(id) AS a FROM range(100)"
)


@pytest.fixture(scope="module")
def findings(sail: SailEngine) -> tuple[Finding, ...]:
    with sail.working_on("checks"):
        return evaluate(
            sail.session.sql(SQL),
            (
                expect("expect_column_values_to_not_be_null", column="s"),
                expect("expect_column_max_to_be_between", column="d", max_value=90),
                expect("expect_column_values_to_be_unique", column="k"),
                expect("expect_column_values_to_be_between", column="s", max_value=5),
                expect("expect_column_values_to_be_in_set", column="nosuch", value_set=[1]),
                expect("expect_column_values_to_be_in_set", value_set=[1]),
                expect("expect_table_row_count_to_equal", value=100, severity="warning"),
            ),
        )


def test_the_order_is_that_of_the_suite(findings: tuple[Finding, ...]) -> None:
    outcomes = ["failed", "failed", "passed", "broken", "broken", "broken", "passed"]
    assert [finding.outcome for finding in findings] == outcomes


def test_a_failed_expectation_shows_rows(findings: tuple[Finding, ...]) -> None:
    failed = findings[0]
    assert (failed.unexpected, failed.checked) == (15, 100)
    assert len(failed.rows) == 10
    assert all(row["s"] is None and row["k"] % 7 == 0 for row in failed.rows)
    assert "a" not in failed.rows[0]
    assert failed.sentence.endswith("failed, 15 of 100 rows")


def test_a_failed_aggregate_shows_what_was_observed(findings: tuple[Finding, ...]) -> None:
    assert findings[1].observed == 99.0
    assert "observed 99.0" in findings[1].sentence


def test_a_broken_check_says_why(findings: tuple[Finding, ...]) -> None:
    assert "StringType" in findings[3].message
    assert "nosuch" in findings[4].message
    assert "column" in findings[5].message
    assert all("the check is broken" in finding.sentence for finding in findings[3:6])


def test_record_and_page(findings: tuple[Finding, ...]) -> None:
    evil = Finding(
        expectation="expect_column_to_exist",
        arguments=(("column", "<script>alert(1)</script>"),),
        severity="warning",
        outcome="failed",
        rows=({"<b>": "</td><script>"},),
    )
    checks = CheckReport(
        report="r", day="2026-01-01", run=1, attempt="a", target="result", engine="sail",
        rows=100, findings=(*findings, evil),
    )  # fmt: skip
    assert (checks.count("critical"), checks.count("warning")) == (5, 1)
    record = json.loads(encode_checks(checks))
    assert record["findings"][0]["arguments"] == {"column": "s"}
    assert record["findings"][0]["sentence"] == findings[0].sentence
    page = render_checks(checks).decode()
    assert "6 of 8 expectations did not pass" in page
    assert "<script" not in page


def test_the_known_names_are_those_of_the_package() -> None:
    import great_expectations as gx
    from great_expectations.expectations.registry import list_registered_expectation_implementations

    assert gx.__version__
    known = set(list_registered_expectation_implementations())
    assert known >= KNOWN
    assert len(known - KNOWN) <= 3  # those that need another table or a query of their own


def test_statistics_are_not_imported_before_somebody_looks_into_them() -> None:
    """In an interpreter of its own: here others may have imported them."""
    script = """
import sys
from forerun.include.reports.expectations import expect
from forerun.spark_jobs.checks.evaluation import evaluate
from forerun.spark_jobs.engines.sail import start_sail
engine = start_sail()
with engine.working_on("checks"):
    rows = engine.session.sql("SELECT 'a' AS s")
    (found,) = evaluate(rows, (expect("expect_column_values_to_not_be_null", column="s"),))
engine.stop()
assert found.outcome == "passed"
assert "scipy.stats._stats_py" not in sys.modules
from scipy import stats
assert stats.norm.cdf(0.0) == 0.5
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
