"""A week through Airflow: real tasks, and a real application of the small engine."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.airflow.assets import days_published
from forerun.include.engines import ENGINES
from forerun.include.oncall.catalogue import known_reports
from forerun.include.oncall.night.reader import NightReader
from forerun.include.reports.period import Weekly
from forerun.include.reports.sources.complete_when import AssetEvent
from forerun.include.runs.fitted_prices import forget_prices, store_prices
from forerun.include.sources.completeness import find_missing
from forerun.include.stores.opening import open_store
from forerun.planner.contract import SourceInput
from forerun.planner.explain.flow import render
from tests.airflow.conftest import ROOT
from tests.airflow.reports import sales_report, sales_source
from tests.airflow.test_days import Days

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

SUNDAY = "2026-03-08"
MONDAY = datetime(2026, 3, 9, tzinfo=UTC)


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


def test_days_of_a_rolling_range_go_on_from_each_other(weeks):
    """A day has 150,000 rows: at the prices of the small engine, keeping state of them pays."""
    for number in range(-6, 3):
        folder = weeks.root / "rolling" / "sales" / f"{MONDAY + timedelta(days=number):%Y-%m-%d}"
        folder.mkdir(parents=True)
        items = [f"item {place}" for place in range(5)] * 30_000
        rows = {"item": items, "amount": [number] * len(items)}
        types = pa.schema([("item", pa.string()), ("amount", pa.int64())])
        pq.write_table(pa.table(rows, types), folder / "rows.parquet")
    store, report = open_store(f"{weeks.root}/store"), "rolling"
    store_prices(store, ENGINES["sail"].prices, runs=1)
    for number in range(3):
        day = MONDAY + timedelta(days=number)
        states = weeks.test(report, logical_date=day)
        assert set(states.values()) == {"success"}, states
        sums = sum(range(number - 6, number + 1)) * 30_000
        name = f"{day:%Y-%m-%d}"
        assert weeks.result(report, name) == {
            f"item {place}": (sums, 7 * 30_000) for place in range(5)
        }
        (known,) = [one for one in known_reports(store) if one.name == report]
        row = NightReader(store).day(known, name)
        assert row.standing.state == "published"
        assert row.records.inherited.days == number
    forget_prices(store)
    plan = row.records.plan
    inputs = {item for stage in plan.run.stages for item in stage.inputs}
    assert {item.view for item in inputs if isinstance(item, SourceInput)} == {"sales__delta"}
    assert "kept by earlier days: states of revenue" in render(plan, plan.run)


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
