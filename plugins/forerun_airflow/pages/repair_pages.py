"""The page on which a published day is repaired: what changed, what it takes, which rows differ.

Two steps, each confirmed by a form: a DAG run computes the repair, and its task ``publish`` is let
go on once somebody has read the difference. As with all actions the store is told first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from fastapi import Request

from forerun.airflow.day import REPAIR
from forerun.airflow.pages.access import Actor
from forerun.airflow.pages.airflow_api import AirflowApi, AirflowRefusedError
from forerun.airflow.pages.form_page import FormPage, Refusal, note_of
from forerun.airflow.pages.forms import Form
from forerun.include.oncall.day.actions import DagRunState
from forerun.include.oncall.night.rows import NightRow
from forerun.include.oncall.repairs import RepairView, prepare_action, publish_action, read_repair
from forerun.include.state.layout import Generation
from forerun.include.verify.row_diff import counts
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

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


class RepairPages(FormPage[RepairView]):
    """The page of a day's repair, and what answers its two forms."""

    template, kinds, then = "repair.html", ("repair", "publish"), "/repair"

    def look(self, row: NightRow, actor: Actor) -> RepairView | None:
        actor.require_trigger(row.report.dag_id)
        if (records := row.records) is None:
            return None
        reader, now = self._pages.reader, self._clock()
        look = partial(read_repair, reader.store, records, now, actor.may_read)
        return reader.ask(look, _PATIENCE_S)

    def about(self, view: RepairView, kind: str) -> str:
        computed = view.computed if kind == "publish" else None
        return computed.at.generation if computed else view.about

    async def do(
        self,
        request: Request,
        view: RepairView,
        form: Form,
        actor: Actor,
        kind: str,
        reason: str,  # noqa: ARG002 - a repair needs none
    ) -> Refusal | None:
        step = self._publish if kind == "publish" else self._prepare
        return await step(request, view, form, actor)

    async def _prepare(
        self, request: Request, view: RepairView, form: Form, actor: Actor
    ) -> Refusal | None:
        at, api = view.records.at, AirflowApi(request)
        action = prepare_action(view, (await _newest_run(api, view))[1])
        if action.refused and not any(one.form == form.id for one in view.records.told.given):
            return Refusal(409, action.refused)
        await self.tell(at, action, form, actor)
        opened_by = view.records.record.opened_by
        if opened_by is None:
            return None
        try:
            only = {"reports": [at.report]} if opened_by.group else {}
            conf, note = {"report_date": at.day, "mode": REPAIR, **only}, note_of(action, actor)
            await api.trigger(opened_by.dag_id, _run_id(at, form.id), conf, note)
        except AirflowRefusedError as error:
            return Refusal(409, f"It is written down, but no DAG run has begun. {error}")
        return None

    async def _publish(
        self, request: Request, view: RepairView, form: Form, actor: Actor
    ) -> Refusal | None:
        action = publish_action(view, await _opener(AirflowApi(request), view))
        if view.computed is None or action is None:
            return Refusal(409, "No repair is computed that could be published.")
        if any(one.form == form.id for one in view.computed.told.given):
            return None
        if action.refused:
            return Refusal(409, action.refused)
        await self.tell(view.computed.at, action, form, actor)
        return await self.clear(request, view.computed.opened_by, action, actor)

    async def shown(
        self, request: Request, view: RepairView, new_form: Callable[..., Form]
    ) -> dict[str, Any]:
        api, computed = AirflowApi(request), view.computed
        run_id, run = await _newest_run(api, view)
        publish = new_form(generation=computed.at.generation).token(request) if computed else ""
        return {
            "view": view,
            "run_id": run_id,
            "run": run,
            "store": self._pages.reader.store.root,
            "prepare": prepare_action(view, run),
            "publish": publish_action(view, await _opener(api, view)),
            "head": diff_head(computed.diff) if computed and computed.diff is not None else None,
            "prepare_token": new_form(generation=view.about).token(request),
            "publish_token": publish,
        }


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
