"""Airflow's public REST API, asked from inside the API server as whoever sent the request.

What the pages change in Airflow they change by it and by nothing else. So the rights, the checks
and the audit log are Airflow's own.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
from fastapi import Request

from forerun.airflow.pages import AIRFLOW
from forerun.include.oncall.actions import DagRunState
from forerun.planner.errors import ForerunError

_CREDENTIALS = ("authorization", "cookie")
_PAGE = 100
"""So many tasks are asked for at once."""


class AirflowRefusedError(ForerunError):
    """Airflow has not done what it was asked; the message is its own."""

    code = "airflow"

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message, hint="Do it in Airflow's own UI, or ask again.")
        self.status = status


class AirflowApi:
    """The API as the sender of a request sees it."""

    def __init__(self, request: Request) -> None:
        self._app = request.scope[AIRFLOW]
        known = request.headers
        self._headers = {name: known[name] for name in _CREDENTIALS if name in known}

    async def dag_run(self, dag_id: str, run_id: str) -> DagRunState | None:
        """The state of a DAG run and its tasks; None if Airflow does not know it or its DAG."""
        at = _place(dag_id, run_id)
        try:
            dag = await self._ask("GET", f"dags/{quote(dag_id, safe='')}")
            run = await self._ask("GET", at)
            tasks = await self._tasks(f"{at}/taskInstances")
        except AirflowRefusedError as error:
            if error.status == 404:
                return None
            raise
        return DagRunState(state=str(run["state"]), paused=bool(dag["is_paused"]), tasks=tasks)

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

    async def _tasks(self, path: str) -> dict[str, str]:
        found: dict[str, str] = {}
        while True:
            page = await self._ask("GET", f"{path}?limit={_PAGE}&offset={len(found)}")
            found |= {one["task_id"]: one["state"] or "" for one in page["task_instances"]}
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return found

    async def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
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


def _place(dag_id: str, run_id: str) -> str:
    return f"dags/{quote(dag_id, safe='')}/dagRuns/{quote(run_id, safe='')}"
