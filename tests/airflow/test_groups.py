"""Report groups through Airflow: real tasks, a real spark-submit of all reports at a time point."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.airflow.conftest import ROOT
from tests.airflow.test_days import EXPECTED, Days, rerun

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

COUNTS = {"apple": (2, 10), "pear": (2, 3), "plum": (2, 7), None: (2, 4)}


class Groups(Days):
    def rows(self, name, *columns):
        return {
            row["item"]: tuple(row[c] for c in columns)
            for row in self.published(self.pointer(name))
        }


@pytest.fixture(scope="module")
def groups(airflow_home, tmp_path_factory):
    from airflow.dag_processing.dagbag import DagBag

    root = tmp_path_factory.mktemp("groups")
    os.environ["FORERUN_TEST_ROOT"] = str(root)
    file = airflow_home / "dags" / "groups.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "groups.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors
    yield Groups(root, bag)
    file.unlink()
    del os.environ["FORERUN_TEST_ROOT"]


def test_a_night_has_one_application_per_time_point(groups, capfd):
    states = groups.test("night", run_conf={"mode": "progressive"})
    assert states["dag"] == "success", states
    assert [states[f"at_{point}.run"] for point in (1, 2, 3)] == ["success"] * 3
    for name in ("night_revenue", "night_count", "night_total"):
        assert states[f"{name}.run_3.run"] == "skipped", "its group has done it"
        assert states[f"{name}.publish"] == "success"
    assert groups.rows("night_revenue", "revenue", "n") == EXPECTED
    assert groups.rows("night_count", "n", "most") == COUNTS
    assert groups.published(groups.pointer("night_total")) == [{"total": 27}]
    assert list(groups.commits("night_count")) == [1, 2, 3], "it takes part in all time points"
    logged = "".join(capfd.readouterr())
    assert "it is done by Sail, quick and without a JVM, on this worker" in logged
    assert states["night_total.run_2.publish"] == "success", "an early result"
    slots = json.loads((groups.root / "store" / "clusters" / "groups" / "slots.json").read_text())
    assert slots["leases"] == [], "its applications had cores, and have given them back"


def test_a_report_that_fails_or_is_late_holds_up_no_other(groups):
    """The day is over, so it goes straight to the final runs."""
    states = groups.test("rough")
    assert states["dag"] == "failed"
    assert [states[f"at_{point}.run"] for point in (1, 2, 3)] == ["skipped", "skipped", "failed"]
    assert states["rough_fails.run_3.run"] == "failed", "alone it fails as well"
    assert groups.pointer("rough_fails") is None
    assert (states["rough_fine.run_3.run"], states["rough_fine.publish"]) == ("skipped", "success")
    assert groups.rows("rough_fine", "revenue", "n") == EXPECTED
    assert states["rough_checked.check"] == "failed"
    assert groups.pointer("rough_checked") is None
    assert states["rough_late.run_3.run"] == "success", "it is done alone when it has come"
    assert groups.rows("rough_late", "revenue", "n") == EXPECTED


@pytest.mark.slow
def test_a_dry_run_says_its_plans_and_leaves_nothing_in_the_store(groups, capfd):
    states = groups.test("night", run_conf={"dry_run": True, "report_date": "2026-03-05"})
    assert states["at_1.plan"] == "success"
    assert states["at_1.run"] == "skipped"
    logged = "".join(capfd.readouterr())
    assert "report night_revenue: " in logged
    assert "report night_total: " in logged
    assert not list((groups.root / "store" / "reports").rglob("2026-03-05"))


@pytest.mark.slow
def test_a_report_that_is_cleared_is_done_again_and_no_other(groups):
    day = datetime(2026, 3, 2, tzinfo=UTC)
    form = {"dry_run": False, "report_date": "2026-03-02"}
    assert groups.test("night", logical_date=day, run_conf=form)["dag"] == "success"
    names = ("night_revenue", "night_count", "night_total")
    before = {name: groups.pointer(name, "2026-03-02") for name in names}
    opening = groups.bag.get_dag("night").get_task("night_count.open_day")
    again = {opening.task_id, *(task.task_id for task in opening.get_flat_relatives())}
    assert rerun(groups, "night", day, again)["dag"] == "success"
    after = {name: groups.pointer(name, "2026-03-02") for name in names}
    assert [after[name]["generation"] for name in names] == [1, 2, 1]
    assert after["night_revenue"] == before["night_revenue"]
    assert after["night_count"]["rows"] == before["night_count"]["rows"]


@pytest.mark.slow
def test_days_that_are_over_are_computed_together_and_repaired_together(groups):
    """Two days of three reports in one application; then what has changed of one of these days."""
    names, days = ("night_revenue", "night_count", "night_total"), ("2026-03-08", "2026-03-09")

    def deliver(day, file, amount):
        for name in names:
            folder = groups.root / name / "sales" / day
            folder.mkdir(parents=True, exist_ok=True)
            rows = {"item": ["apple"], "amount": pa.array([amount], pa.int64())}
            pq.write_table(pa.table(rows), folder / file)
            (folder / "_SUCCESS").touch()

    for day in days:
        for run in (1, 2, 3):  # the files that the demo's tasks would deliver
            deliver(day, f"run-{run}.parquet", run)
    form = {"mode": "backfill", "days": list(days)}
    states = groups.test("night", logical_date=datetime(2026, 3, 8, tzinfo=UTC), run_conf=form)
    assert states["dag"] == "success", states
    assert [states[f"at_{point}.run"] for point in (1, 2, 3)] == ["skipped", "skipped", "success"]
    assert {states[f"{name}.run_3.run"] for name in names} == {"skipped"}
    for day in days:
        assert groups.result("night_revenue", day) == {"apple": (6, 3)}
        assert groups.published(groups.pointer("night_total", day)) == [{"total": 6}]
    deliver(days[1], "late.parquet", 10)
    form = {"mode": "repair", "report_date": days[1]}
    states = groups.test("night", logical_date=datetime(2026, 3, 9, tzinfo=UTC), run_conf=form)
    assert states["at_3.run"] == "success", states
    assert {states[f"{name}.publish"] for name in names} == {"skipped"}, "nobody has read it"
    assert groups.result("night_revenue", days[1]) == {"apple": (6, 3)}
    assert groups.commits("night_count", day=days[1])[4]["run"] == 4
