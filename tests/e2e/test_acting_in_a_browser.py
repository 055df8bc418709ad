"""A real Airflow and somebody at a keyboard: a day that does not wait for tomorrow, a repair."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from include.machine.wall_clock import utc_now
from tests.e2e.browser import CHROMIUM, Browser
from tests.e2e.standalone import ROOT, StandaloneAirflow

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneAirflow]:
    dag_file = ROOT / "tests" / "airflow" / "dag_files" / "live.py"
    started = StandaloneAirflow(tmp_path_factory.mktemp("live"), dag_file)
    yield started
    started.end()


@pytest.fixture
def browser(server: StandaloneAirflow) -> Iterator[Browser]:
    found = Browser()
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
    (repair,) = [
        one["dag_run_id"]
        for one in server.ask("/api/v2/dags/live/dagRuns")["dag_runs"]
        if one["conf"].get("mode") == "repair"
    ]
    path = f"/api/v2/dags/live/dagRuns/{repair}"
    assert server.wait_for(path, "success", "failed") == "success"
    assert published(server, day) == before, "nobody has read the difference yet"
    browser.go(f"{server.url}/forerun/days/live/{day}/repair")
    browser.wait_for("document.querySelectorAll('table.diff tr.added').length === 2")
    assert browser.evaluate("document.querySelectorAll('table.diff tr.removed').length") == 1
    press_on(browser, "document.activeElement.innerText === 'Publish the repair'")
    server.wait_for(f"{path}/taskInstances/publish", "success")
    browser.go(f"{server.url}/forerun/days/live/{day}/repair?again")
    browser.wait_for("document.body.innerText.includes('there is nothing to repair')")
    after = published(server, day)
    assert after["generation"] == before["generation"] + 1
    events = server.ask("/api/v2/assets/events?order_by=-timestamp")["asset_events"]
    assert events[0]["extra"]["version"] == after["version"]
    assert browser.complaints == []


def write(path, **rows):
    pq.write_table(
        pa.table({"item": list(rows), "amount": pa.array(rows.values(), pa.int64())}), path
    )


def published(server, day):
    return json.loads(
        (server.home / "store" / "results" / "live" / day / "pointer.json").read_text()
    )


def press_on(browser: Browser, holds: str) -> None:
    """Go by the Tab key to where something holds, and press Enter."""
    browser.wait_for("document.readyState === 'complete'")
    for _ in range(60):
        browser.press("Tab")
        if browser.evaluate(holds):
            browser.press("Enter")
            return
    raise AssertionError(f"no Tab leads to where {holds}")
