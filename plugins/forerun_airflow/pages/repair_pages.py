"""The page on which a published day is repaired: what changed, what it takes, which rows differ.

Two steps, each confirmed by a form: a DAG run computes the repair, and its task ``publish`` is let
go on once somebody has read the difference. As with all actions the store is told first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
from fastapi import Depends, Request
from fastapi import Form as Field
from starlette.concurrency import run_in_threadpool as in_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response

from forerun.airflow.day import REPAIR
from forerun.airflow.pages.access import Actor, readable_dags
from forerun.airflow.pages.acting import FindsRows, Refusal, refuse_form
from forerun.airflow.pages.airflow_api import AirflowApi, AirflowRefusedError
from forerun.airflow.pages.forms import Form, read_form
from forerun.airflow.pages.render import render, where_of
from forerun.include.days.instructions import Instruction, instruct
from forerun.include.oncall.actions import Action, DagRunState
from forerun.include.oncall.night import NightRow
from forerun.include.oncall.repairs import RepairView, prepare_action, publish_action, read_repair
from forerun.include.state.layout import Generation
from forerun.include.state.opening import open_store
from forerun.include.verify.row_diff import counts
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

_DAGS = Depends(readable_dags)
_ACTOR = Depends(Actor)
_PATIENCE_S = 60.0
"""Planning every way to repair a day may take a while, and somebody waits for just that."""
_MOST_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffHead:
    """The first rows of a difference, each with how often it is added or taken away, and how many
    there are of both in all."""

    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    added: int
    removed: int
    left: int


class RepairPages:
    """The page of a day's repair, and what answers its two forms."""

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
        """Show what a repair of the day would take, and what one that is computed changes."""
        row, view = await in_thread(self._look, report, day, dags, actor)
        return await self._page(request, row, view, actor)

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
        """Do what a form says, and show the page again; with the reason if it is not done."""
        row, view = await in_thread(self._look, report, day, dags, actor)
        form, refusal = read_form(request, token), None
        about = view.about if view else ""
        if view is not None and view.computed is not None and kind == "publish":
            about = view.computed.at.generation
        refusal = refuse_form(form, row, actor, about, kind, ("repair", "publish"))
        if refusal is None and view is not None and form is not None:
            do = self._publish if kind == "publish" else self._prepare
            refusal = await do(request, view, form, actor)
        if refusal is not None:
            return await self._page(request, row, view, actor, refusal)
        page = f"{where_of(request).base}/days/{report}/{day}/repair"
        return RedirectResponse(page, status_code=303)

    def _look(
        self, report: str, day: str, dags: frozenset[str], actor: Actor
    ) -> tuple[NightRow, RepairView | None]:
        """A day that the actor may change, and its repair. The right comes first: whoever has none
        makes nobody plan anything."""
        row, reader = self._pages.row(report, day, dags), self._pages.reader
        actor.require(row.report.dag_id)
        actor.require_trigger(row.report.dag_id)
        if (records := row.records) is None:
            return row, None
        now = self._clock()
        found = reader.ask(lambda: read_repair(reader.store, records, now), _PATIENCE_S)
        return row, found

    async def _prepare(
        self, request: Request, view: RepairView, form: Form, actor: Actor
    ) -> Refusal | None:
        at, api = view.records.at, AirflowApi(request)
        action = prepare_action(view, (await _newest_run(api, view))[1])
        if action.refused and not any(one.form == form.id for one in view.records.told.given):
            return Refusal(409, action.refused)
        await self._tell(at, action, form, actor)
        opened_by = view.records.record.opened_by
        if opened_by is None:
            return None
        try:
            only = {"reports": [at.report]} if opened_by.group else {}
            conf, note = {"report_date": at.day, "mode": REPAIR, **only}, _note(action, actor)
            await api.trigger(opened_by.dag_id, _run_id(at, form.id), conf, note)
        except AirflowRefusedError as error:
            return Refusal(409, f"It is written down, but no DAG run has begun. {error}")
        return None

    async def _publish(
        self, request: Request, view: RepairView, form: Form, actor: Actor
    ) -> Refusal | None:
        api = AirflowApi(request)
        action = publish_action(view, await _opener(api, view))
        if view.computed is None or action is None:
            return Refusal(409, "No repair is computed that could be published.")
        if any(one.form == form.id for one in view.computed.told.given):
            return None
        if action.refused:
            return Refusal(409, action.refused)
        await self._tell(view.computed.at, action, form, actor)
        if (opened_by := view.computed.opened_by) is None:
            return None
        try:
            tasks, note = action.clears, _note(action, actor)
            await api.clear(opened_by.dag_id, opened_by.run_id, tasks, note)
        except AirflowRefusedError as error:
            return Refusal(409, f"It is written down, but publish did not begin again. {error}")
        return None

    async def _tell(self, at: Generation, action: Action, form: Form, actor: Actor) -> None:
        reader = self._pages.reader
        now = self._clock().isoformat()
        wanted = Instruction(kind=action.kind, by=actor.name, at=now, form=form.id)
        store = open_store(reader.store.root)
        await in_thread(reader.ask, partial(instruct, store, at, wanted))
        reader.changed()

    async def _page(
        self,
        request: Request,
        row: NightRow,
        view: RepairView | None,
        actor: Actor,
        refusal: Refusal | None = None,
    ) -> Response:
        if view is None:
            return HTMLResponse(render("broken.html", where_of(request), row=row))
        api, computed = AirflowApi(request), view.computed
        run_id, run = await _newest_run(api, view)
        form = partial(Form, user=actor.id, report=row.report.name, day=row.day)
        known: dict[str, Any] = {
            "row": row,
            "view": view,
            "run_id": run_id,
            "run": run,
            "store": self._pages.reader.store.root,
            "prepare": prepare_action(view, run),
            "publish": publish_action(view, await _opener(api, view)),
            "head": diff_head(computed.diff) if computed and computed.diff is not None else None,
            "prepare_token": form(generation=view.about).token(request),
            "publish_token": form(generation=computed.at.generation).token(request)
            if computed
            else "",
            "refusal": refusal.why if refusal else "",
        }
        page = render("repair.html", where_of(request), **known)
        return HTMLResponse(page, status_code=refusal.status if refusal else 200)


