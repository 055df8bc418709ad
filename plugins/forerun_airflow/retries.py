"""How often the tasks of a report are tried again, and what the deadline must allow for that.

Every task of a report may be repeated: what an earlier try decided is found again, and what it left
half done counts for nothing. So they are tried again by default, soon: a store or a cluster that is
away for a moment must not cost a day.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator

from forerun.include.reports.run_policy import Retries

RETRIES = 2
RETRY_DELAY = timedelta(seconds=30)
_OF_AIRFLOW = timedelta(seconds=300)
"""Airflow's own delay, where neither the author nor the deployment has said anything."""
_LONGEST_S = 24 * 3600.0
"""Airflow waits no longer than a day between two tries."""


class RepeatableOperator(BaseOperator):
    """A task of a report: tried again twice, after half a minute each, unless somebody says
    otherwise: the author (``retries`` and ``retry_delay`` of the DAG, the group, ``default_args``),
    else the deployment (``default_task_retries`` and ``default_task_retry_delay``)."""

    retries: int | None
    retry_delay: timedelta

    def __init__(
        self,
        *,
        retries: int | None = None,
        retry_delay: timedelta | float | None = None,
        **kwargs: Any,
    ) -> None:
        given = {"retries": retries, "retry_delay": retry_delay}
        super().__init__(**kwargs, **{k: v for k, v in given.items() if v is not None})
        if retries is None and not self.retries:
            self.retries = RETRIES
        if retry_delay is None and self.retry_delay == _OF_AIRFLOW:
            self.retry_delay = RETRY_DELAY


def retries_of(task: BaseOperator, task_id: str) -> Retries:
    """Return how a task of the same DAG is tried again, as it is set now, whoever has set it.

    Each pause is the longest that Airflow may make of it: with exponential backoff it draws up to
    twice the delay.
    """
    other = task.dag.get_task(task_id)
    count, factor = other.retries or 0, other.retry_exponential_backoff or 1.0
    base = other.retry_delay.total_seconds()
    most = other.max_retry_delay.total_seconds() if other.max_retry_delay else _LONGEST_S
    if factor == 1.0:
        return Retries(count=count, pauses_s=count * base)
    pauses = (min(2 * max(1.0, base * factor**tried), most, _LONGEST_S) for tried in range(count))
    return Retries(count=count, pauses_s=sum(pauses))
