"""``make up`` with a real night of the demo, looked at by a real browser: pages, keyboard, form."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.error import URLError
from urllib.parse import quote

import psutil
import pytest

from tests.e2e.browser import CHROMIUM, Browser
from tests.e2e.test_up import PATIENCE, Server

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium"),
]
DAG = "/api/v2/dags/demo_night"
REPORTS = ("consolidated_revenue", "delivery_notes", "customer_distribution")
DAY = "2026-01-01"


def a_night(server: Server) -> str:
    """Trigger the demo, wait until it is over; return the id of its DAG run."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            run = server.ask(f"{DAG}/dagRuns", {"logical_date": None})
            break
        except URLError:
            assert time.monotonic() < deadline
            time.sleep(1)
    at = f"{DAG}/dagRuns/{quote(run['dag_run_id'])}"
    while (state := server.ask(at)["state"]) in ("queued", "running"):
        assert time.monotonic() < deadline
        time.sleep(2)
    assert state == "success"
    return str(run["dag_run_id"])


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    server = Server(tmp_path_factory.mktemp("up"))
    try:
        yield server, a_night(server)
    finally:
        server.process.terminate()
        server.process.wait(120)


@pytest.fixture
def browser(night: tuple[Server, str]) -> Iterator[Browser]:
    server, _ = night
    found = Browser()
    found.cookie(server.url, "_token", server.token)
    yield found
    found.end()


def test_every_page_is_whole_fits_a_laptop_and_complains_of_nothing(night, browser):
    server, run = night
    day = f"/forerun/days/consolidated_revenue/{DAY}"
    pages = {
        "/forerun/": "document.querySelectorAll('.night tbody.group tr.good').length === 3",
        day: "document.querySelectorAll('svg.timeline').length === 2",
        "/forerun/reports/delivery_notes": "document.querySelectorAll('svg.timeline').length === 1",
        "/forerun/savings": "document.querySelectorAll('main .card').length >= 1",
        "/forerun/schedule": "document.querySelectorAll('svg.timeline').length === 1",
        "/forerun/state": "document.querySelectorAll('tbody tr').length === 3",
        "/forerun/arrivals": "document.querySelectorAll('tbody tr').length >= 4",
        f"{day}/sources/lineitem": "document.querySelectorAll('svg.timeline').length === 1",
        f"{day}/plan": "document.querySelectorAll('svg.plan a[href^=\"#run-\"]').length >= 1",
        f"/forerun/runs/demo_night/{quote(run)}": "document.querySelector('.night tbody.group')",
    }
    for dark in (False, True):
        if dark:
            browser.dark()
        for path, holds in pages.items():
            browser.go(server.url + path)
            browser.wait_for(f"location.pathname === {path!r} && !!({holds})")
            wide = browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert wide, f"{path} is wider than the window"
            unnamed = browser.evaluate(
                "[...document.querySelectorAll('a, svg, [role=region]')].filter(e => "
                "!(e.getAttribute('aria-label') || e.textContent.trim())).length"
            )
            assert unnamed == 0, f"{path} has something that a screen reader cannot name"
    assert browser.complaints == []


def test_a_plan_is_reached_and_a_stage_opened_by_keyboard_alone(night, browser):
    server, _ = night
    browser.go(server.url + "/forerun/")
    browser.wait_for("!!document.querySelector('.night')")
    follow(browser, f"/days/delivery_notes/{DAY}/plan")
    browser.wait_for(f"location.pathname === '/forerun/days/delivery_notes/{DAY}/plan'")
    browser.wait_for("!!document.querySelector('svg.plan')")
    for _ in range(60):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.tagName === 'SUMMARY'"):
            break
    browser.press("Enter")
    browser.wait_for("!!document.querySelector('details[open] pre')")
    assert "SELECT" in browser.evaluate("document.querySelector('details[open] pre').innerText")
    assert browser.complaints == []


def test_a_stage_of_the_graph_opens_its_sql_and_the_graph_zooms_by_keyboard(night, browser):
    server, _ = night
    browser.go(f"{server.url}/forerun/days/delivery_notes/{DAY}/plan")
    browser.wait_for("!!document.querySelector('svg.plan')")
    size = "document.querySelector('svg.plan').getBoundingClientRect().width"
    before = browser.evaluate(size)
    follow(browser, "zoom=200#graph")
    browser.wait_for(f"location.search.includes('zoom=200') && {size} > 1.9 * {before}")
    # A plan of one run may fit: on a narrow screen it does not.
    browser.evaluate("document.querySelector('.map').style.width = '300px'")
    browser.evaluate("document.querySelector('.map').focus()")
    browser.press("ArrowRight")
    browser.wait_for("document.querySelector('.map').scrollLeft > 0")
    browser.evaluate("document.querySelector('svg.plan a').focus()")
    browser.press("Enter")
    browser.wait_for("!!document.querySelector('details[open] pre')")
    assert browser.complaints == []


def follow(browser: Browser, ending: str) -> None:
    """Go to a link by the Tab key, and follow it."""
    for _ in range(80):
        browser.press("Tab")
        if browser.evaluate(f"(document.activeElement.href || '').endsWith({ending!r})"):
            browser.press("Enter")
            return
    raise AssertionError(f"no Tab leads to {ending}")


def test_the_pages_are_inside_of_airflow_s_ui(night, browser):
    server, run = night
    inside = "document.querySelector('iframe')?.contentDocument?.querySelectorAll('.night th a')"
    browser.go(f"{server.url}/plugin/forerun")
    browser.wait_for(f"{inside}?.length >= 3")
    browser.go(f"{server.url}/dags/demo_night/runs/{quote(run)}/plugin/forerun-run")
    browser.wait_for(f"{inside}?.length >= 3")
    browser.wait_for("document.body.innerText.includes('open_days')")
    assert browser.complaints == [], "Airflow's grid beside it shows the group's DAG"


def test_no_field_of_the_trigger_form_is_required(night, browser):
    server, _ = night
    browser.go(f"{server.url}/dags/demo_night")
    browser.wait_for(
        "[...document.querySelectorAll('button')].some(b => b.innerText === 'Trigger')"
    )
    browser.evaluate(
        "[...document.querySelectorAll('button')].find(b => b.innerText === 'Trigger').click()"
    )
    browser.wait_for("document.body.innerText.includes('Dry run')")
    labels = browser.evaluate(
        "[...document.querySelectorAll('label')].map(e => e.innerText.trim()).join('|')"
    )
    assert "Dry run" in labels
    assert "*" not in labels


def test_a_process_that_dies_is_named_and_all_ends(night):
    """The last test: nothing is left afterwards."""
    server, _ = night
    command = psutil.Process(server.process.pid)
    (triggerer,) = [one for one in command.children() if "triggerer" in one.cmdline()]
    triggerer.kill()
    assert server.process.wait(120) == 2
    assert "Airflow's triggerer was ended by SIGKILL" in " ".join("".join(server.said).split())
