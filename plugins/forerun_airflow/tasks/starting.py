"""Lets the wait before an early run end when the run's trigger fires.

A trigger is never worth a report: whatever goes wrong with it is a warning in the log, and the
run's latest time holds.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING

from forerun.airflow.assets import ASSET_POLL
from forerun.airflow.day import OpenedDay, utc_now
from forerun.airflow.tasks.triggers import EarlyStartTrigger, TimeTrigger
from forerun.include.reports.sources.start_when import WithGroup
from forerun.include.reports.spec import encode_report
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.days.handle import Day
    from forerun.include.sources.completeness import Events


def has_trigger(day: Day, opened: OpenedDay, run: int) -> bool:
    """Return whether a run may start before its time: not on a day that goes straight to its end,
    is over, or only tried."""
    return day.spec.policy.runs[run - 1].when is not None and opened.duty.moves


def starts_early(day: Day, run: int, events: Events, log: logging.Logger) -> bool:
    """Return whether the trigger of a run has fired. Its start is then in the day's schedule."""
    from forerun.include.times.early_start import EarlyStart

    now = utc_now()
    try:
        why = EarlyStart(day, run).why(now, events)
    except ForerunError as error:
        log.warning("run %d keeps its latest time for now: %s", run, error.message)
        return False
    if not why:
        return False
    start_now(day, run, why, log)
    return True


def start_now(day: Day, run: int, why: str, log: logging.Logger) -> None:
    """Start a run before its time, and write that into the schedule of its day."""
    from forerun.include.times.early_start import start_early

    log.info("run %d starts early: %s", run, why)
    try:
        start_early(day, run, utc_now(), why)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not cost the run
        log.warning("it is planned as if it started at its latest time: %s", error)


def until_start(
    day: Day, run: int, latest: datetime, unless: str, poll: float
) -> TimeTrigger | EarlyStartTrigger:
    """What waits for a run's trigger, for its latest time, and for what people tell the day."""
    from forerun.include.times.early_start import EarlyStart

    now = utc_now()
    by_clock = EarlyStart(day, run).by_clock(now)
    until = min(latest, by_clock) if by_clock else latest
    if day.spec.awaits(run):
        until = min(until, now + ASSET_POLL)
    with_group = isinstance(day.spec.policy.runs[run - 1].when, WithGroup)
    if by_clock or with_group or day.spec.awaits(run):
        return TimeTrigger(until=until.isoformat(), poll=poll, unless=unless)
    return EarlyStartTrigger(
        report=encode_report(day.spec).decode(),
        day=day.at.day,
        generation=day.at.generation,
        run=run,
        until=until.isoformat(),
        poll=poll,
        unless=unless,
    )
