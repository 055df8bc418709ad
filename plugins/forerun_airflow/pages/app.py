"""The pages as a FastAPI application: what each address answers, and to whom."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from starlette.concurrency import run_in_threadpool as in_thread
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from forerun.airflow.pages.access import UnknownError, changeable_dags, readable_dags, to_login
from forerun.airflow.pages.acting import ActionPages
from forerun.airflow.pages.airflow_api import AirflowApi, AirflowRefusedError, airflow_condition
from forerun.airflow.pages.backfill_pages import BackfillPages
from forerun.airflow.pages.overview_pages import OverviewPages
from forerun.airflow.pages.plan_drawing import ZOOMS
from forerun.airflow.pages.render import render, where_of
from forerun.airflow.pages.repair_pages import RepairPages
from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.airflow_condition import AirflowCondition
from forerun.include.oncall.catalogue import KnownReport, days_opened_by, find_report, known_reports
from forerun.include.oncall.day.actions import DagRunState
from forerun.include.oncall.day.plan_graph import read_plan_graph
from forerun.include.oncall.day.progress import progress_of
from forerun.include.oncall.day.view import read_day_view
from forerun.include.oncall.day.waiting_runs import waiting_runs
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import NightRow, grouped, notices, with_unopened
from forerun.include.oncall.savings import read_savings
from forerun.include.reports.values.clock import parse_day
from forerun.include.stores.opening import default_store, open_store
from forerun.include.stores.store import StoreError
from forerun.planner.contract import decode_plan
from forerun.planner.errors import ForerunError

_LOG = logging.getLogger(__name__)
_HERE = Path(__file__).parent
_ASSETS = {"style.css": "text/css", "icon.svg": "image/svg+xml", "icon-dark.svg": "image/svg+xml"}
_HEADERS = {
    # No script at all, and nothing from elsewhere; Airflow's own UI shows the pages in a frame.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
DAGS = Depends(readable_dags)
CHANGEABLE = Depends(changeable_dags)
CONDITION = Depends(airflow_condition)


def make_app(reader: NightReader | None = None, clock: Callable[[], datetime] = utc_now) -> FastAPI:
    """The application over the deployment's store, or over what ``reader`` reads."""
    app = FastAPI(title="Forerun", docs_url=None, redoc_url=None, openapi_url=None)
    pages = _Pages(reader, clock)
    actions = ActionPages(pages, clock)
    repairs = RepairPages(pages, clock)
    backfills = BackfillPages(pages, clock)
    overviews = OverviewPages(pages, clock)

    @app.middleware("http")
    async def add_headers(request: Request, answer: Any) -> Response:
        response: Response = await answer(request)
        response.headers.update(_HEADERS)
        return response

    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(UnknownError, _unknown)
    app.add_exception_handler(ForerunError, _failed)
    app.add_exception_handler(Exception, _broken)
    page: dict[str, Any] = {"response_class": HTMLResponse}
    app.get("/", **page)(pages.night)
    app.get("/reports/{report}", **page)(pages.report)
    app.get("/reports/{report}/backfill", **page)(backfills.show)
    app.post("/reports/{report}/backfill", **page)(backfills.act)
    app.get("/days/{report}/{day}", **page)(pages.day)
    app.get("/days/{report}/{day}/plan", **page)(pages.plan)
    app.get("/days/{report}/{day}/act", **page)(actions.show)
    app.post("/days/{report}/{day}/act", **page)(actions.act)
    app.get("/days/{report}/{day}/repair", **page)(repairs.show)
    app.post("/days/{report}/{day}/repair", **page)(repairs.act)
    app.get("/runs/{dag_id}/{run_id}")(pages.dag_run)
    app.get("/savings", **page)(overviews.savings)
    app.get("/state", **page)(overviews.state)
    app.get("/schedule", **page)(overviews.schedule)
    app.get("/arrivals", **page)(overviews.arrivals)
    app.get("/days/{report}/{day}/sources/{name}", **page)(overviews.source)
    app.get("/assets/{name}")(pages.asset)
    app.get("/{rest:path}")(pages.nothing)
    return app


