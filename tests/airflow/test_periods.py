"""A week through Airflow: real tasks, and a real application of the small engine."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from forerun.airflow.assets import days_published
from forerun.include.oncall.catalogue import known_reports
from forerun.include.oncall.night_reader import NightReader
from forerun.include.reports.complete_when import AssetEvent
from forerun.include.reports.period import Weekly
from forerun.include.sources.completeness import find_missing
from forerun.include.state.opening import open_store
from tests.airflow.conftest import ROOT
from tests.airflow.reports import sales_report, sales_source
from tests.airflow.test_days import Days

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

SUNDAY = "2026-03-08"


@pytest.fixture(scope="module")
def weeks(airflow_home, tmp_path_factory):
    from airflow.dag_processing.dagbag import DagBag

    root = tmp_path_factory.mktemp("weeks")
    os.environ["FORERUN_TEST_ROOT"] = str(root)
    file = airflow_home / "dags" / "weeks.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "weeks.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors
    yield Days(root, bag)
    file.unlink()
    del os.environ["FORERUN_TEST_ROOT"]


def test_a_week_is_computed_as_it_passes_and_published_as_a_whole(weeks):
    wednesday = datetime(2026, 3, 4, tzinfo=UTC)
    states = weeks.test("weekly", logical_date=wednesday, run_conf={"mode": "progressive"})
    assert set(states.values()) == {"success"}, states
    commits = weeks.commits("weekly", day=SUNDAY)
    assert {run: commit["base"] for run, commit in commits.items()} == {1: 0, 2: 1, 3: 2}
    assert weeks.result("weekly", SUNDAY) == {
        "apple": (sum(range(7)), 7),
        **{f"of day {number}": (1, 1) for number in range(7)},
    }
    store = open_store(f"{weeks.root}/store")
    (report,) = known_reports(store)
    row = NightReader(store).day(report, SUNDAY)
    assert row.date_text == "2026-03-02 to 2026-03-08"
    assert row.standing.state == "published"


def test_a_week_needs_the_event_of_each_of_its_days():
    rule = AssetEvent(uri="s3://shop/sales")
    spec = sales_report(period=Weekly(), sources=(sales_source("/d", complete_when=rule),))
    days = [f"2026-03-0{number}" for number in range(2, 9)]

    class Events(dict):
        def __missing__(self, _asset):
            return [SimpleNamespace(extra={"day": day}) for day in days]

    def missing():
        events = days_published(spec, spec.runs, Events())
        day, now = datetime(2026, 3, 8, tzinfo=UTC).date(), datetime(2026, 3, 9, tzinfo=UTC)
        return [each.what for each in find_missing(spec, day, now, events=events)]

    assert missing() == []
    days.remove("2026-03-04")
    assert missing() == ["no event of asset s3://shop/sales for 2026-03-04"]
