"""Links from the tasks of a report to Forerun's pages.

They are registered by the plugin for our operators. So the API server makes them when a task is
looked at, whatever state it is in: a task that waits for sources has them, too.
"""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from airflow.configuration import conf
from airflow.sdk import BaseOperatorLink

from forerun.airflow.pages import PREFIX


class DayLink(BaseOperatorLink):
    """To the day that the task's DAG run is about."""

    name = "Forerun: day"
    page: ClassVar[str] = "day"

    @property
    def operators(self) -> list[type]:
        """The operators of reports; imported by the API server alone, which asks for them."""
        from forerun.airflow.tasks.open import OpenDay
        from forerun.airflow.tasks.plan import PlanUnits
        from forerun.airflow.tasks.publish import CheckResult, PublishReport
        from forerun.airflow.tasks.submit import SubmitUnits
        from forerun.airflow.tasks.wait import WaitForUnits
        from forerun.airflow.watching.watch import WatchDay

        return [
            OpenDay, WaitForUnits, PlanUnits, SubmitUnits, CheckResult, PublishReport, WatchDay
        ]  # fmt: skip

    def get_link(self, operator: Any, *, ti_key: Any) -> str:  # noqa: ARG002 - Airflow's signature
        root = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
        place = f"{quote(ti_key.dag_id, safe='')}/{quote(ti_key.run_id, safe='')}"
        asked = urlencode({"task": ti_key.task_id, "page": self.page})
        return f"{root}{PREFIX}/runs/{place}?{asked}"


class PlanLink(DayLink):
    """To the plan of that day."""

    name = "Forerun: plan"
    page: ClassVar[str] = "plan"