class _Pages:
    """The answers. They wait for the store, so they are no coroutines: each has a thread."""

    def __init__(self, reader: NightReader | None, clock: Callable[[], datetime]) -> None:
        self._given = reader
        self._clock = clock

    @property
    def reader(self) -> NightReader:
        return self._given or _reader_of(default_store())

    def night(
        self,
        request: Request,
        show: str = "",
        dags: frozenset[str] = DAGS,
        changeable: frozenset[str] = CHANGEABLE,
        condition: AirflowCondition = CONDITION,
    ) -> str:
        """A line per report and day, of all that whoever asks may see."""
        night = self.reader.night()
        rows = tuple(row.under(condition) for row in with_unopened(night.of(dags), condition, dags))
        shown = [row for row in rows if show in ("", row.severity)]
        known = {"night": night, "rows": rows, "groups": grouped(shown), "show": show}
        known["notices"] = notices(condition, rows)
        return render("night.html", where_of(request), **known, changeable=changeable)

    def report(
        self,
        request: Request,
        report: str,
        dags: frozenset[str] = DAGS,
        changeable: frozenset[str] = CHANGEABLE,
    ) -> str:
        """Return the page of a report: what its newest days took, beside batch."""
        known, reader = self.known(report, dags), self.reader
        found = reader.ask(lambda: read_savings(reader.store, known.name))
        may = known.dag_id in changeable
        return render("report.html", where_of(request), report=known, savings=found, may_act=may)

    async def day(
        self,
        request: Request,
        report: str,
        day: str,
        dags: frozenset[str] = DAGS,
        changeable: frozenset[str] = CHANGEABLE,
        condition: AirflowCondition = CONDITION,
    ) -> str:
        """A day in full, with what Airflow does for it as long as it is not published."""
        try:
            row = (await in_thread(self.row, report, day, dags)).under(condition)
        except UnknownError:
            left = with_unopened((), condition, dags)
            found = [one for one in left if (one.report.name, one.day) == (report, day)]
            if not found:
                raise
            row = found[0]
        run = await _run_of(request, row)
        return await in_thread(self._day, request, row, dags, changeable, condition, run)

    def _day(
        self,
        request: Request,
        row: NightRow,
        dags: frozenset[str],
        changeable: frozenset[str],
        condition: AirflowCondition,
        run: DagRunState | None,
    ) -> str:
        said = notices(condition, [row])
        if row.records is None:
            return render("broken.html", where_of(request), row=row, notices=said)
        records = row.records
        reader, now = self.reader, self._clock()

        def may_name(other: str) -> bool:
            known = find_report(reader.store, other)
            return known is not None and known.dag_id in dags

        view = reader.ask(lambda: read_day_view(reader.store, records))
        waits = reader.ask(lambda: waiting_runs(reader.store, records, now, may_name))
        known: dict[str, Any] = {"view": view, "waits": waits, "now": now, "changeable": changeable}
        known |= {"run": run, "progress": progress_of(run) if run else ()}
        return render("day.html", where_of(request), row=row, notices=said, **known)

    def plan(
        self,
        request: Request,
        report: str,
        day: str,
        version: str = "",
        zoom: str = "100",
        dags: frozenset[str] = DAGS,
    ) -> str:
        """A plan of a day, the newest one unless ``version`` names another by its attempt; its
        graph as large as ``zoom`` says, one of :data:`ZOOMS`."""
        if zoom not in ZOOMS:
            raise UnknownError
        row = self.row(report, day, dags)
        if row.records is None:
            return render("broken.html", where_of(request), row=row)
        records, store = row.records, self.reader.store
        wanted = [one for one in records.plans if version in ("", one.attempt)]
        if version and not wanted:
            raise UnknownError
        file = wanted[-1] if wanted else None
        plan = self.reader.ask(lambda: decode_plan(store.get(file.key))) if file else None
        graph = self.reader.ask(lambda: read_plan_graph(store, records, plan)) if plan else None
        shown = {"version": version, "zoom": zoom, "zooms": ZOOMS}
        known = {"file": file, "plan": plan, "graph": graph, **shown}
        return render("plan.html", where_of(request), row=row, **known)

    def dag_run(
        self,
        request: Request,
        dag_id: str,
        run_id: str,
        task: str = "",
        page: str = "",
        dags: frozenset[str] = DAGS,
        changeable: frozenset[str] = CHANGEABLE,
    ) -> Response:
        """Return where a DAG run of Airflow leads: to the day of its report, or of the report that
        a task belongs to; to all of its days where it has several. ``page`` ``plan``: to the
        plan."""
        if dag_id not in dags:
            raise UnknownError
        store, reader = self.reader.store, self.reader
        found = reader.ask(
            lambda: list(days_opened_by(store, dag_id, run_id, known_reports(store)))
        )
        own = [(name, day) for name, day in found if name in task.split(".")[:-1]]
        days = own or found
        if len(days) == 1:
            name, day = days[0]
            rest = "/plan" if page == "plan" else ""
            base = where_of(request).base
            return RedirectResponse(f"{base}/days/{name}/{day}{rest}", status_code=303)
        rows = [self.row(name, day, dags) for name, day in days]
        known = {"dag_id": dag_id, "run_id": run_id, "now": self._clock()}
        page = render(
            "run.html", where_of(request), groups=grouped(rows), changeable=changeable, **known
        )
        return HTMLResponse(page)

    def asset(self, name: str, dags: frozenset[str] = DAGS) -> Response:  # noqa: ARG002 - login
        """The style sheet and the icons."""
        if name not in _ASSETS:
            raise UnknownError
        return FileResponse(_HERE / name, media_type=_ASSETS[name])

    def nothing(self, rest: str, dags: frozenset[str] = DAGS) -> Response:  # noqa: ARG002 - login
        """Any other address."""
        raise UnknownError

    def row(self, report: str, day: str, dags: frozenset[str]) -> NightRow:
        """The line of a day."""
        if parse_day(day).isoformat() != day:
            raise UnknownError
        known, reader = self.known(report, dags), self.reader
        row = reader.ask(lambda: reader.day(known, day))
        if row is None:
            raise UnknownError
        return row

    def known(self, report: str, dags: frozenset[str]) -> KnownReport:
        """A report that may be seen. What may not is answered like what is not there."""
        reader = self.reader
        known = reader.ask(lambda: find_report(reader.store, report))
        if known is None or known.dag_id not in dags:
            raise UnknownError
        return known


