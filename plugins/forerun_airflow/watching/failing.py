"""Keeps the error of a task that has failed for good where people look first: with the day.

Airflow calls this in the process of the task. The watch over the day sees the record and wakes
whoever is on call; a day that could not be opened has no watch, so its failure is told here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from forerun.airflow.day import OpenedDay, read_opened, report_date, store_uri, utc_now
from forerun.airflow.watching.alerting import page_of, tell
from forerun.airflow.watching.notify import Notify
from forerun.include.reports.spec import ReportSpec
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.state.failure import Failure

_LOG = logging.getLogger(__name__)


def keep_failures(
    tasks: Iterable[BaseOperator], spec: ReportSpec, run: int, day_task: str, notify: Notify = ""
) -> None:
    """Let tasks without which a day is not published keep their error when they have failed for
    good, and take it away when they are started again, beside what the author has named for that.

    ``run`` is the run of the report that they are about, 0 for the task ``day_task`` that opens the
    day. ``notify`` is told of a day that could not be opened.
    """
    keeper = _Keeper(spec, run, day_task, notify)
    for task in tasks:
        task.on_failure_callback = [*task.on_failure_callback, keeper.failed]
        task.on_execute_callback = [*task.on_execute_callback, keeper.started]


class _Keeper:
    def __init__(self, spec: ReportSpec, run: int, day_task: str, notify: Notify) -> None:
        self._spec = spec
        self._run = run
        self._day_task = day_task
        self._notify = notify

    def failed(self, context: Any) -> None:
        """Keep the error. One that cannot be kept is logged: the task has failed anyway."""
        try:
            self._keep(context)
        except ForerunError as error:
            _LOG.warning("the error cannot be kept in the store: %s", error)

    def started(self, context: Any) -> None:
        """Take away the error of an earlier try, which a first try cannot have left."""
        if context["ti"].try_number <= 1:
            return
        from forerun.include.state.failure import forget_failure

        try:
            opened = self._opened(context)
            if opened is not None and not opened.dry_run:
                day = opened.of(self._spec)
                forget_failure(day.store, day.at, context["ti"].task_id)
        except ForerunError as error:
            _LOG.warning("the error of an earlier try stays in the store: %s", error)

    def _keep(self, context: Any) -> None:
        from forerun.include.state.failure import failure_of, record_failure

        ti, opened = context["ti"], self._opened(context)
        run = 0 if opened is None else opened.run_of(self._spec, self._run) or 0
        error = context.get("exception")
        failure = failure_of(
            str(error or ""), task=ti.task_id, run=run, at=utc_now(), tries=ti.try_number
        )
        if opened is None:
            self._tell_unopened(context, failure)
        elif not opened.dry_run:
            day = opened.of(self._spec)
            record_failure(day.store, day.at, failure)

    def _tell_unopened(self, context: Any, failure: Failure) -> None:
        """Tell first: the store may be what has failed. Then Airflow keeps what it would."""
        from forerun.include.oncall.airflow_condition import UNOPENED, UnopenedDay
        from forerun.include.oncall.alerts import unopened_alert
        from forerun.include.state.failure import record_unopened
        from forerun.include.stores.opening import open_store

        if context["ti"].task_id != self._day_task:
            return  # the task that opens the day has told already
        day = report_date(context, self._spec)
        page = page_of(self._spec.name, day.isoformat())
        tell(self._notify, unopened_alert(self._spec, day, failure, utc_now(), page))
        try:
            store = open_store(store_uri(self._spec))
            record_unopened(store, self._spec.name, day.isoformat(), failure)
        except ForerunError:
            left = UnopenedDay(
                report=self._spec.name,
                dag_id=context["ti"].dag_id,
                day=day.isoformat(),
                what=failure.what,
                hint=failure.hint,
            )
            context["ti"].xcom_push(f"{UNOPENED}_{self._spec.name}", left.left)
            raise

    def _opened(self, context: Any) -> OpenedDay | None:
        if context["ti"].task_id == self._day_task:
            return None
        return read_opened(context["ti"].xcom_pull(task_ids=self._day_task))
