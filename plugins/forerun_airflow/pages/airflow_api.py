"""Airflow's public REST API, asked from inside the API server as whoever sent the request.

What the pages change in Airflow they change by it and by nothing else. So the rights, the checks
and the audit log are Airflow's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx
from fastapi import Request

from forerun.airflow.pages import AIRFLOW
from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.airflow_condition import (
    LATELY,
    UNOPENED,
    AirflowCondition,
    KnownDag,
    condition_of,
)
from forerun.include.oncall.day.actions import OVER, DagRunState
from forerun.planner.errors import ForerunError

_CREDENTIALS = ("authorization", "cookie")
_PAGE = 100
"""So many entries of a list are asked for at once."""


class AirflowRefusedError(ForerunError):
    """Airflow has not done what it was asked; the message is its own."""

    code = "airflow"

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message, hint="Do it in Airflow's own UI, or ask again.")
        self.status = status


@dataclass(frozen=True, slots=True)
class TriggeredRun:
    """A DAG run that a page has triggered: its id, its state, and what it was triggered with."""

    run_id: str
    state: str
    conf: dict[str, Any]

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def days(self) -> tuple[str, ...]:
        """Return the days that it computes."""
        return tuple(self.conf.get("days") or filter(None, [self.conf.get("report_date")]))


class AirflowApi:
    """The API as the sender of a request sees it."""

    def __init__(self, request: Request) -> None:
        self._app = request.scope.get(AIRFLOW)
        known = request.headers
        self._headers = {name: known[name] for name in _CREDENTIALS if name in known}

    async def condition(self) -> AirflowCondition:
        """Return how Airflow is, as far as whoever asks may know it. Where it does not say, that
        is said: a page is not lost for it.

        Airflow is asked for the DAGs with something wrong alone: to list all of them would take
        longer than all else on a page.
        """
        now = utc_now()
        try:
            health, errors, left, *dags = await asyncio.gather(
                self._ask("GET", "monitor/health"),
                self._import_errors(),
                self._unopened(now),
                self._listed("dags?exclude_stale=false&paused=true", "dags"),
                self._listed("dags?exclude_stale=false&has_import_errors=true", "dags"),
            )
        except AirflowRefusedError as error:
            return AirflowCondition(now=now, unknown=error.message)
        traces = {(one["bundle_name"], one["filename"]): one["stack_trace"] for one in errors}
        known = {one["dag_id"]: _known(one) for listed in dags for one in listed}
        return condition_of(now, health, tuple(known.values()), traces, left)

    async def dag_run(self, dag_id: str, run_id: str) -> DagRunState | None:
        """The state of a DAG run and its tasks; None if Airflow does not know it or its DAG."""
        at = _place(dag_id, run_id)
        try:
            run = await self._ask("GET", at)
            listed = await self._listed(f"{at}/taskInstances?", "task_instances")
        except AirflowRefusedError as error:
            if error.status == 404:
                return None
            raise
        tasks = {one["task_id"]: one["state"] or "" for one in listed}
        halt = (await self.condition()).halt_of(dag_id)
        return DagRunState(state=str(run["state"]), tasks=tasks, halt=halt)

    async def clear(self, dag_id: str, run_id: str, task_ids: tuple[str, ...], note: str) -> None:
        """Let tasks of a DAG run begin again, with a note that says who wanted it."""
        asked = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": list(task_ids),
            "only_failed": False,
            "prevent_running_task": True,
            "note": note,
        }
        await self._ask("POST", f"dags/{quote(dag_id, safe='')}/clearTaskInstances", asked)

    async def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any], note: str) -> None:
        """Begin a DAG run by hand, once: one that is there already is as good."""
        asked = {"dag_run_id": run_id, "logical_date": None, "conf": conf, "note": note}
        try:
            await self._ask("POST", f"dags/{quote(dag_id, safe='')}/dagRuns", asked)
        except AirflowRefusedError as error:
            if error.status != 409:
                raise

    async def runs_of(self, dag_id: str, prefix: str, newest: int = 20) -> list[TriggeredRun]:
        """The newest DAG runs of a DAG whose id begins so, with what they were triggered for."""
        at = f"dags/{quote(dag_id, safe='')}/dagRuns"
        asked = f"run_id_prefix_pattern={quote(prefix)}&order_by=-run_after&limit={newest}"
        page = await self._ask("GET", f"{at}?{asked}")
        return [
            TriggeredRun(
                run_id=one["dag_run_id"], state=str(one["state"]), conf=dict(one["conf"] or {})
            )
            for one in page["dag_runs"]
            if one["dag_run_id"].startswith(prefix)
        ]

    async def _import_errors(self) -> list[dict[str, Any]]:
        """Return the errors of files that cannot be imported; none where whoever asks may not see
        any: that such a file is broken is known of its DAGs, too."""
        try:
            return await self._listed("importErrors?", "import_errors")
        except AirflowRefusedError as error:
            if error.status == 403:
                return []
            raise

    async def _unopened(self, now: datetime) -> list[tuple[str, Any]]:
        """Return what tasks have left of days that could not be opened lately, with their DAGs;
        nothing where whoever asks may not see such entries."""
        at = "dags/~/dagRuns/~/taskInstances/~/xcomEntries"
        since = (now - LATELY).isoformat()
        # Airflow 3.1 knows no prefixes, and leaves out no entry by a filter that it does not
        # know; in a pattern _ is any sign.
        asked = f"xcom_key_pattern={quote(UNOPENED + '%')}&run_after_gte={quote(since)}"
        try:
            listed = await self._listed(f"{at}?{asked}", "xcom_entries")
        except AirflowRefusedError as error:
            if error.status == 403:
                return []
            raise
        ours = (_entry(one) for one in listed if one["key"].startswith(UNOPENED))
        found = await asyncio.gather(*(self._ask("GET", at) for at in ours))
        return [(one["dag_id"], one["value"]) for one in found]

    async def _listed(self, path: str, name: str) -> list[dict[str, Any]]:
        """Return all of a list, page by page."""
        found: list[dict[str, Any]] = []
        while True:
            page = await self._ask("GET", f"{path}&limit={_PAGE}&offset={len(found)}")
            found += page[name]
            if not page[name] or len(found) >= page["total_entries"]:
                return found

    async def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        if self._app is None:
            raise AirflowRefusedError(503, "These pages are served without an Airflow.")
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://airflow", headers=self._headers
        ) as client:
            answer = await client.request(method, f"/api/v2/{path}", json=body)
        if answer.is_success:
            return dict(answer.json())
        said = answer.json() if "json" in answer.headers.get("content-type", "") else {}
        raise AirflowRefusedError(
            answer.status_code, f"Airflow answers {answer.status_code}: {said.get('detail', '')}"
        )


def _known(dag: Mapping[str, Any]) -> KnownDag:
    return KnownDag(
        dag_id=dag["dag_id"],
        file=(dag["bundle_name"], dag["relative_fileloc"]),
        is_paused=dag["is_paused"],
        is_stale=dag["is_stale"],
        is_broken=dag["has_import_errors"],
    )


async def airflow_condition(request: Request) -> AirflowCondition:
    """Return how Airflow is, for a page whose handler runs in a thread."""
    return await AirflowApi(request).condition()


def _entry(listed: Mapping[str, Any]) -> str:
    task, key = quote(listed["task_id"], safe=""), quote(listed["key"], safe="")
    at = _place(listed["dag_id"], listed["run_id"])
    return f"{at}/taskInstances/{task}/xcomEntries/{key}?deserialize=true"


def _place(dag_id: str, run_id: str) -> str:
    return f"dags/{quote(dag_id, safe='')}/dagRuns/{quote(run_id, safe='')}"
