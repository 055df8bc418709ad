"""Links on tasks. Airflow computes them on the worker, right after the task has run."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperatorLink


class PlanLink(BaseOperatorLink):
    """To the plan that the run follows."""

    name = "Plan"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:  # noqa: ARG002 - Airflow's signature
        return str(getattr(operator, "plan_uri", ""))


class ResultLink(BaseOperatorLink):
    """To the published version."""

    name = "Result"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:  # noqa: ARG002 - Airflow's signature
        return str(getattr(operator, "result_uri", ""))
