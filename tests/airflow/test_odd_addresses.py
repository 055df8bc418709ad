"""The pages, asked what nobody means: no address and no parameter is an error of the server, and
nothing that belongs to a DAG which may not be read is in any answer."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from forerun.airflow.pages.access import Actor, changeable_dags, readable_dags
from forerun.airflow.pages.airflow_api import AIRFLOW, airflow_condition
from forerun.airflow.pages.app import make_app
from forerun.include.oncall.airflow_condition import AirflowCondition
from forerun.include.oncall.night.reader import NightReader
from forerun.include.reports.run_policy import Retries
from forerun.include.runs.prepare import open_generation
from forerun.include.state.records import OpenedBy
from tests.include.days.day_cases import DAY
from tests.include.oncall.dag_days import DATE, DagDay, at, dag_day

ODD = (
    "", " ", "0", "-1", "9" * 400, "1e999", "NaN", "null", "..", "../..", "%", "%00", "%2e%2e%2f",
    "a/b", "\\", "'\"<script>", "ä", "\U0001f600", "\xed\xa0\x80", "totals\n", "0000-00-00",
    "0001-01-01", "0002-01-01", "9998-12-31", "9999-12-31", "10000-01-01", "2026-02-30", "2026-3-1",
    DATE, "2026-W09", "2026-03-01T00:00:00Z", "true", "{}", "[]", "x" * 5000,
)  # fmt: skip
DAY_PAGE = f"/days/totals/{DATE}"
PATHS = (
    "/reports/{}", "/reports/{}/backfill", f"/days/{{}}/{DATE}", "/days/totals/{}",
    "/days/totals/{}/plan", "/days/totals/{}/act", "/days/totals/{}/repair",
    DAY_PAGE + "/sources/{}", "/runs/sums/{}", "/runs/{}/r1", "/assets/{}", "/{}",
)  # fmt: skip
PARAMETERS = (
    "/?show={}", DAY_PAGE + "/plan?version={}", DAY_PAGE + "/plan?zoom={}", "/runs/sums/r1?task={}",
    "/runs/sums/r1?page={}", "/reports/totals/backfill?first={}", "/savings?x={}", "/state?{}=1",
    f"/reports/totals/backfill?first={DATE}&last={{}}", "/schedule?at={}", "/arrivals?day={}",
    "/reports/totals/backfill?first={}&last={}",
)  # fmt: skip
PAGES = (
    "/", "/savings", "/state", "/schedule", "/arrivals", "/reports/totals", "/runs/sums/r1",
    "/reports/totals/backfill", DAY_PAGE, DAY_PAGE + "/plan", DAY_PAGE + "/sources/orders",
)  # fmt: skip
NEEDS_AIRFLOW = (DAY_PAGE + "/act", DAY_PAGE + "/repair")
"""What shows how Airflow's own DAG run is."""


HIDDEN = "unseen"
NO_ANSWER = 502
"""What a page is that cannot be without Airflow's answer: this one gives none."""


class Anybody(Actor):
    """Somebody who may act on every DAG."""

    def __init__(self) -> None:
        self.id = self.name = "anybody"

    def require(self, dag_id: str) -> None:
        pass

    def require_trigger(self, dag_id: str) -> None:
        pass


@dataclass
class HiddenDay(DagDay):
    """The day of a report that belongs to a DAG which may not be read, over the same rows."""

    @property
    def spec(self):
        orders = replace(super().spec.sources[0], path=str(self.folder / "sources" / "orders"))
        return replace(super().spec, name=f"{HIDDEN}_report", sources=(orders,))


@pytest.fixture
def asked(tmp_path):
    from starlette.testclient import TestClient

    case = dag_day(tmp_path)
    case.begin()
    case.make(1, at(12))
    app = make_app(NightReader(case.store, clock=lambda: at(13)), lambda: at(13))
    for user in (readable_dags, changeable_dags):
        app.dependency_overrides[user] = lambda: frozenset({"sums"})
    app.dependency_overrides[airflow_condition] = lambda: AirflowCondition(now=at(13))
    app.dependency_overrides[Actor] = Anybody

    async def airflow(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    airflow.state = SimpleNamespace(secret_key="a key")

    async def mounted(scope, receive, send):
        await app(scope | {AIRFLOW: airflow}, receive, send)

    return case, TestClient(mounted, raise_server_exceptions=False)


def test_no_address_is_an_error_of_the_server(asked):
    client = asked[1]
    broken = []
    for form, value in itertools.product((*PATHS, *PARAMETERS), ODD):
        address = form.replace("{}", quote(value, safe=""))
        if address in NEEDS_AIRFLOW:
            continue
        answer = client.get(address, follow_redirects=False)
        if answer.status_code >= 500 and answer.status_code != NO_ANSWER:
            broken.append(f"{answer.status_code} {address[:120]}")
    assert not broken, "\n".join(broken)


def test_nothing_of_a_hidden_dag_is_in_any_answer(asked):
    case, client = asked
    hidden = HiddenDay(case.folder, case.store_uri)
    opened = OpenedBy(
        dag_id=f"{HIDDEN}_dag",
        run_id=f"{HIDDEN}_run",
        mode="auto",
        group="",
        retries=Retries(count=2, pauses_s=60.0),
    )
    hidden.handle = open_generation(
        case.store_uri, hidden.spec, DAY, trigger="r2", now=at(0), opened_by=opened
    )
    hidden.make(1, at(12))
    hidden.make(2, at(16))
    hidden.publish(at(17))
    shown = 0
    for page in PAGES:
        answer = client.get(page)
        assert HIDDEN not in answer.text, page
        shown += "totals" in answer.text
    assert shown >= 8
    for page in (
        f"/days/{HIDDEN}_report/{DATE}",
        f"/reports/{HIDDEN}_report",
        f"/runs/{HIDDEN}_dag/r2",
    ):
        assert client.get(page).status_code == 404
