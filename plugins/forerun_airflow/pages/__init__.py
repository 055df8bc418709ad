"""Forerun's pages in Airflow's UI: the night, a day, a plan. They only read, but for the actions on
a day, each of which is confirmed by a form.

What they show is read by :mod:`forerun.include.oncall`; here it is asked who may see it, and drawn.
The pages have no script, and need nothing from the net.
"""

from __future__ import annotations

from typing import Any

PREFIX = "/forerun"
"""Where the pages lie below Airflow's own address."""
AIRFLOW = "forerun.airflow"
"""The key of a request's scope that has the API server's own application."""


class Pages:
    """The pages as an ASGI application, made when it is first asked: every component of Airflow
    imports the plugin, and only the API server serves pages."""

    def __init__(self) -> None:
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from forerun.airflow.pages.app import make_app

            self._app = make_app()
        await self._app({**scope, AIRFLOW: scope.get("app")}, receive, send)
