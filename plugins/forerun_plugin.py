"""Registers Forerun with Airflow. Imported by every component, so it imports next to nothing."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from forerun_airflow.links import PlanLink, ResultLink


class ForerunPlugin(AirflowPlugin):
    """Links from a task to the plan it follows and to the result it published."""

    name = "forerun"
    operator_extra_links: ClassVar[list[Any]] = [PlanLink(), ResultLink()]