async def _opener(api: AirflowApi, view: RepairView) -> DagRunState | None:
    """The DAG run that has opened the repair that is computed."""
    opened_by = view.computed.opened_by if view.computed else None
    return await api.dag_run(opened_by.dag_id, opened_by.run_id) if opened_by else None


async def _newest_run(api: AirflowApi, view: RepairView) -> tuple[str, DagRunState | None]:
    """The DAG run that was triggered last to repair the day, with its id."""
    opened_by, told = view.records.record.opened_by, view.records.told.repair
    if opened_by is None or told is None:
        return "", None
    run_id = _run_id(view.records.at, told.form)
    return run_id, await api.dag_run(opened_by.dag_id, run_id)


def _run_id(at: Generation, form: str) -> str:
    """The id of the DAG run that a form triggers: sent twice, it is one."""
    return f"forerun-{REPAIR}-{at.day}-{form}"


def _note(action: Action, actor: Actor) -> str:
    return f"Forerun: {action.title}, by {actor.name}"


def diff_head(diff: pa.Table, most: int = _MOST_ROWS) -> DiffHead:
    """The beginning of a difference, as text."""
    names = [name for name in diff.schema.names if name != WEIGHT_COLUMN]
    head = diff.slice(0, most)
    weights = head.column(WEIGHT_COLUMN).to_pylist()
    values = zip(*(head.column(name).to_pylist() for name in names), strict=True)
    added, removed = counts(diff)
    return DiffHead(
        columns=tuple(names),
        rows=tuple(
            (weight, tuple("null" if one is None else str(one) for one in row))
            for weight, row in zip(weights, values, strict=True)
        ),
        added=added,
        removed=removed,
        left=diff.num_rows - head.num_rows,
    )
