"""The page on which a range of days of a report is priced, and begun: a DAG run for each
application."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Protocol

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool as in_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response

from forerun.airflow.day import BACKFILL
from forerun.airflow.pages.access import Actor, readable_dags
from forerun.airflow.pages.airflow_api import AirflowApi, AirflowRefusedError, TriggeredRun
from forerun.airflow.pages.forms import Form, read_fields, read_form
from forerun.airflow.pages.render import render, where_of
from forerun.airflow_policy import PAGE_RUN
from forerun.include.oncall.backfills import MOST_DAYS, BackfillView, read_backfill
from forerun.include.oncall.catalogue import KnownReport
from forerun.include.oncall.night.reader import NightReader
from forerun.include.reports.values.clock import parse_day
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import StoreDownError
from forerun.planner.errors import ForerunError

_DAGS = Depends(readable_dags)
_ACTOR = Depends(Actor)
_PATIENCE_S = 60.0
"""Every day of a range is planned, and somebody waits for just that."""
_WEEK = timedelta(days=7)


class FindsReports(Protocol):
    """Finds a report that may be seen, and reads the store."""

    @property
    def reader(self) -> NightReader: ...

    def known(self, report: str, dags: frozenset[str]) -> KnownReport: ...


class BackfillPages:
    """The page of a report's backfill, and what answers its form."""

    def __init__(self, pages: FindsReports, clock: Callable[[], datetime]) -> None:
        self._pages = pages
        self._clock = clock

    async def show(
        self,
        request: Request,
        report: str,
        first: str = "",
        last: str = "",
        dags: frozenset[str] = _DAGS,
        actor: Actor = _ACTOR,
    ) -> Response:
        """Show what a range of days would take; without a range, a form that asks for one."""
        known, view, why = await in_thread(self._look, report, first, last, dags, actor)
        view, runs = await self._beside(request, known, view)
        return self._page(request, known, actor, view, (first, last), why, runs=runs)

    async def act(
        self,
        request: Request,
        report: str,
        dags: frozenset[str] = _DAGS,
        actor: Actor = _ACTOR,
    ) -> Response:
        """Trigger DAG runs for the days that are missing, and lead back to the page, which shows
        how they go on. A form that is sent again leads there, too."""
        fields = await read_fields(request)
        first, last = asked = fields.get("first", ""), fields.get("last", "")
        form = read_form(request, fields.get("token", ""))
        known, view, why = await in_thread(self._look, report, first, last, dags, actor)
        view, runs = await self._beside(request, known, view)
        if view is None:
            return self._page(request, known, actor, None, asked, why)
        here = f"{where_of(request).base}/reports/{report}/backfill?first={first}&last={last}"
        again = RedirectResponse(here, status_code=303)
        if form is not None and any(one.run_id.endswith(f"-{form.id}") for one in runs):
            return again
        if form is None or form != self._form(actor, known, view, form.id):
            why = "That form was not made for you and these days, or they have changed since."
            return self._page(request, known, actor, view, asked, why, runs=runs, status=403)
        api = AirflowApi(request)
        for days in view.applications:
            names = [day.date.isoformat() for day in days]
            note = f"Forerun: backfill, by {actor.name}"
            try:
                run_id = f"{PAGE_RUN}{names[0]}-{form.id}"
                await api.trigger(known.dag_id, run_id, _conf(known.name, names, view), note)
            except AirflowRefusedError as error:
                why = f"{names[0]} and the days after it have no DAG run. {error}"
                view, runs = await self._beside(request, known, view)
                return self._page(request, known, actor, view, asked, why, runs=runs)
        return again

    @staticmethod
    async def _beside(
        request: Request, known: KnownReport, view: BackfillView | None
    ) -> tuple[BackfillView | None, list[TriggeredRun]]:
        """The range without the days that DAG runs of this page are computing, and these runs with
        the newest others that are about days of the range."""
        if view is None:
            return None, []
        shown = {day.date.isoformat() for day in view.found.days}
        api = AirflowApi(request)
        runs = [r for r in await api.runs_of(known.dag_id, PAGE_RUN) if shown.intersection(r.days)]
        busy = [day for one in runs if not one.is_over for day in one.days]
        return replace(view, under_way=frozenset(map(date.fromisoformat, busy))), runs

    def _look(
        self, report: str, first: str, last: str, dags: frozenset[str], actor: Actor
    ) -> tuple[KnownReport, BackfillView | None, str]:
        """A report that the actor may trigger, its range, and why there is none."""
        known, reader = self._pages.known(report, dags), self._pages.reader
        actor.require_trigger(known.dag_id)
        if not first and not last:
            return known, None, ""
        now = self._clock()
        try:
            days = parse_day(first), parse_day(last)
            store = open_store(reader.store.root)
            found = reader.ask(lambda: read_backfill(store, report, *days, now), _PATIENCE_S)
        except StoreDownError:
            raise
        except ForerunError as error:
            return known, None, str(error)
        return known, found, ""

    @staticmethod
    def _form(actor: Actor, known: KnownReport, view: BackfillView, form_id: str) -> Form:
        """The form that begins these very days."""
        days = ",".join(day.date.isoformat() for day in view.to_start)
        return Form(user=actor.id, report=known.name, day=days, generation="backfill", id=form_id)

    def _page(
        self,
        request: Request,
        known: KnownReport,
        actor: Actor,
        view: BackfillView | None,
        asked: tuple[str, str],
        why: str,
        *,
        runs: Sequence[TriggeredRun] = (),
        status: int = 200,
    ) -> Response:
        yesterday = self._clock().date() - timedelta(days=1)
        first, last = asked if any(asked) else _default(yesterday)
        fresh = Form(user="", report="", day="", generation="").id
        shown: dict[str, Any] = {
            "report": known,
            "view": view,
            "first": first,
            "last": last,
            "most": MOST_DAYS,
            "store": self._pages.reader.store.root,
            "token": self._form(actor, known, view, fresh).token(request) if view else "",
            "refusal": why,
            "runs": runs,
        }
        page = render("backfill.html", where_of(request), **shown)
        return HTMLResponse(page, status_code=status)


def _conf(report: str, days: list[str], view: BackfillView) -> dict[str, Any]:
    """Return the conf of a DAG run for the days: one day has no start of an application to
    share."""
    only = {"reports": [report]} if view.grouped else {}
    own = {"mode": BACKFILL, "days": days} if len(days) > 1 else {"report_date": days[0]}
    return own | only


def _default(yesterday: date) -> tuple[str, str]:
    return (yesterday - _WEEK).isoformat(), yesterday.isoformat()
