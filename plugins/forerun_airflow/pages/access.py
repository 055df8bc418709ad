"""Decide who may see what, by Airflow's own login and its rights on DAGs.

Airflow mounts the apps of plugins without a look at who asks, so every route of the pages depends
on something of this module. It is the one place that knows Airflow's internal security module.
"""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import get_user, requires_access_dag
from fastapi import Depends, Request
from starlette.responses import RedirectResponse

_USER = Depends(get_user)


class UnknownError(Exception):
    """There is no such page, or whoever asks may not know that there is."""


def readable_dags(user: Any = _USER) -> frozenset[str]:
    """The ids of the DAGs that whoever asks may read. Answers 401 to who is not logged in."""
    found = get_auth_manager().get_authorized_dag_ids(user=user, method="GET")
    return frozenset(map(str, found))


def changeable_dags(user: Any = _USER) -> frozenset[str]:
    """The ids of the DAGs that whoever asks may change: those that actions are shown for."""
    found = get_auth_manager().get_authorized_dag_ids(user=user, method="PUT")
    return frozenset(map(str, found))


class Actor:
    """Whoever asks, as somebody who may want to change something."""

    def __init__(self, request: Request, user: Any = _USER) -> None:
        self._request = request
        self._user = user
        self.id = str(user.get_id())
        self.name = str(user.get_name())

    def may_read(self, dag_id: str) -> bool:
        """Return whether the actor may see a DAG."""
        return dag_id in readable_dags(self._user)

    def require(self, dag_id: str) -> None:
        """Answer 403 unless the actor may clear tasks of a DAG by Airflow's API."""
        check = requires_access_dag("PUT", DagAccessEntity.TASK_INSTANCE, param_dag_id=dag_id)
        check(self._request, self._user)

    def require_trigger(self, dag_id: str) -> None:
        """Answer 403 unless the actor may trigger a DAG by Airflow's API."""
        check = requires_access_dag("POST", DagAccessEntity.RUN, param_dag_id=dag_id)
        check(self._request, self._user)


def to_login(request: Request) -> RedirectResponse:
    """Airflow's login page, which leads back to the page that was asked for."""
    url = get_auth_manager().get_url_login(next_url=str(request.url))
    return RedirectResponse(str(url), status_code=303)
