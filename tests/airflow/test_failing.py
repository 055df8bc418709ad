"""A day that fails for good says so where people look first: real DAG runs, real errors."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.doctors.airflow_condition import read_condition
from forerun.include.oncall.day.records import read_day_records
from forerun.include.oncall.day.standing import standing
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import with_unopened
from forerun.include.state.failure import read_unopened
from forerun.include.stores.opening import open_store
from tests.airflow.test_days import DAY, MIDNIGHT, Days, rerun

pytestmark = [pytest.mark.airflow, pytest.mark.spark]
AGAIN = {"run_3.plan", "run_3.run", "check", "publish"}
REPORTS = """
import os
from datetime import UTC, datetime
from forerun.airflow import progressive_dag
from tests.airflow.reports import sales_report

ROOT = os.environ["FORERUN_TEST_ROOT"]
for name, store in (("broken", "store"), ("unopened", "no-folder")):
    globals()[name] = progressive_dag(
        sales_report(data=ROOT, store=f"{ROOT}/{store}", name=name),
        start_date=datetime(2026, 1, 1, tzinfo=UTC), retries=0, engine="sail",
        mode="batch", notify="tests.airflow.pager.send", schedule=None,
    )
"""


@pytest.fixture
def days(airflow_home, tmp_path, monkeypatch):
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.setenv("FORERUN_TEST_ROOT", str(tmp_path))
    file = airflow_home / "dags" / "failing.py"
    file.write_text(REPORTS)
    bag = DagBag(str(file))
    assert not bag.import_errors
    yield Days(tmp_path, bag)
    file.unlink()


def test_a_file_that_cannot_be_read_is_named_first_until_it_is_put_right(days):
    file = days.root / "sales" / DAY / "part-0.parquet"
    file.parent.mkdir(parents=True)
    pq.write_table(pa.table({"item": ["apple"], "amount": pa.array([3], pa.int64())}), file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert days.test("broken")["run_3.plan"] == "failed"

    store = open_store(str(days.root / "store"))
    records = read_day_records(store, "broken", DAY)
    failure = records.fatal
    assert (failure.task, failure.run, failure.code) == ("run_3.plan", 3, "source-file")
    assert "part-0.parquet" in failure.message
    assert "truncated" in failure.hint
    found = standing(records, records.deadline)
    assert (found.state, found.severity) == ("failed", "bad")
    (row,) = NightReader(store).night().rows
    assert row.standing.what == failure.what

    file.write_bytes(whole)
    assert rerun(days, "broken", MIDNIGHT, AGAIN)["dag"] == "success"
    records = read_day_records(store, "broken", DAY)
    assert records.failures == ()
    assert standing(records, records.deadline).state == "published"


def test_a_day_that_cannot_be_opened_has_a_row_and_an_alert(days):
    (days.root / "no-folder").write_text("a file where the store should be")
    assert days.test("unopened")["open_day"] == "failed"
    alert = (days.root / "alerts" / "unopened-warning.txt").read_text()
    assert alert.startswith(f"WARNING: unopened of {DAY}")
    assert "What: the day could not be opened: open_day has failed: [store" in alert
    assert "then clear the task open_day of the DAG run" in alert

    (days.root / "no-folder").unlink()
    store = open_store(str(days.root / "no-folder"))
    assert read_unopened(store, "unopened", DAY) is None, "it could not be written"
    (left,) = read_condition().unopened
    assert (left.report, left.dag_id, left.day) == ("unopened", "unopened", DAY)
    assert left.what.startswith("open_day has failed: [store")
    (row,) = with_unopened((), read_condition())
    assert (row.severity, row.broken.partition(":")[0]) == ("bad", "could not be opened")
