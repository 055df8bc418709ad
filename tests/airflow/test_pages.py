"""The pages inside Airflow's own API server: who sees what, and that links of tasks lead there."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import threading
import warnings
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.airflow.pages import repair_pages
from forerun.cli.app import run as run_command
from forerun.doctors.airflow_condition import read_condition
from forerun.include.days.handle import Day
from forerun.include.days.instructions import read_told
from forerun.include.days.results import read_pointer
from forerun.include.oncall import repairs
from forerun.include.oncall.airflow_condition import UnopenedDay
from forerun.include.oncall.catalogue import spec_of_day
from forerun.include.oncall.overlapping import OverlappingDays
from forerun.include.past.repair import begin_repair, find_repair
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.runs.prepare import open_generation
from forerun.include.state.layout import Generation
from forerun.include.state.records import OpenedBy
from forerun.include.stores.opening import open_store
from forerun.include.times.leases import Leases, declare
from forerun.include.verify.repair_diff import write_diff
from forerun.simulation.running import open_runner
from tests.airflow.conftest import ROOT
from tests.airflow.test_days import Days
from tests.include.days.test_leases import TWO, wants

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

DAY = "2026-03-01"
DAGS = ("shown", "hidden")
SETTINGS = {
    "AIRFLOW__CORE__AUTH_MANAGER": "tests.airflow.one_dag_less.OneDagLess",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,guest:viewer",
    "AIRFLOW__API__BASE_URL": "http://testserver/",
}


class Visitor:
    """Somebody who is logged in, or nobody."""

    def __init__(self, client, token=""):
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path, **headers):
        return self.client.get(path, headers=self.headers | headers, follow_redirects=False)

    def send(self, path, **form):
        return self.client.post(path, headers=self.headers, data=form, follow_redirects=False)


class Place:
    """Airflow's API server, and a store with two reports, one of them published."""

    def __init__(self, home, root):
        from airflow.api_fastapi.app import create_app
        from airflow.dag_processing.dagbag import DagBag

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from starlette.testclient import TestClient

        self.root = root
        bag = DagBag(str(home / "dags" / "pages.py"))
        assert not bag.import_errors
        self.states = Days(root, bag).test("shown")
        self.specs = {name: bag.get_dag(name).get_task("open_day").spec for name in DAGS}
        self.open("hidden", DAY, "r")
        self.client = TestClient(create_app(apps="core"), raise_server_exceptions=False)
        users = json.loads((home / "simple_auth_manager_passwords.json.generated").read_text())
        self.admin, self.guest = (self._login(name, users[name]) for name in ("admin", "guest"))
        self.nobody = Visitor(self.client)

    def open(self, name, day, run_id, mode="auto"):
        """Open a day as the first task of a DAG run does."""
        spec, at = self.specs[name], date.fromisoformat(day)
        opened_by = OpenedBy(
            dag_id=name,
            run_id=run_id,
            mode=mode,
            group="",
            retries=Retries(count=2, pauses_s=60.0),
        )
        now = datetime(at.year, at.month, at.day, tzinfo=UTC)
        return open_generation(spec.store, spec, at, trigger=run_id, now=now, opened_by=opened_by)

    def begin(self, name, day, mode="auto"):
        """A DAG run in Airflow that has opened a day and done nothing else."""
        self.admin.client.patch(
            f"/api/v2/dags/{name}", headers=self.admin.headers, json={"is_paused": False}
        )
        run = self.admin.client.post(
            f"/api/v2/dags/{name}/dagRuns",
            headers=self.admin.headers,
            json={"logical_date": f"{day}T00:00:00Z"},
        ).json()["dag_run_id"]
        self.open(name, day, run, mode)
        return run

    def set_task(self, name, run, task, state):
        answer = self.admin.client.patch(
            f"/api/v2/dags/{name}/dagRuns/{run}/taskInstances/{task}",
            headers=self.admin.headers,
            json={"new_state": state},
        )
        assert answer.status_code == 200, answer.text

    def states_of(self, name, run):
        found = self.admin.get(f"/api/v2/dags/{name}/dagRuns/{run}/taskInstances").json()
        return {one["task_id"]: one["state"] for one in found["task_instances"]}

    def _login(self, name, password):
        asked = {"username": name, "password": password}
        answer = self.client.post("/auth/token", json=asked)
        return Visitor(self.client, answer.json()["access_token"])


