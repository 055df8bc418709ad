"""Airflow's simple auth manager, with one right less."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager


class OneDagLess(SimpleAuthManager):
    """The user ``guest`` may not see the DAG ``hidden``."""

    def is_authorized_dag(self, *, method, user, access_entity=None, details=None):
        if user.username == "guest" and details is not None and details.id == "hidden":
            return False
        return super().is_authorized_dag(
            method=method, user=user, access_entity=access_entity, details=details
        )
