"""The page on which a day is told what to do, and what happens when somebody says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import Request

from forerun.airflow.pages.access import Actor
from forerun.airflow.pages.airflow_api import AirflowApi
from forerun.airflow.pages.form_page import FormPage, Refusal
from forerun.airflow.pages.forms import Form
from forerun.include.oncall.day.actions import OF_A_DAY, WITH_REASON, Action, Situation, actions_of
from forerun.include.oncall.night.rows import NightRow


class ActionPages(FormPage[NightRow]):
    """The page of a day's actions, and what answers its forms."""

    template, kinds, then = "act.html", OF_A_DAY, "#told"

    def look(self, row: NightRow, actor: Actor) -> NightRow | None:  # noqa: ARG002 - all may look
        return None if row.records is None else row

    def about(self, view: NightRow, kind: str) -> str:  # noqa: ARG002 - all are about the day
        return view.records.at.generation if view.records else ""

    async def do(
        self, request: Request, view: NightRow, form: Form, actor: Actor, kind: str, reason: str
    ) -> Refusal | None:
        """Write the instruction down and let Airflow begin its tasks again."""
        if view.records is None:
            return Refusal(409, "The day cannot be read.")
        found = [one for one in await self._actions(request, view) if one.kind == kind]
        if not found:
            return Refusal(409, "The day is in another state by now.")
        action = found[0]
        if kind in WITH_REASON and not reason:
            return Refusal(400, "Say why: readers of the result are told.")
        if action.refused and not any(one.form == form.id for one in view.records.told.given):
            return Refusal(409, action.refused)
        await self.tell(view.records.at, action, form, actor, reason)
        return await self.clear(request, view.records.record.opened_by, action, actor)

    async def shown(
        self, request: Request, view: NightRow, new_form: Callable[..., Form]
    ) -> dict[str, Any]:
        token = new_form(generation=self.about(view, "")).token(request)
        return {"actions": await self._actions(request, view), "token": token}

    async def _actions(self, request: Request, row: NightRow) -> tuple[Action, ...]:
        if row.records is None:
            return ()
        opened_by, api = row.records.record.opened_by, AirflowApi(request)
        run = await api.dag_run(opened_by.dag_id, opened_by.run_id) if opened_by else None
        return actions_of(
            Situation(records=row.records, missing=row.missing, dag_run=run, now=self._clock())
        )
