"""Who may see what: Airflow's own login and its rights on DAGs.

Airflow mounts the apps of plugins without a look at who asks, so every route of the pages depends
on something of this module. It is the one place that knows Airflow's internal security module.
"""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, Request
from starlette.responses import RedirectResponse

_USER = Depends(get_user)


def readable_dags(user: Any = _USER) -> frozenset[str]:
    """The ids of the DAGs that whoever asks may read. Answers 401 to who is not logged in."""
    found = get_auth_manager().get_authorized_dag_ids(user=user, method="GET")
    return frozenset(map(str, found))


def to_login(request: Request) -> RedirectResponse:
    """Airflow's login page, which leads back to the page that was asked for."""
    url = get_auth_manager().get_url_login(next_url=str(request.url))
    return RedirectResponse(str(url), status_code=303)
