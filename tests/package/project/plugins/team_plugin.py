"""A plugin of the team's."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin


class TeamPlugin(AirflowPlugin):
    name = "team"