@pytest.fixture(scope="module")
def place(airflow_home, tmp_path_factory):
    from airflow.api_fastapi.app import purge_cached_app

    root = tmp_path_factory.mktemp("pages")
    folder = root / "data" / "sales" / DAY
    folder.mkdir(parents=True)
    table = pa.table({"item": ["a", "b"], "amount": pa.array([1, 2], pa.int64())})
    pq.write_table(table, folder / "part.parquet")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in SETTINGS.items():
            patched.setenv(name, value)
        patched.setenv("FORERUN_TEST_ROOT", str(root))
        patched.setenv("FORERUN_STORE", (root / "store").as_uri())
        file = airflow_home / "dags" / "pages.py"
        shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "pages.py", file)
        yield Place(airflow_home, root)
        file.unlink()
    purge_cached_app()


def run_id(place):
    runs = place.admin.get("/api/v2/dags/shown/dagRuns").json()["dag_runs"]
    return runs[0]["dag_run_id"]


def test_who_is_not_logged_in_sees_nothing(place):
    paths = ("/", "/days/shown/2026-03-01", "/runs/shown/x", "/assets/style.css", "/whatever")
    for path in paths:
        answer = place.nobody.get(f"/forerun{path}")
        assert answer.status_code == 401, path
        assert "shown" not in answer.text
    browser = place.nobody.get("/forerun/", accept="text/html")
    assert browser.status_code == 303
    assert browser.headers["location"].startswith("/auth/login?next=")
    forged = Visitor(place.client, "abc").get("/forerun/")
    assert forged.status_code == 403


def test_everybody_sees_the_reports_whose_dag_they_may_read(place):
    assert place.states["dag"] == "success"
    night = place.admin.get("/forerun/")
    assert night.status_code == 200
    assert all(f"/forerun/days/{name}/{DAY}" in night.text for name in ("shown", "hidden"))
    night = place.guest.get("/forerun/")
    assert f"/forerun/days/shown/{DAY}" in night.text
    assert "hidden/" not in night.text
    for rest in ("", "/plan"):
        assert place.admin.get(f"/forerun/days/hidden/{DAY}{rest}").status_code == 200
        refused = place.guest.get(f"/forerun/days/hidden/{DAY}{rest}")
        unknown = place.guest.get(f"/forerun/days/nothing/{DAY}{rest}")
        assert refused.status_code == unknown.status_code == 404
        assert refused.text == unknown.text, "not even that it is there"
    assert place.guest.get("/forerun/runs/hidden/x").status_code == 404
    assert place.guest.get("/forerun/reports/hidden").status_code == 404
    assert place.admin.get("/forerun/reports/hidden").status_code == 200


def test_the_graph_of_a_plan_is_as_large_as_its_link_says(place):
    def width(zoom):
        page = place.guest.get(f"/forerun/days/shown/{DAY}/plan?zoom={zoom}").text
        assert f'zoom={zoom}#graph" aria-current="true"' in page
        return int(re.search(r'<svg class="plan[^>]* width="(\d+)"', page)[1])

    assert width("50") * 4 == pytest.approx(width("200"), abs=4)
    assert width("100") == width("fit")
    page = place.guest.get(f"/forerun/days/shown/{DAY}/plan?zoom=fit").text
    assert 'class="plan fit"' in page


def test_a_day_and_its_plan_are_shown(place):
    day = place.guest.get(f"/forerun/days/shown/{DAY}").text
    assert "published" in day
    assert "The day as it is planned" in day
    assert "1-3-" in day, "the version"
    plan = place.guest.get(f"/forerun/days/shown/{DAY}/plan").text
    assert "GROUP BY item" in plan
    assert 'href="#run-3-' in plan
    assert 'id="run-3-' in plan.partition("<details>")[2], "inside, so that the link opens it"
    report = place.guest.get("/forerun/reports/shown").text
    assert f"/forerun/days/shown/{DAY}" in report
    assert f"{DAY}: batch ran" in report


def test_pages_run_no_script_and_load_nothing_from_elsewhere(place):
    for path in ("", f"days/shown/{DAY}", f"days/shown/{DAY}/plan", "days/x/y"):
        answer = place.admin.get(f"/forerun/{path}")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'self'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "<script" not in answer.text
        assert "style=" not in answer.text
        assert "http://" not in answer.text.replace("http://testserver", "")
    style = place.admin.get("/forerun/assets/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "url(" not in style.text
    assert place.admin.get("/forerun/assets/app.py").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "days/shown/2026-02-30",
        "days/shown/2031-01-01",
        "days/shown/yesterday",
        "reports/no%20report",
        "days/../2026-03-01",
        "days/%2e%2e%2f/2026-03-01",
        "days/shown%20x/2026-03-01",
        f"days/shown/{DAY}/plan?version=nothing",
        f"days/shown/{DAY}/plan?zoom=17",
        f"days/{'x' * 300}/{DAY}",
        "days/shown",
        "runs/nothing/x",
        "whatever",
    ],
)
def test_nonsense_is_no_page_and_says_so(place, path):
    answer = place.admin.get(f"/forerun/{path}")
    assert answer.status_code == 404
    assert "There is no such page." in answer.text


