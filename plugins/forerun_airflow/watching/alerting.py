"""Tells people: by what the author names (:mod:`forerun.airflow.watching.notify`), and always in
the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.configuration import conf

from forerun.airflow.day import read_opened, store_uri, utc_now
from forerun.airflow.pages import PREFIX
from forerun.airflow.watching.notify import Notify, send
from forerun.include.reports.spec import ReportSpec
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.oncall.alerts import Alert

_LOG = logging.getLogger(__name__)


def page_of(report: str, day: str) -> str:
    """The address of a day's page, below that of Airflow."""
    base = conf.get("api", "base_url", fallback="").rstrip("/")
    return f"{base}{PREFIX}/days/{quote(report)}/{quote(day)}"


def tell(notify: Notify | Mapping[str, Any], alert: Alert) -> None:
    """Log an alert, and tell it to what the author names. Raises what that raises."""
    _LOG.log(logging.WARNING if alert.kind == "ticket" else logging.ERROR, "%s", alert.text)
    send(notify, alert)


def raise_ticket(spec: ReportSpec, day: str, notify: Notify, what: str) -> None:
    """Tell what is for working hours. A failure to tell is logged, and changes nothing."""
    from forerun.include.oncall.alerts import alert_of, read_watched
    from forerun.include.stores.opening import open_store

    try:
        store, now = open_store(store_uri(spec)), utc_now()
        watched = read_watched(store, spec.name, day, now)
        if watched is not None:
            page = page_of(spec.name, day)
            tell(notify, alert_of(store, watched, now, kind="ticket", page=page, what=what))
    except ForerunError as error:
        _LOG.warning("%s, and nobody can be told: %s", what, error)


class EarlyRunTicket:
    """Called by Airflow when a task of an early run has failed for good. That wakes nobody: the
    final run does its work."""

    def __init__(self, spec: ReportSpec, run: int, day_task: str, notify: Notify) -> None:
        self._spec = spec
        self._run = run
        self._day_task = day_task
        self._notify = notify

    def __call__(self, context: Any) -> None:
        record = context["ti"].xcom_pull(task_ids=self._day_task)
        day, task = read_opened(record), context["ti"].task_id
        if day is None:
            return
        what = f"{task} of early run {self._run} has failed; a later run does its work"
        raise_ticket(self._spec, day.day, self._notify, what)
