"""Chooses the times of a day from its tasks, and again before each run.

A schedule is never worth a report: whatever goes wrong here is a warning in the log, and the times
that held before hold on.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from forerun.airflow.day import OpenedDay, utc_now
from forerun.airflow.tasks.triggers import SlotTrigger
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import encode_report
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.days.handle import Day
    from forerun.include.days.run_times import RunTimes

SOON = timedelta(minutes=5)
"""A run that is moved by less than this starts now: a move costs a look of its own."""


def is_choosing(day: Day, opened: OpenedDay) -> bool:
    """Return whether the times of a day are chosen as it goes on: not those of a day that goes
    straight to its end, is over, or is only tried."""
    return day.spec.policy.choose is not None and opened.duty.moves and not opened.dry_run


def times_of(day: Day, opened: OpenedDay) -> RunTimes:
    """Return the times of a day's runs, as decided last."""
    from forerun.include.days.run_times import own_times, read_times

    return read_times(day) if opened.duty.moves else own_times(day)


def choose_again(
    day: Day,
    before: int,
    retries: Retries,
    log: logging.Logger,
    *,
    complete: bool = False,
    cluster: Cluster | None = None,
    group: str = "",
) -> RunTimes:
    """Choose the times from slot ``before`` on, by what is known now; else those that held. Of a
    report of a ``cluster`` as a part of its night, and of one of a ``group`` for all of it."""
    from forerun.include.days.run_times import read_times
    from forerun.include.times.choosing import Decision, choose_day

    asked = Decision(
        before=before,
        now=utc_now(),
        retries=retries,
        complete=complete,
        cluster=cluster,
        group=group,
    )
    try:
        times = choose_day(day, asked)
    except ForerunError as error:
        log.warning("no other times are chosen: %s", error.message)
        return read_times(day)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not cost the report
        log.warning("no other times are chosen: %r", error)
        return read_times(day)
    said = times.schedule.why if times.schedule else ""
    log.info("schedule %d: %s (%s)", times.number, shown(times), said)
    return times


def shown(times: RunTimes) -> str:
    """The times of the runs that a day has, for logs."""
    slots = enumerate(times.starts, 1)
    return ", ".join(f"run {run} at {at:%Y-%m-%d %H:%M}Z" for run, at in slots if at is not None)


def is_complete(day: Day) -> bool:
    """Return whether all sources of a day are in; those that wait for an asset are taken not to be,
    as only the final run's wait is told of its events."""
    from forerun.include.reports.spec import AssetEvent
    from forerun.include.sources.completeness import find_missing

    if any(isinstance(source.complete_when, AssetEvent) for source in day.spec.sources):
        return False
    try:
        return not find_missing(day.spec, day.date, utc_now())
    except ForerunError:
        return False


def until(day: Day, at: datetime, unless: str, poll: float, **watched: Any) -> SlotTrigger:
    """Return the trigger that waits for the time of a run, for a newer schedule, and for what
    people tell the day."""
    from forerun.include.days.run_times import next_schedule

    return SlotTrigger(
        report=encode_report(day.spec).decode(),
        day=day.at.day,
        until=at.isoformat(),
        poll=poll,
        unless=unless,
        schedule=next_schedule(day),
        **watched,
    )