def test_the_pages_only_read(place):
    assert place.client.post("/forerun/", headers=place.admin.headers).status_code == 405


def test_tasks_and_dag_runs_lead_to_their_day(place):
    run = run_id(place)
    at = f"/api/v2/dags/shown/dagRuns/{run}/taskInstances"
    for task in ("open_day", "run_1.wait", "run_3.plan", "run_3.run", "publish"):
        links = place.guest.get(f"{at}/{task}/links").json()["extra_links"]
        assert sorted(links) == ["Forerun: day", "Forerun: plan"], task
        day = place.guest.get(links["Forerun: day"])
        assert (day.status_code, day.headers["location"]) == (303, f"/forerun/days/shown/{DAY}")
        plan = place.guest.get(links["Forerun: plan"])
        assert plan.headers["location"] == f"/forerun/days/shown/{DAY}/plan"
    nothing = place.guest.get("/forerun/runs/shown/manual__1")
    assert nothing.status_code == 200
    assert "Nothing of this DAG run is in the store" in nothing.text


def test_airflow_knows_the_pages_and_nothing_failed_to_load(place):
    assert place.admin.get("/api/v2/plugins/importErrors").json()["total_entries"] == 0
    plugins = place.admin.get("/api/v2/plugins").json()["plugins"]
    (own,) = [plugin for plugin in plugins if plugin["name"] == "forerun"]
    views = {view["destination"]: view["href"] for view in own["external_views"]}
    assert views == {"nav": "forerun/", "dag_run": "forerun/runs/{DAG_ID}/{RUN_ID}"}
    assert place.guest.get("/" + views["nav"]).status_code == 200


