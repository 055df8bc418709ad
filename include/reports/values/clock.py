"""Times of a report's day, as an author writes them, and the instants they mean.

A day is named by its date and starts at local midnight in the report's time zone. A time is either

* a local clock time ``HH:MM`` or ``HH:MM:SS``; hours run on past midnight, so ``24:00`` is the
  midnight that ends the day and ``30:00`` is six in the morning after it; or
* an offset ``+HH:MM`` or ``+HH:MM:SS`` of elapsed time since the day's start.

A report with a period (:mod:`forerun.include.reports.period`) is known by its last day, and has
times before it: ``-3d 12:00`` is noon of the third day before the last.

The two differ on days when clocks change. A clock time that does not exist means the instant at
which the clock skips it, and one that exists twice means the first. So clock times keep their order
on every day: of two, the later one is never at an earlier instant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from forerun.planner.errors import ForerunError

_TIME = re.compile(r"^(?:(\+)|-(\d{1,3})d )?(\d{1,3}):([0-5]\d)(?::([0-5]\d))?\Z", re.ASCII)
_HINT = (
    "Write a local clock time such as 14:30 or 25:00 (01:00 on the next day), or +26:00; in a "
    "report with a period -3d 14:30 is on the third day before the last."
)


DAY_S = 24 * 3600
"""Seconds of a day on which clocks do not change."""


class TimeError(ForerunError):
    """A time, date or time zone that cannot be read."""

    code = "time"


_FIRST_YEAR, _LAST_YEAR = 2, 9998
"""The years of report dates: what is before and after a day is still a date."""


@dataclass(frozen=True, slots=True)
class DayTime:
    """A time of the day, parsed. ``elapsed``: counted in real hours, not on the clock. Seconds
    below zero are on days before it."""

    seconds: int
    elapsed: bool

    def on(self, day: date, zone: ZoneInfo) -> datetime:
        """The instant it means on ``day``, in UTC."""
        midnight = datetime.combine(day, time(), tzinfo=zone)
        if self.elapsed:
            return _first(midnight, zone) + timedelta(seconds=self.seconds)
        # Arithmetic on an aware datetime moves the wall clock.
        return _first(midnight + timedelta(seconds=self.seconds), zone)


def clock_change(first: datetime, last: datetime, zone: ZoneInfo) -> datetime | None:
    """The instant, to the second and in UTC, at which the clock of ``zone`` changes between two
    instants, the last included; None if it shows the same offset at both."""
    before, after = 0, round((last - first).total_seconds())

    def offset(seconds: int) -> timedelta | None:
        return (first + timedelta(seconds=seconds)).astimezone(zone).utcoffset()

    if (old := offset(before)) == offset(after):
        return None
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if offset(middle) == old else (before, middle)
    return first.astimezone(UTC) + timedelta(seconds=after)


def _first(shown: datetime, zone: ZoneInfo) -> datetime:
    """The first instant, in UTC, at which the clock shows a time or has gone past it."""
    found = shown.replace(fold=0).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == shown.replace(tzinfo=None):
        return found
    # The clock skips it. By the offset from before the skip it is after that, else before.
    return clock_change(shown.replace(fold=1).astimezone(UTC), found, zone) or found


def parse_time(text: str, what: str) -> DayTime:
    """Read a time. ``what`` names it in the error, such as ``the deadline``."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise TimeError(f"{what} {text!r} is not a time", hint=_HINT)
    days, hours, minutes, seconds = (int(match[part] or 0) for part in (2, 3, 4, 5))
    at = hours * 3600 + minutes * 60 + seconds - days * DAY_S
    return DayTime(at, elapsed=match[1] == "+")


def parse_zone(name: str) -> ZoneInfo:
    """Read an IANA time zone. Raises :class:`TimeError` for one that is not known."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise TimeError(
            f"the time zone {name!r} is not known",
            hint="Use an IANA name such as Europe/Berlin or UTC.",
        ) from None


def parse_day(text: str) -> date:
    """Read a report date, ``YYYY-MM-DD``."""
    try:
        day = date.fromisoformat(text)
    except (TypeError, ValueError):
        raise TimeError(
            f"the report date {text!r} is not a date", hint="Write it as 2026-03-01."
        ) from None
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise TimeError(
            f"the report date {text!r} is at an end of the calendar",
            hint="A day has runs, a deadline and days around it: years are 2 to 9998.",
        )
    return day
