"""The DAG runs of a report: one at the start of each day, or of each period."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

from airflow.sdk import CronTriggerTimetable

from forerun.include.reports.calendar import WEEKDAYS
from forerun.include.reports.period import Monthly, Period, PeriodsFrom, Weekly
from forerun.include.reports.spec import ReportSpec, SpecError
from forerun.include.reports.values.clock import parse_day

AS_REPORT = "report"
"""The schedule of the report itself: a DAG run at the start of each day, or of each period."""
_DAILY = (AS_REPORT, "daily")
_CRON_FIELDS = 5
_NICKNAMES = {
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def timetable_of(spec: ReportSpec, schedule: Any) -> Any:
    """Return the schedule of a report's DAG as Airflow takes it.

    A DAG run is about the day in which it begins, or about the period that has this day: it is
    created when that begins, so that early runs can happen. A timetable object is taken as it is:
    whoever writes one knows what its runs are about.

    Raises :class:`SpecError` for a schedule that the report cannot serve.
    """
    if spec.period is None:
        _check_daily(schedule)
        own = schedule in _DAILY if isinstance(schedule, str) else False
        return CronTriggerTimetable("0 0 * * *", timezone=spec.timezone) if own else schedule
    _check_periodic(spec, spec.period, schedule)
    return _start_of_period(spec, spec.period) if schedule == AS_REPORT else schedule


def _start_of_period(spec: ReportSpec, period: Period) -> Any:
    if isinstance(period, PeriodsFrom):
        # Not that of airflow.sdk: Airflow 3.3 writes it in a form that it cannot read back.
        from airflow.timetables.events import EventsTimetable

        starts = [
            datetime.combine(parse_day(text), time(), tzinfo=spec.zone).astimezone(UTC)
            for text in period.dates[:-1]
        ]
        return EventsTimetable(starts, description=f"the start of each period of {spec.name}")
    return CronTriggerTimetable(f"0 0 {_days_of(period)}", timezone=spec.timezone)


def _days_of(period: Weekly | Monthly) -> str:
    """Return the last three fields of cron for the days on which the periods begin."""
    if isinstance(period, Weekly):
        return f"* * {(WEEKDAYS.index(period.starts) + 1) % 7}"
    every = {1: "*", 12: "1"}.get(period.months, f"*/{period.months}")
    return f"1 {every} *"


def _check_daily(schedule: Any) -> None:
    if isinstance(schedule, timedelta) and schedule != timedelta(days=1):
        raise _not_daily(f"every {schedule}")
    if not isinstance(schedule, str) or schedule in (*_DAILY, "@daily", "@once", "@continuous"):
        return
    fields = schedule.split()
    if len(fields) != _CRON_FIELDS:
        if schedule.startswith("@"):
            raise _not_daily(schedule)
        return  # Airflow says what is wrong with it
    minute, hour, day, month, weekday = fields
    often = not (minute.isdigit() and hour.isdigit())
    seldom = month != "*" or day not in ("*", "?") or weekday.isalnum()
    if often or seldom:
        raise _not_daily(schedule)


def _not_daily(schedule: str) -> SpecError:
    return SpecError(
        f"the schedule {schedule} is not daily, and a report is about the day of its DAG run",
        hint='Leave schedule out, or name the days, such as "0 0 * * 1-5". A report over a week or '
        "a month says so itself: period=Weekly() or Monthly(). If one day is what is meant, pass a "
        "timetable: CronTriggerTimetable(...).",
    )


def _check_periodic(spec: ReportSpec, period: Period, schedule: Any) -> None:
    """Refuse what does not begin a DAG run for each period, on its first day."""
    if schedule is None or schedule in (AS_REPORT, "@once"):
        return
    if not isinstance(schedule, str | timedelta):
        return
    fits = False
    if isinstance(schedule, str) and not isinstance(period, PeriodsFrom):
        fields = _NICKNAMES.get(schedule, schedule).lower().split()
        minute, hour, *days = fields if len(fields) == _CRON_FIELDS else ("", "")
        once = minute.isdigit() and hour.isdigit()
        fits = once and _named(days) == _named(_days_of(period).split())
    if not fits:
        raise SpecError(
            f"the schedule {schedule} does not begin each period of {spec.name} ({period}) on its "
            "first day",
            hint="Leave schedule out: a DAG run is created when a period begins. For other times, "
            "pass a timetable; its DAG runs are about the period that has their day.",
        )


def _named(fields: list[str]) -> list[str]:
    """The last three fields of cron with the name of the weekday, which may be written 0 to 7."""
    *days, weekday = fields or [""]
    is_number = weekday.isdigit() and int(weekday) <= len(WEEKDAYS)
    return [*days, WEEKDAYS[int(weekday) - 1] if is_number else weekday]