def test_a_store_that_is_down_is_said_so_and_airflow_stays_up(place, monkeypatch):
    monkeypatch.setenv("FORERUN_STORE", "s3://nowhere/store")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("FORERUN_S3_TIMEOUT", "1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    for path in ("", f"days/shown/{DAY}"):
        answer = place.admin.get(f"/forerun/{path}")
        assert answer.status_code == 503
        assert "The store cannot be read." in answer.text
    assert place.admin.get("/api/v2/monitor/health").status_code == 200
    monkeypatch.setenv("FORERUN_STORE", (place.root / "store").as_uri())
    assert place.admin.get("/forerun/").status_code == 200


def test_a_link_is_below_the_address_of_airflow():
    from types import SimpleNamespace

    from forerun.airflow.links import DayLink

    key = SimpleNamespace(dag_id="a b", run_id="scheduled__2026-03-01T00:00:00+00:00", task_id="t")
    os.environ["AIRFLOW__API__BASE_URL"], before = (
        "https://air.example/flow/",
        os.environ.get("AIRFLOW__API__BASE_URL", ""),
    )
    try:
        link = DayLink().get_link(None, ti_key=key)
    finally:
        os.environ["AIRFLOW__API__BASE_URL"] = before
    assert link == (
        "/flow/forerun/runs/a%20b/scheduled__2026-03-01T00%3A00%3A00%2B00%3A00?task=t&page=day"
    )


def test_the_pages_over_all_reports_show_those_that_may_be_seen(place):
    for page in ("savings", "state", "arrivals", "schedule"):
        assert place.nobody.get(f"/forerun/{page}").status_code == 401
        assert place.guest.get(f"/forerun/{page}").status_code == 200
    assert "/forerun/reports/shown" in place.guest.get("/forerun/savings").text
    assert "/forerun/reports/hidden" in place.admin.get("/forerun/state").text
    assert "hidden" not in place.guest.get("/forerun/state").text
    assert "hidden: final run" in place.admin.get("/forerun/schedule").text
    assert "hidden: " not in place.guest.get("/forerun/schedule").text
    source = f"/forerun/days/shown/{DAY}/sources/sales"
    assert source in place.guest.get("/forerun/arrivals").text
    assert "rows pinned" in place.guest.get(source).text
    assert place.guest.get(f"/forerun/days/hidden/{DAY}/sources/sales").status_code == 404
    assert place.admin.get(f"/forerun/days/shown/{DAY}/sources/nothing").status_code == 404


def act(place, day):
    return f"/forerun/days/shown/{day}/act"


def token(page):
    (found,) = set(re.findall(r'name="token" value="([^"]+)"', page.text))
    return found


def test_a_day_says_why_its_run_waits_and_names_only_reports_that_may_be_seen(place):
    day = "2026-03-09"
    place.open("shown", day, "waits")
    store = open_store((place.root / "store").as_uri())
    declare(store, TWO)
    leases = Leases(store, TWO)
    leases.take(wants("hidden", day=day, cores=2))
    leases.take(wants("shown", day=day))
    try:
        seen, less = (
            who.get(f"/forerun/days/shown/{day}").text for who in (place.admin, place.guest)
        )
    finally:
        leases.release(wants("hidden"))
        leases.release(wants("shown"))
    waits = "Run 1 waits for 1 core of night: 0 of the cores are free, it needs 1; held by"
    assert f"{waits} hidden {day} run 1." in seen
    assert f"{waits} another report." in less


def test_a_dag_that_is_paused_is_said_wherever_its_day_is_shown(place):
    day = "2026-03-09"
    place.begin("hidden", day)
    pause = partial(place.admin.client.patch, "/api/v2/dags/hidden", headers=place.admin.headers)
    pause(json={"is_paused": True})
    try:
        for path in ("/forerun/", f"/forerun/days/hidden/{day}", f"/forerun/days/hidden/{day}/act"):
            page = place.admin.get(path).text
            assert "DAG hidden is paused: " in page, path
            assert "airflow dags unpause hidden" in page, path
        assert "DAG hidden is paused" not in place.guest.get("/forerun/").text
    finally:
        pause(json={"is_paused": False})
    page = place.admin.get("/forerun/").text
    assert "DAG hidden is paused" not in page
    assert "scheduler has never given a sign of life: no task of any DAG begins" in page


def test_a_day_that_only_airflow_knows_of_has_a_row_and_a_page(place, airflow_home):
    day, what = "2026-04-02", "open_day has failed: [store-full] no room"
    run = place.begin("hidden", "2026-03-19")
    entries = f"/api/v2/dags/hidden/dagRuns/{run}/taskInstances/open_day/xcomEntries"
    kept = {"report": "hidden", "day": day, "what": what, "hint": "Free <space>."}
    others = (("forerun_unopened_odd", ["no", 1]), ("forerun-unopened-x", kept | {"day": "x"}))
    for key, value in (("forerun_unopened_hidden", kept), *others):
        answer = place.client.post(
            entries, headers=place.admin.headers, json={"key": key, "value": value}
        )
        assert answer.status_code == 201, answer.text
    shown = place.admin.get("/forerun/").text
    assert f"could not be opened: {what}" in shown
    page = place.admin.get(f"/forerun/days/hidden/{day}")
    assert page.status_code == 200
    assert "Free &lt;space&gt;." in page.text
    known = read_condition().unopened
    assert UnopenedDay(dag_id="hidden", **kept) in known
    assert all(one.day != "x" for one in known)
    assert "/forerun/days/hidden/x" not in shown
    assert what not in place.guest.get("/forerun/").text
    assert place.guest.get(f"/forerun/days/hidden/{day}").status_code == 404
    gone = place.client.delete(f"{entries}/forerun_unopened_hidden", headers=place.admin.headers)
    assert gone.status_code == 204
    assert what not in place.admin.get("/forerun/").text
    assert place.admin.get(f"/forerun/days/hidden/{day}").status_code == 404


def told(place, day):
    store = open_store((place.root / "store").as_uri())
    return read_told(store, Generation("shown", day, "1")).given


def test_early_runs_are_skipped_by_a_form_once_however_often_it_is_sent(place):
    day = "2026-03-05"
    run = place.begin("shown", day, mode="progressive")
    assert f'href="{act(place, day)}"' in place.admin.get(f"/forerun/days/shown/{day}").text
    page = place.admin.get(act(place, day))
    assert page.status_code == 200
    assert "Early runs that have not begun are skipped: 1 (10:00), 2 (16:00)." in page.text
    assert told(place, day) == ()
    for _ in range(2):
        done = place.admin.send(act(place, day), kind="skip-early", token=token(page))
        assert (done.status_code, done.headers["location"]) == (
            303,
            f"/forerun/days/shown/{day}#told",
        )
    (one,) = told(place, day)
    assert (one.kind, one.by) == ("skip-early", "admin")
    for path in (f"/forerun/days/shown/{day}", "/forerun/"):
        assert "Skip the early runs" in place.guest.get(path).text
    again = place.admin.get(act(place, day))
    assert "That is under way: admin" in again.text
    refused = place.admin.send(act(place, day), kind="skip-early", token=token(again))
    assert (refused.status_code, len(told(place, day))) == (409, 1)
    assert set(place.states_of("shown", run).values()) == {None}, "Airflow was asked for nothing"


def test_batch_begins_the_tasks_of_the_final_run_again_that_have_failed(place):
    day = "2026-03-06"
    run = place.begin("shown", day)
    for task in ("run_3.wait", "run_3.plan"):
        place.set_task("shown", run, task, "success")
    place.set_task("shown", run, "run_3.run", "failed")
    page = place.admin.get(act(place, day))
    assert "run_3.wait, run_3.plan, run_3.run, check, publish" in page.text
    done = place.admin.send(act(place, day), kind="batch", token=token(page))
    assert done.status_code == 303
    states = place.states_of("shown", run)
    assert {states[f"run_3.{task}"] for task in ("wait", "plan", "run")} == {None}
    assert [one.kind for one in told(place, day)] == ["batch"]
    log = place.admin.get("/api/v2/eventLogs?dag_id=shown").json()["event_logs"]
    clears = [one["owner"] for one in log if one["event"] == "post_clear_task_instances"]
    assert clears == ["admin"], "Airflow's own log says who it was, too"


def test_who_may_only_read_a_report_cannot_act_on_it(place):
    day = "2026-03-07"
    place.begin("shown", day)
    assert "/act" not in place.guest.get(f"/forerun/days/shown/{day}").text
    assert "/act" not in place.guest.get("/forerun/").text
    page = place.admin.get(act(place, day))
    for answer in (
        place.guest.get(act(place, day)),
        place.guest.send(act(place, day), kind="batch", token=token(page)),
    ):
        assert answer.status_code == 403
        assert "You may read this report, and not act on it." in answer.text
    assert place.nobody.send(act(place, day), kind="batch", token=token(page)).status_code == 401
    assert place.guest.send(f"/forerun/days/hidden/{DAY}/act", kind="batch").status_code == 404
    assert told(place, day) == ()


def test_a_form_of_another_page_or_none_changes_nothing(place):
    day, other = "2026-03-07", "2026-03-08"
    place.begin("shown", other)
    good = token(place.admin.get(act(place, day)))
    cases = {
        "": 403,
        "abc": 403,
        # Not the last letter: of its bits, some are no part of the signature.
        good[:-5] + ("A" if good[-5] != "A" else "B") + good[-4:]: 403,
        token(place.admin.get(act(place, other))): 403,
    }
    for wrong, status in cases.items():
        answer = place.admin.send(act(place, day), kind="batch", token=wrong)
        assert answer.status_code == status
        assert "That form was not made for you here" in answer.text
    nonsense = place.admin.send(act(place, day), kind="drop tables", token=good)
    assert (nonsense.status_code, "names no action" in nonsense.text) == (400, True)
    place.open("shown", day, "another run")
    late = place.admin.send(act(place, day), kind="batch", token=good)
    assert (late.status_code, "opened anew" in late.text) == (409, True)
    assert told(place, day) == ()


def test_what_is_published_or_belongs_to_no_dag_run_cannot_be_acted_on(place):
    assert f'href="{act(place, DAY)}"' not in place.admin.get(f"/forerun/days/shown/{DAY}").text
    page = place.admin.get(act(place, DAY))
    assert page.text.count("The day is published, version") == 1
    assert "<button" not in page.text
    lost = place.admin.get(f"/forerun/days/hidden/{DAY}/act")
    assert lost.text.count("Airflow knows no DAG run r of DAG hidden") == 1
    assert place.admin.get("/forerun/days/shown/2031-01-01/act").status_code == 404


@pytest.mark.parametrize(
    "conf",
    [
        {"mode": "fast"},
        {"mode": ["batch"]},
        {"mode": None},
        {"report_date": "yesterday"},
        {"report_date": "2026-02-31"},
        {"report_date": 20260301},
        {"dry_run": "perhaps"},
        {"days": ["yesterday"], "mode": "backfill"},
        {"days": [5], "mode": "backfill"},
        {"days": "2026-03-01", "mode": "backfill"},
    ],
    ids=str,
)
def test_a_trigger_form_with_nonsense_begins_nothing(place, conf):
    runs = "/api/v2/dags/shown/dagRuns"
    before = place.admin.get(runs).json()["total_entries"]
    asked = {"logical_date": None, "conf": conf}
    answer = place.admin.client.post(runs, headers=place.admin.headers, json=asked)
    assert (answer.status_code, next(iter(conf)) in answer.text) == (400, True), answer.text
    assert place.admin.get(runs).json()["total_entries"] == before


REPAIR = f"/forerun/days/shown/{DAY}/repair"


def tokens(page):
    """The token of each form of a page, by what it does."""
    form = r'name="kind" value="([^"]+)"><input type="hidden" name="token" value="([^"]+)"'
    return dict(re.findall(form, page.text))


def test_a_published_day_is_repaired_in_two_steps_each_once(place, tmp_path):
    assert f'href="{REPAIR}"' in place.admin.get(f"/forerun/days/shown/{DAY}").text
    for guest in (place.guest.get(REPAIR), place.guest.send(REPAIR, kind="repair")):
        assert (guest.status_code, "not act on it" in guest.text) == (403, True)
    assert f'href="{REPAIR}"' not in place.guest.get(f"/forerun/days/shown/{DAY}").text
    page = place.admin.get(REPAIR)
    assert (page.status_code, "there is nothing to repair" in page.text) == (200, True)
    assert tokens(page) == {}
    table = pa.table({"item": ["b", "<c>"], "amount": pa.array([40, 9], pa.int64())})
    pq.write_table(table, place.root / "data" / "sales" / DAY / "late.parquet")
    page = place.admin.get(REPAIR)
    assert "late.parquet" in page.text
    assert "Computing the report anew" in page.text
    assert "Other days with these files" not in page.text, "it has no range"
    others = OverlappingDays(days=(date(2026, 1, 30), date(2026, 2, 2)), anew_cpu_s=84.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repairs, "overlapping_days", lambda *_: others)
        ranging = place.admin.get(REPAIR).text
    assert "the range of 2 other published days, from 2026-01-30 to 2026-02-02" in ranging
    assert "forerun backfill shown 2026-01-30 2026-02-02 --store" in ranging
    form = tokens(page)["repair"]
    for wrong in ("", form[:-5] + ("A" if form[-5] != "A" else "B") + form[-4:]):
        assert place.admin.send(REPAIR, kind="repair", token=wrong).status_code == 403
    assert place.admin.send(REPAIR, kind="batch", token=form).status_code == 400
    for _ in range(2):
        done = place.admin.send(REPAIR, kind="repair", token=form)
        assert (done.status_code, done.headers.get("location")) == (303, REPAIR)
    runs = place.admin.get("/api/v2/dags/shown/dagRuns").json()["dag_runs"]
    (run,) = [one for one in runs if one["conf"] == {"report_date": DAY, "mode": "repair"}]
    assert run["triggering_user_name"] == "admin"
    page = place.admin.get(REPAIR)
    assert "It is under way." in page.text
    assert place.admin.send(REPAIR, kind="repair", token=form).status_code == 303
    assert [one.kind for one in told(place, DAY)] == ["repair"]
    assert "Prepare the repair" in place.guest.get(f"/forerun/days/shown/{DAY}").text
    repaired = computed_repair(place, run["dag_run_id"], tmp_path)
    for task in ("run_3.run", "check", "publish"):
        place.set_task("shown", run["dag_run_id"], task, "skipped")
    assert "Reports that read this one" not in place.admin.get(REPAIR).text
    for reader, dag_id in (("reader", "shown"), ("unseen", "nobody_may_see_it")):
        open_reader(place, reader, dag_id)
    page = place.admin.get(REPAIR)
    assert "Reports that read this one" in page.text
    assert f'href="/forerun/days/reader/{DAY}/repair"' in page.text
    assert "unseen" not in page.text
    assert "adds 2 rows and takes 1 away; 3 rows in all" in page.text
    assert "<td>&lt;c&gt;</td><td>9</td>" in page.text
    assert place.admin.send(REPAIR, kind="publish", token=form).status_code == 409
    form = tokens(page)["publish"]
    assert place.admin.send(REPAIR, kind="repair", token=form).status_code == 409
    for _ in range(2):
        assert place.admin.send(REPAIR, kind="publish", token=form).status_code == 303
    states = place.states_of("shown", run["dag_run_id"])
    assert (states["check"], states["publish"]) == ("skipped", None), "only publish begins again"
    store = open_store((place.root / "store").as_uri())
    (one,) = read_told(store, repaired).given
    assert (one.kind, one.by) == ("publish", "admin")
    assert "It is being published." in place.admin.get(REPAIR).text
    log = place.admin.get("/api/v2/eventLogs?dag_id=shown").json()["event_logs"]
    asked = [one["owner"] for one in log if one["event"] == "trigger_dag_run"]
    assert set(asked[-1:]) == {"admin"}, "Airflow's own log says who it was, too"


def open_reader(place, name, dag_id):
    """Open the day of a report that reads what ``shown`` publishes."""
    store, day = open_store((place.root / "store").as_uri()), date.fromisoformat(DAY)
    spec = spec_of_day(store, "shown", day)
    (source,) = spec.sources
    path = "forerun://report/shown/{ds}"
    read = SourceSpec(name=source.name, path=path, format="report", columns=source.columns)
    retries = Retries(count=0, pauses_s=0.0)
    by = OpenedBy(dag_id=dag_id, run_id="r1", mode="auto", group="", retries=retries)
    reader = replace(spec, name=name, sources=(read,), expectations=())
    now = datetime(2026, 3, 2, tzinfo=UTC)
    open_generation(store.root, reader, day, trigger="r1", now=now, opened_by=by)


def computed_repair(place, run_id, folder):
    """What the tasks of a DAG run in mode repair do, up to the one that publishes."""
    store, day = open_store((place.root / "store").as_uri()), date.fromisoformat(DAY)
    now = datetime(2026, 3, 3, tzinfo=UTC)
    published = read_pointer(store, "shown", day)
    repair = find_repair(store, spec_of_day(store, "shown", day), day, now=now)
    retries = Retries(count=0, pauses_s=0.0)
    by = OpenedBy(dag_id="shown", run_id=run_id, mode="repair", group="", retries=retries)
    prepared = begin_repair(repair, now=now, opened_by=by)
    with open_runner("sail", folder, "local[1]") as runner:
        runner.run([prepared.plan_uri], "repair", tiny=True)
    handle = Day(store, repair.day.spec, prepared.at)
    write_diff(handle, handle.commit(repair.run), published)
    return prepared.at


def test_a_repair_says_so_where_the_store_does_not_answer(place, monkeypatch):
    answered = threading.Event()
    monkeypatch.setattr(repair_pages, "read_repair", lambda *_: answered.wait(60))
    monkeypatch.setattr(repair_pages, "_PATIENCE_S", 0.01)
    page = place.admin.get(REPAIR)
    answered.set()
    assert (page.status_code, "has not answered within" in page.text) == (503, True)


def test_a_range_is_priced_as_on_the_command_line_and_begun_once(place, capsys):
    days = ("2026-02-10", "2026-02-11", "2026-02-12")
    for day in days[:2]:
        folder = place.root / "data" / "sales" / day
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"item": ["a"], "amount": pa.array([1], pa.int64())}), folder / "a")
        (folder / "a").rename(folder / "a.parquet")
    path = "/forerun/reports/shown/backfill"
    assert path in place.admin.get("/forerun/reports/shown").text
    assert path not in place.guest.get("/forerun/reports/shown").text
    for refused in (place.guest.get(path), place.guest.send(path)):
        assert refused.status_code == 403
    asked = {"first": days[0], "last": days[2]}
    query = f"{path}?first={days[0]}&last={days[2]}"
    page = place.admin.get(query)
    assert [page.text.count(f">{word}</span>") for word in ("missing", "blocked")] == [2, 1]
    command = ["backfill", "shown", days[0], days[2], "--store", str(place.root / "store")]
    capsys.readouterr()  # what Airflow has logged
    assert run_command([*command, "--preview", "--json"]) == 0
    preview = json.loads(capsys.readouterr().out)
    for price in (preview["estimated_cpu_s"], preview["apart_estimated_cpu_s"]):
        assert f"{price:.1f} CPU s" in page.text
    (form,) = re.findall(r'name="token" value="([^"]+)"', page.text)
    runs = "/api/v2/dags/shown/dagRuns"
    before = place.admin.get(runs).json()["total_entries"]
    assert place.admin.send(path, **asked, token=form[:-5]).status_code == 403
    other = {**asked, "last": days[0]}
    assert place.admin.send(path, **other, token=form).status_code == 403
    assert place.admin.get(runs).json()["total_entries"] == before
    for _ in range(2):
        begun = place.admin.send(path, **asked, token=form)
        assert (begun.status_code, begun.headers["location"]) == (303, query)
    found = place.admin.get(f"{runs}?order_by=-run_after").json()
    assert found["total_entries"] == before + 1
    begun = [one for one in found["dag_runs"] if "backfill" in one["dag_run_id"]]
    assert [one["conf"] for one in begun] == [{"mode": "backfill", "days": list(days[:2])}]
    run = begun[0]["dag_run_id"]
    page = place.admin.get(query).text
    assert f'<a href="/dags/shown/runs/{run}">{run}</a>: {days[0]}, {days[1]}' in page
    assert 'http-equiv="refresh"' in page
    assert page.count("a DAG run is at it") == 2
    assert "<button>Begin" not in page
    place.admin.client.patch(f"{runs}/{run}", headers=place.admin.headers, json={"state": "failed"})
    place.open("shown", days[0], run)
    page = place.admin.get(query).text
    assert "its task publish says which days are not out" in page
    assert "opened before: go on with its own DAG run" in page
    assert "Begin 1 DAG run<" in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("first=2026-02-10&last=2026-02-01", "is no range of days"),
        ("first=2026-02-10&last=2026-12-31", "are more than 31 days"),
        ("first=yesterday&last=2026-02-01", "yesterday"),
    ],
)
def test_what_is_no_range_says_so(place, query, said):
    page = place.admin.get(f"/forerun/reports/shown/backfill?{query}")
    assert (page.status_code, said in page.text) == (200, True)
    assert "<button>Begin" not in page.text


