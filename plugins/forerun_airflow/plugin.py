"""Registers Forerun with Airflow. Imported by every component, so it imports next to nothing."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from forerun.airflow.links import DayLink, PlanLink
from forerun.airflow.pages import PREFIX, Pages
from forerun.include.machine.pyspark_files import find_trouble, pyspark_version

_LOG = logging.getLogger(__name__)
_PLACE = PREFIX.lstrip("/")  # relative, so that it holds below any address of Airflow
_ICONS = {
    "icon": f"{PREFIX}/assets/icon.svg",
    "icon_dark_mode": f"{PREFIX}/assets/icon-dark.svg",
}


class ForerunPlugin(AirflowPlugin):
    """The pages, where Airflow's UI shows them, and the links that lead there from tasks."""

    name = "forerun"
    operator_extra_links: ClassVar[list[Any]] = [DayLink(), PlanLink()]
    fastapi_apps: ClassVar[list[Any]] = [{"app": Pages(), "url_prefix": PREFIX, "name": "Forerun"}]
    external_views: ClassVar[list[Any]] = [
        {
            "name": "Forerun",
            "href": f"{_PLACE}/",
            "destination": "nav",
            "url_route": "forerun",
            "nav_top_level": True,
            **_ICONS,
        },
        {
            "name": "Forerun",
            "href": f"{_PLACE}/runs/{{DAG_ID}}/{{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "forerun-run",
            **_ICONS,
        },
    ]


if pyspark_version() and (_trouble := find_trouble()):
    _LOG.warning("Forerun cannot submit reports here: %s. %s", _trouble.found, _trouble.todo)
