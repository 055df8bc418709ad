"""A real Airflow and somebody at a keyboard, who tells days what to do, repairs and backfills.

``FORERUN_TEST_PICTURES`` names a folder that gets the pictures of these pages for the docs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.machine.wall_clock import utc_now
from tests.e2e.browser import CHROMIUM, Browser
from tests.e2e.pictures import WIDE
from tests.e2e.standalone import ROOT, StandaloneAirflow

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium"),
]


CONNECTIONS = "/api/v2/connections"
CONNECTION = {"connection_id": "live_spark", "conn_type": "spark", "host": "local[2]"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneAirflow]:
    dag_file = ROOT / "tests" / "airflow" / "dag_files" / "live.py"
    started = StandaloneAirflow(tmp_path_factory.mktemp("live"), dag_file)
    started.ask(CONNECTIONS, CONNECTION)
    yield started
    started.end()


@pytest.fixture
def browser(server: StandaloneAirflow) -> Iterator[Browser]:
    found = Browser()
    found.size(*WIDE)
    found.cookie(server.url, "_token", server.token)
    yield found
    found.end()


def test_a_waiting_day_is_told_to_run_batch_and_publishes(server, browser):
    day = (utc_now() + timedelta(days=1)).date().isoformat()
    folder = server.home / "data" / "sales" / day
    folder.mkdir(parents=True)
    table = pa.table({"item": ["a", "b"], "amount": pa.array([1, 2], pa.int64())})
    pq.write_table(table, folder / "part.parquet")
    run = server.trigger("live", report_date=day)
    server.wait_for(f"{run}/taskInstances/run_1.wait", "deferred")
    browser.go(f"{server.url}/forerun/days/live/{day}")
    browser.wait_for("!!document.querySelector('a[href$=\"/act\"]')")
    press_on(browser, "(document.activeElement.href || '').endsWith('/act')")
    browser.wait_for("document.querySelectorAll('.actions button').length === 2")
    browser.wait_for("document.body.innerText.includes('published as not complete: sales')")
    take_picture(browser, "act-page")
    press_on(browser, "document.activeElement.innerText === 'Run batch now'")
    browser.wait_for("location.hash === '#told'")
    browser.wait_for("document.querySelector('ol.told').innerText.includes('admin')")
    assert server.wait_for(run, "success", "failed") == "success"
    states = {
        one["task_id"]: one["state"]
        for one in server.ask(f"{run}/taskInstances?limit=100")["task_instances"]
    }
    assert states["run_1.wait"] == states["run_2.wait"] == "skipped"
    browser.go(f"{server.url}/forerun/?again")
    browser.wait_for("!!document.querySelector('.night .chip.warn')")
    assert "incomplete" in browser.evaluate("document.querySelector('.night').innerText")
    browser.go(f"{server.url}/forerun/days/live/{day}/act")
    browser.wait_for("document.body.innerText.includes('The day is published, version')")
    assert browser.complaints == []


def test_a_waiting_day_is_told_to_skip_its_early_runs(server, browser):
    day = (utc_now() + timedelta(days=2)).date().isoformat()
    run = server.trigger("live", report_date=day)
    server.wait_for(f"{run}/taskInstances/run_1.wait", "deferred")
    browser.go(f"{server.url}/forerun/days/live/{day}/act")
    press_on(browser, "document.activeElement.innerText === 'Skip the early runs'")
    browser.wait_for("location.hash === '#told'")
    browser.wait_for("document.querySelector('ol.told').innerText.includes('admin')")
    for early in (1, 2):
        server.wait_for(f"{run}/taskInstances/run_{early}.wait", "skipped")
    server.wait_for(f"{run}/taskInstances/run_3.wait", "deferred")
    browser.go(f"{server.url}/forerun/days/live/{day}/act?again")
    browser.wait_for("document.body.innerText.includes('That is under way')")
    assert browser.evaluate("document.querySelectorAll('.actions button').length") == 1
    assert browser.complaints == []


def test_a_run_that_has_failed_is_planned_again_once_its_cause_is_gone(server, browser):
    day = (utc_now() - timedelta(days=3)).date().isoformat()
    folder = server.home / "data" / "sales" / day
    folder.mkdir(parents=True)
    write(folder / "part.parquet", a=1, b=2)
    server.ask(f"{CONNECTIONS}/live_spark", method="DELETE")
    run = server.trigger("live", report_date=day, mode="batch")
    assert server.wait_for(run, "success", "failed") == "failed"
    server.ask(CONNECTIONS, CONNECTION)
    browser.go(f"{server.url}/forerun/days/live/{day}/act")
    press_on(browser, "document.activeElement.innerText === 'Plan again'")
    browser.wait_for("location.hash === '#told'")
    server.wait_for(f"{run}/taskInstances/publish", "success")
    plan = server.ask(f"{run}/taskInstances/run_3.plan")
    assert plan["try_number"] == 2
    assert published(server, day)["rows"] == 2
    assert browser.complaints == []


def test_a_range_of_days_is_priced_and_backfilled(server, browser):
    days = [(utc_now() - timedelta(days=back)).date().isoformat() for back in (6, 5)]
    for number, day in enumerate(days):
        folder = server.home / "data" / "sales" / day
        folder.mkdir(parents=True)
        write(folder / "part.parquet", a=1, b=number)
    page = f"{server.url}/forerun/reports/live/backfill"
    waiting = (utc_now() + timedelta(days=3)).date().isoformat()
    run = server.trigger("live", report_date=waiting)  # the pages know what has been opened once
    server.wait_for(f"{run}/taskInstances/run_1.wait", "deferred")
    browser.go(page)
    press_on(browser, "document.activeElement.innerText === 'Look'")
    browser.wait_for("document.body.innerText.includes('2 days that are missing')")
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take_picture(browser, "backfill-page")
    press_on(browser, "document.activeElement.innerText === 'Begin 1 DAG run'")
    browser.wait_for(f"document.body.innerText.includes('{', '.join(days)}')")
    path = run_in_mode(server, "backfill")
    assert server.wait_for(path, "success", "failed") == "success"
    assert [published(server, day)["rows"] for day in days] == [2, 2]
    browser.go(f"{page}?first={days[0]}&last={days[1]}")
    browser.wait_for("document.querySelectorAll('td .chip.good').length === 2")
    browser.wait_for("document.body.innerText.includes('No day is missing')")
    assert browser.complaints == []


def test_a_corrected_day_is_repaired_and_its_rows_are_read_before_they_are_published(
    server, browser
):
    day = (utc_now() - timedelta(days=2)).date().isoformat()
    folder = server.home / "data" / "sales" / day
    folder.mkdir(parents=True)
    write(folder / "part.parquet", a=1, b=2)
    run = server.trigger("live", report_date=day)
    assert server.wait_for(run, "success", "failed") == "success"
    before = published(server, day)
    write(folder / "late.parquet", b=40, c=9)
    browser.go(f"{server.url}/forerun/days/live/{day}")
    browser.wait_for("!!document.querySelector('a[href$=\"/repair\"]')")
    press_on(browser, "(document.activeElement.href || '').endsWith('/repair')")
    browser.wait_for("document.body.innerText.includes('late.parquet')")
    press_on(browser, "document.activeElement.innerText === 'Prepare the repair'")
    browser.wait_for("document.body.innerText.includes('Under way')")
    path = run_in_mode(server, "repair")
    assert server.wait_for(path, "success", "failed") == "success"
    assert published(server, day) == before, "nobody has read the difference yet"
    browser.go(f"{server.url}/forerun/days/live/{day}/repair")
    browser.wait_for("document.querySelectorAll('table.diff tr.added').length === 2")
    assert browser.evaluate("document.querySelectorAll('table.diff tr.removed').length") == 1
    take_picture(browser, "repair-page")
    press_on(browser, "document.activeElement.innerText === 'Publish the repair'")
    server.wait_for(f"{path}/taskInstances/publish", "success")
    browser.go(f"{server.url}/forerun/days/live/{day}/repair?again")
    browser.wait_for("document.body.innerText.includes('there is nothing to repair')")
    after = published(server, day)
    assert after["generation"] == before["generation"] + 1
    events = server.ask("/api/v2/assets/events?order_by=-timestamp")["asset_events"]
    assert events[0]["extra"]["version"] == after["version"]
    assert browser.complaints == []


def run_in_mode(server, mode):
    """The path of the only DAG run in a mode."""
    runs = server.ask("/api/v2/dags/live/dagRuns")["dag_runs"]
    (found,) = [one["dag_run_id"] for one in runs if one["conf"].get("mode") == mode]
    return f"/api/v2/dags/live/dagRuns/{found}"


def write(path, **rows):
    pq.write_table(
        pa.table({"item": list(rows), "amount": pa.array(rows.values(), pa.int64())}), path
    )


def published(server, day):
    return json.loads(
        (server.home / "store" / "results" / "live" / day / "pointer.json").read_text()
    )


def take_picture(browser: Browser, name: str) -> None:
    if folder := os.environ.get("FORERUN_TEST_PICTURES"):
        browser.picture(Path(folder) / f"{name}.png")


def press_on(browser: Browser, holds: str) -> None:
    """Go by the Tab key to where something holds, and press Enter."""
    browser.wait_for("document.readyState === 'complete'")
    for _ in range(60):
        browser.press("Tab")
        if browser.evaluate(holds):
            browser.press("Enter")
            return
    raise AssertionError(f"no Tab leads to where {holds}")