ROUTES = (
    "", "reports/{r}", "reports/{r}/backfill", "days/{r}/{d}", "days/{r}/{d}/plan",
    "days/{r}/{d}/act", "days/{r}/{d}/repair", "days/{r}/{d}/sources/{s}", "runs/{r}/{s}",
    "savings", "state", "schedule", "arrivals", "assets/{s}",
)  # fmt: skip
ODD = (
    "", "0", "-1", "9999-12-31", "0001-01-01", "9998-12-31", "2026-02-30", "20260301", "2026-W09-7",
    DAY, "shown", "hidden", "sales", "%00", "%2e%2e", "a%2fb", "%ff", "%F0%9F%92%A5", "x" * 300,
    "1e999", "None", "{{7*7}}", "%27%22%3Cscript%3E", "%0d%0aX:1", "١", "auto", "100", "..%5c",
)  # fmt: skip
FIELDS = ("first", "last", "version", "zoom", "show", "task", "page", "kind", "token", "nothing")


def odd_address(draw):
    wanted = {
        "r": draw.choice(("shown", "shown", draw.choice(ODD))),
        "d": draw.choice((DAY, DAY, draw.choice(ODD))),
        "s": draw.choice(ODD),
    }
    query = "&".join(f"{draw.choice(FIELDS)}={draw.choice(ODD)}" for _ in range(draw.randint(0, 3)))
    return f"/forerun/{draw.choice(ROUTES).format(**wanted)}?{query}"