async def _run_of(request: Request, row: NightRow) -> DagRunState | None:
    """Return the DAG run of a day that is not out, as Airflow has it; None if it is out, or Airflow
    does not say."""
    opened_by = row.records.record.opened_by if row.records and not row.is_over else None
    if opened_by is None:
        return None
    try:
        return await AirflowApi(request).dag_run(opened_by.dag_id, opened_by.run_id)
    except AirflowRefusedError:
        return None


@cache
def _reader_of(store: str) -> NightReader:
    return NightReader(open_store(store))


def _refused(request: Request, error: Exception) -> Response:
    """A browser that is not logged in is led to the login, everything else is told."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 401 and "text/html" in request.headers.get("accept", ""):
        return to_login(request)
    if status == 403 and request.url.path.endswith(("/act", "/repair", "/backfill")):
        hint = "Airflow gives you no right to trigger its DAG or clear its tasks. Ask who owns it."
        return _problem(request, status, "You may read this report, and not act on it.", hint)
    if status in _NO_FORM:
        return _problem(request, status, _NO_FORM[status], "Send the form of the page itself.")
    said = "You are not logged in." if status == 401 else "That is not possible."
    return _problem(request, status, said, "Log in to Airflow, and ask again.")


_NO_FORM = {
    400: "The form cannot be read.",
    413: "The form is too large.",
    415: "That is no form of these pages.",
}


def _unknown(request: Request, error: Exception) -> Response:  # noqa: ARG001 - the signature
    hint = "It may have been mistyped, or it belongs to a DAG that you may not read."
    return _problem(request, 404, "There is no such page.", hint)


def _failed(request: Request, error: Exception) -> Response:
    """A store that cannot be read is said so; Airflow itself has no part in it. A name that cannot
    be one, or no date, names no page."""
    if isinstance(error, ForerunError) and error.code in ("name", "time"):
        return _unknown(request, error)
    if isinstance(error, StoreError):
        return _problem(request, 503, "The store cannot be read.", str(error))
    if isinstance(error, AirflowRefusedError):
        return _problem(request, 502, "Airflow does not say how its DAG run is.", str(error))
    return _problem(request, 500, "What the store holds cannot be shown.", str(error))


def _broken(request: Request, error: Exception) -> Response:
    """What nobody has foreseen is a page, too; who runs Airflow finds the reason in its log."""
    _LOG.error("%s cannot be shown", request.url.path, exc_info=error)
    said, hint = "This page is broken.", "Please tell who runs Airflow: its log says why."
    return _problem(request, 500, said, hint)


def _problem(request: Request, status: int, said: str, hint: str) -> Response:
    page = render("problem.html", where_of(request), said=said, hint=hint, status=status)
    return HTMLResponse(page, status_code=status)
