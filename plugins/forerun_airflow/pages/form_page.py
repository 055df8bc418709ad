"""A page of a day with forms: who may see it, what its forms say, and what comes of them.

An instruction is written into the store first, where the tasks of the day find it whenever they
look; only then is Airflow asked to begin tasks, if it takes that. So what stops in between is done
by saying it once more. Airflow is asked without holding a thread: it may need one to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool as in_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response

from forerun.airflow.pages.access import Actor, readable_dags
from forerun.airflow.pages.airflow_api import AirflowApi, AirflowRefusedError
from forerun.airflow.pages.forms import Form, read_fields, read_form
from forerun.airflow.pages.render import render, where_of
from forerun.include.days.instructions import Instruction, Kind, instruct
from forerun.include.oncall.day.actions import Action
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import NightRow, notices
from forerun.include.state.layout import Generation
from forerun.include.state.records import OpenedBy
from forerun.include.stores.opening import open_store

_DAGS = Depends(readable_dags)
_ACTOR = Depends(Actor)
_View = TypeVar("_View")
_LONGEST_REASON = 500


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


class FormPage(Generic[_View]):
    """The page of a day by ``template``, and what answers its forms, which name one of ``kinds``.
    ``then`` is the page below the day's that a followed form leads to."""

    template: str
    kinds: Collection[Kind]
    then: str

    def __init__(self, pages: FindsRows, clock: Callable[[], datetime]) -> None:
        self._pages = pages
        self._clock = clock

    def look(self, row: NightRow, actor: Actor) -> _View | None:
        """Return what is shown of a day, None if it cannot be read. Called in a thread; raises for
        an actor without the right to it."""
        raise NotImplementedError

    def about(self, view: _View, kind: str) -> str:
        """Return the generation that a form of this kind would be about now."""
        raise NotImplementedError

    async def do(
        self, request: Request, view: _View, form: Form, actor: Actor, kind: str, reason: str
    ) -> Refusal | None:
        """Do what a form says, for the reason that it gives, or return why it is not done."""
        raise NotImplementedError

    async def shown(
        self, request: Request, view: _View, new_form: Callable[..., Form]
    ) -> dict[str, Any]:
        """Return what the template shows. ``new_form`` makes a form of the actor for the day."""
        raise NotImplementedError

    async def show(
        self,
        request: Request,
        report: str,
        day: str,
        dags: frozenset[str] = _DAGS,
        actor: Actor = _ACTOR,
    ) -> Response:
        """Show what can be told the day, and what each would bring."""
        row, view = await in_thread(self._look, report, day, dags, actor)
        return await self._page(request, row, view, actor)

    async def act(
        self,
        request: Request,
        report: str,
        day: str,
        dags: frozenset[str] = _DAGS,
        actor: Actor = _ACTOR,
    ) -> Response:
        """Do what a form says, and lead on; else show the page again, with the reason."""
        fields = await read_fields(request)
        kind, form = fields.get("kind", ""), read_form(request, fields.get("token", ""))
        row, view = await in_thread(self._look, report, day, dags, actor)
        about = "" if view is None else self.about(view, kind)
        refusal = refuse_form(form, row, actor, about, kind, self.kinds)
        if refusal is None and view is not None and form is not None:
            reason = " ".join(fields.get("reason", "").split())[:_LONGEST_REASON]
            refusal = await self.do(request, view, form, actor, kind, reason)
        if refusal is not None:
            return await self._page(request, row, view, actor, refusal)
        page = f"{where_of(request).base}/days/{report}/{day}{self.then}"
        return RedirectResponse(page, status_code=303)

    async def tell(
        self, at: Generation, action: Action, form: Form, actor: Actor, reason: str = ""
    ) -> None:
        """Write the instruction of an action into the store."""
        reader, now = self._pages.reader, self._clock().isoformat()
        wanted = Instruction(kind=action.kind, by=actor.name, at=now, form=form.id, reason=reason)
        store = open_store(reader.store.root)
        await in_thread(reader.ask, partial(instruct, store, at, wanted))
        reader.changed()

    async def clear(
        self, request: Request, opened_by: OpenedBy | None, action: Action, actor: Actor
    ) -> Refusal | None:
        """Let Airflow begin the tasks of an action again, in the DAG run that opened the day."""
        if opened_by is None or not action.clears:
            return None
        try:
            run = opened_by.dag_id, opened_by.run_id
            await AirflowApi(request).clear(*run, action.clears, note_of(action, actor))
        except AirflowRefusedError as error:
            tasks = ", ".join(action.clears)
            return Refusal(409, f"It is written down, but {tasks} did not begin again. {error}")
        return None

    def _look(
        self, report: str, day: str, dags: frozenset[str], actor: Actor
    ) -> tuple[NightRow, _View | None]:
        """Return a day that the actor may change, and what is shown of it. The right comes first:
        whoever has none makes nobody plan anything."""
        row = self._pages.row(report, day, dags)
        actor.require(row.report.dag_id)
        return row, self.look(row, actor)

    async def _page(
        self,
        request: Request,
        row: NightRow,
        view: _View | None,
        actor: Actor,
        refusal: Refusal | None = None,
    ) -> Response:
        where, condition = where_of(request), await AirflowApi(request).condition()
        row = row.under(condition)
        said = notices(condition, [row])
        if view is None:
            return HTMLResponse(render("broken.html", where, row=row, notices=said))
        new_form = partial(Form, user=actor.id, report=row.report.name, day=row.day)
        known = await self.shown(request, view, new_form)
        known |= {"row": row, "notices": said, "refusal": refusal.why if refusal else ""}
        status = refusal.status if refusal else 200
        return HTMLResponse(render(self.template, where, **known), status_code=status)


def note_of(action: Action, actor: Actor) -> str:
    """Return the note that Airflow keeps of what was begun."""
    return f"Forerun: {action.title}, by {actor.name}"