def test_no_address_is_an_error_that_nobody_has_foreseen(place):
    """Odd reports, days, names and query strings on every route: a page, or a refusal."""
    draw, seen = random.Random(17), {}
    fixed = ["first=9999-12-01&last=9999-12-31", "first=0001-01-01&last=0001-01-02"]
    addresses = [f"/forerun/reports/shown/backfill?{query}" for query in fixed]
    addresses += [odd_address(draw) for _ in range(300)]
    for address in addresses:
        answer = place.admin.get(address)
        seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
        assert answer.status_code < 500, address
        assert "{{7*7}}" not in answer.text or "49" not in address
    assert {200, 404} <= set(seen)


def test_no_form_is_an_error_that_nobody_has_foreseen(place):
    draw = random.Random(18)
    for _ in range(60):
        address = odd_address(draw)
        fields = {name: draw.choice(ODD) for name in draw.sample(FIELDS, 3)}
        assert place.admin.send(address, **fields).status_code < 500, (address, fields)


@pytest.mark.parametrize("route", ["reports/shown/backfill", f"days/shown/{DAY}/act",
                                   f"days/shown/{DAY}/repair"])  # fmt: skip
def test_a_large_form_is_refused_unread_and_a_login_is_asked_first(place, route):
    read = []

    def much():
        for _ in range(60):
            read.append(1)
            yield b"kind=" + b"x" * (1 << 20)

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    send = partial(place.client.post, f"/forerun/{route}", follow_redirects=False)
    answer = send(content=b"token=" + b"x" * (1 << 16), headers=place.admin.headers | form)
    assert (answer.status_code, "too large" in answer.text) == (413, True)
    assert send(content=b"token=" + b"x" * (1 << 16), headers=form).status_code == 401
    assert send(content=much(), headers=place.guest.headers | form).status_code in (403, 413)
    kinds = {"Content-Type": "multipart/form-data; boundary=x"}
    assert send(content=b"--x--", headers=place.admin.headers | kinds).status_code == 415
    many = "&".join(f"a{n}=1" for n in range(100)).encode()
    assert send(content=many, headers=place.admin.headers | form).status_code == 400


def test_no_page_names_a_report_that_may_not_be_seen(place):
    """Every page that the guest's links lead to, and every route about the report that he sees."""
    seen, hidden = DAGS
    todo, done = ["/forerun/", "/forerun/state", f"/forerun/days/{seen}/{DAY}/plan"], set()
    while todo:
        address = todo.pop()
        if address in done or len(done) > 60:
            continue
        done.add(address)
        page = place.guest.get(address)
        text = re.sub(r"<[^>]*>", " ", page.text)
        assert not re.search(rf"\b{hidden}\b", text), address
        links = re.findall(r'href="([^"#]*)', page.text)
        assert not [link for link in links if hidden in link], address
        todo += [link for link in links if link.startswith("/forerun") and "/assets/" not in link]
    assert {"/forerun/state", "/forerun/savings", "/forerun/schedule"} <= done
    for route in ("reports/{r}", "days/{r}/{d}", "days/{r}/{d}/plan", "reports/{r}/backfill"):
        answer = place.guest.get(f"/forerun/{route.format(r=hidden, d=DAY)}")
        other = place.guest.get(f"/forerun/{route.format(r='no_such', d=DAY)}")
        assert (answer.status_code, answer.text) == (other.status_code, other.text)
