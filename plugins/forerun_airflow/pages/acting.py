"""The page on which a day is told what to do, and what happens when somebody says so.

An action is written into the store first, where the tasks of the day find it whenever they look;
only then is Airflow asked to begin tasks again, if it takes that. So what stops in between is done
by saying it once more. Airflow is asked without holding a thread: it may need one to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from fastapi import Depends, Request
from fastapi import Form as Field
from starlette.concurrency import run_in_threadpool as in_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response

from forerun.airflow.pages.access import Actor, readable_dags
from forerun.airflow.pages.airflow_api import AirflowApi, AirflowRefusedError
from forerun.airflow.pages.forms import Form, read_form
from forerun.airflow.pages.render import render, where_of
from forerun.include.days.instructions import Instruction, Kind, instruct
from forerun.include.oncall.actions import OF_A_DAY, Action, Situation, actions_of
from forerun.include.oncall.day_records import DayRecords
from forerun.include.oncall.night import NightRow
from forerun.include.oncall.night_reader import NightReader
from forerun.include.state.opening import open_store

_DAGS = Depends(readable_dags)
_ACTOR = Depends(Actor)


class FindsRows(Protocol):
    """Finds the row of a day that may be seen, and reads the store."""

    @property
    def reader(self) -> NightReader: ...

    def row(self, report: str, day: str, dags: frozenset[str]) -> NightRow: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a form was not followed, with the status of the answer."""

    status: int
    why: str


def refuse_form(
    form: Form | None, row: NightRow, actor: Actor, about: str, kind: str, kinds: Collection[Kind]
) -> Refusal | None:
    """Return why a form is not followed: it is not the actor's, not lately made, not about what it
    was made for, or names none of ``kinds``. ``about``: what a form would be about now."""
    if row.records is None:
        return Refusal(409, "The day cannot be read.")
    if form is None or (form.user, form.report, form.day) != (actor.id, row.report.name, row.day):
        return Refusal(403, "That form was not made for you here, or is older than half an hour.")
    if form.generation != about:
        return Refusal(409, "The day was opened anew, or published, since the form was made.")
    if kind not in kinds:
        return Refusal(400, "The form names no action.")
    return None


class ActionPages:
    """The page of a day's actions, and what answers its forms."""

    def __init__(self, pages: FindsRows, clock: Callable[[], datetime]) -> None:
        self._pages = pages
        self._clock = clock

    async def show(
        self,
        request: Request,
        report: str,
        day: str,
        dags: frozenset[str] = _DAGS,
        actor: Actor = _ACTOR,
    ) -> Response:
        """Show what can be told the day, and what each would bring."""
        row = await in_thread(self._row, report, day, dags, actor)
        return await self._page(request, row, actor)

    async def act(
        self,
        request: Request,
        report: str,
        day: str,
        kind: str = Field(""),
        token: str = Field(""),
        dags: frozenset[str] = _DAGS,
        actor: Actor = _ACTOR,
    ) -> Response:
        """Do what a form says, and lead to the day; else the page again, with the reason."""
        row = await in_thread(self._row, report, day, dags, actor)
        form = read_form(request, token)
        about = row.records.at.generation if row.records else ""
        refusal = refuse_form(form, row, actor, about, kind, OF_A_DAY)
        if refusal is None and row.records is not None and form is not None:
            refusal = await self._do(request, row, row.records, form, actor, _kind(kind))
        if refusal is not None:
            return await self._page(request, row, actor, refusal)
        day_page = f"{where_of(request).base}/days/{report}/{day}#told"
        return RedirectResponse(day_page, status_code=303)

    def _row(self, report: str, day: str, dags: frozenset[str], actor: Actor) -> NightRow:
        """The row of a day that the actor may see and change."""
        row = self._pages.row(report, day, dags)
        actor.require(row.report.dag_id)
        return row

    async def _do(
        self,
        request: Request,
        row: NightRow,
        records: DayRecords,
        form: Form,
        actor: Actor,
        kind: Kind,
    ) -> Refusal | None:
        """Write the instruction down and let Airflow begin its tasks again."""
        reader, now = self._pages.reader, self._clock()
        repeated = any(one.form == form.id for one in records.told.given)
        action = next(a for a in await self._actions(request, row, records) if a.kind == kind)
        if action.refused and not repeated:
            return Refusal(409, action.refused)
        wanted = Instruction(kind=kind, by=actor.name, at=now.isoformat(), form=form.id)
        store = open_store(reader.store.root)
        await in_thread(reader.ask, partial(instruct, store, records.at, wanted))
        reader.changed()
        opened_by = records.record.opened_by
        if action.clears and opened_by:
            note = f"Forerun: {action.title}, by {actor.name}"
            try:
                api = AirflowApi(request)
                await api.clear(opened_by.dag_id, opened_by.run_id, action.clears, note)
            except AirflowRefusedError as error:
                tasks = ", ".join(action.clears)
                why = f"It is written down, but {tasks} did not begin again. {error}"
                return Refusal(409, why)
        return None

    async def _actions(
        self, request: Request, row: NightRow, records: DayRecords
    ) -> tuple[Action, ...]:
        opened_by = records.record.opened_by
        api = AirflowApi(request)
        run = await api.dag_run(opened_by.dag_id, opened_by.run_id) if opened_by else None
        return actions_of(
            Situation(
                records=records,
                missing=row.missing,
                dag_run=run,
                now=self._clock(),
            )
        )

    async def _page(
        self, request: Request, row: NightRow, actor: Actor, refusal: Refusal | None = None
    ) -> Response:
        if row.records is None:
            return HTMLResponse(render("broken.html", where_of(request), row=row))
        form = Form(
            user=actor.id,
            report=row.report.name,
            day=row.day,
            generation=row.records.at.generation,
        )
        known: dict[str, Any] = {
            "row": row,
            "actions": await self._actions(request, row, row.records),
            "token": form.token(request),
            "refusal": refusal.why if refusal else "",
        }
        status = refusal.status if refusal else 200
        return HTMLResponse(render("act.html", where_of(request), **known), status_code=status)


def _kind(name: str) -> Kind:
    return next(kind for kind in OF_A_DAY if kind == name)
