"""The deadline itself, by Airflow's own Deadline Alerts: whatever has become of the day's tasks.

Airflow counts one time for all days from a DAG run's logical date, the start of the day; clocks
that change make that an hour early or late, and a calendar has later deadlines for some days. So it
is asked an hour before the earliest, and the rest is waited for here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineReference

from forerun.airflow.connections import in_thread
from forerun.airflow.day import store_uri, utc_now
from forerun.airflow.versions import deadline_alert
from forerun.airflow.watching.alerting import page_of, tell
from forerun.airflow.watching.notify import Notify, for_triggerer
from forerun.include.reports.calendar import DueOn, due_time
from forerun.include.reports.period import Period
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.clock import parse_zone
from forerun.planner.contract.codec import from_json, to_json

_AHEAD = timedelta(hours=1)


def deadline_alerts(*specs: ReportSpec, notify: Notify) -> list[Any]:
    """The deadlines of reports, for the option ``deadline`` of the DAG that runs them. ``notify``
    is the dotted path of a function, called with an :class:`forerun.include.oncall.alerts.Alert`,
    or a notifier of Airflow. The triggerer calls it, so its module may not lie in the folder of
    DAGs.

    (``airflow dags test`` of Airflow 3.3 cannot end a DAG run of a DAG that has any.)
    """
    told = for_triggerer(notify)
    return [
        deadline_alert(
            reference=DeadlineReference.DAGRUN_LOGICAL_DATE,
            interval=timedelta(seconds=spec.due_after_s[0]) - _AHEAD,
            callback=AsyncCallback(
                "forerun.airflow.watching.deadlines.at_deadline",
                kwargs={
                    "report": spec.name,
                    "timezone": spec.timezone,
                    "deadline": spec.deadline,
                    "calendar": [to_json(due) for due in spec.calendar],
                    "period": to_json(spec.period, tagged=True) if spec.period else None,
                    "store": store_uri(spec),
                    "notify": told,
                },
            ),
            name=f"{spec.name} due",
        )
        for spec in specs
    ]


async def at_deadline(
    report: str,
    timezone: str,
    deadline: str,
    store: str,
    notify: str | dict[str, Any],
    context: dict[str, Any],
    calendar: Sequence[dict[str, Any]] = (),
    period: dict[str, Any] | None = None,
) -> None:
    """Wait for the deadline of the day of a DAG run, and tell that it is missed if it is. A
    backfill, and a day that was opened after its deadline, miss none. (A DAG that was read before
    reports had calendars and periods gives none.)"""
    run = context["dag_run"]
    if run["run_type"] == "backfill" or not run["logical_date"]:
        return
    zone = parse_zone(timezone)
    day = datetime.fromisoformat(run["logical_date"]).astimezone(zone).date()
    if period is not None:
        day = from_json(Period, period, "period").bounds(day)[1]
    exceptions = [from_json(DueOn, due, "calendar") for due in calendar]
    due = due_time(deadline, exceptions, day).on(day, zone)
    while (left := (due - utc_now()).total_seconds()) > 0:
        await asyncio.sleep(min(left, 60.0))
    await in_thread(_tell_if_missed, report, day.isoformat(), store, notify)


def _tell_if_missed(report: str, day: str, store_root: str, notify: str | dict[str, Any]) -> None:
    from forerun.include.oncall.alerts import alert_of, read_watched
    from forerun.include.stores.opening import open_store

    store, now = open_store(store_root), utc_now()
    watched = read_watched(store, report, day, now)
    if watched is None or watched.over or not watched.standing.deadline_counts:
        return
    page = page_of(report, day)
    tell(notify, alert_of(store, watched, now, kind="missed", page=page))
