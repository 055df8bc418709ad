"""Times of a report's day, as an author writes them, and the instants they mean.

A day is named by its date and starts at local midnight in the report's time zone. A time is either

* a local clock time ``HH:MM`` or ``HH:MM:SS``; hours run on past midnight, so ``24:00`` is the
  midnight that ends the day and ``30:00`` is six in the morning after it; or
* an offset ``+HH:MM`` or ``+HH:MM:SS`` of elapsed time since the day's start.

The two differ on days when clocks change. A clock time that does not exist (skipped) means the
instant that many hours after it; one that exists twice means the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from forerun.planner.errors import ForerunError

_TIME = re.compile(r"^(\+?)(\d{1,3}):([0-5]\d)(?::([0-5]\d))?\Z", re.ASCII)
_HINT = "Write a local clock time such as 14:30 or 25:00 (01:00 on the next day), or +26:00."


class TimeError(ForerunError):
    """A time, date or time zone that cannot be read."""

    code = "time"


@dataclass(frozen=True, slots=True)
class DayTime:
    """A time of the day, parsed. ``elapsed``: counted in real hours, not on the clock."""

    seconds: int
    elapsed: bool

    def on(self, day: date, zone: ZoneInfo) -> datetime:
        """The instant it means on ``day``, in UTC."""
        midnight = datetime.combine(day, time(), tzinfo=zone)
        if self.elapsed:
            return midnight.astimezone(UTC) + timedelta(seconds=self.seconds)
        # Arithmetic on an aware datetime moves the wall clock; UTC then resolves gaps and folds.
        return (midnight + timedelta(seconds=self.seconds)).astimezone(UTC)


def parse_time(text: str, what: str) -> DayTime:
    """Read a time. ``what`` names it in the error, such as ``the deadline``."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise TimeError(f"{what} {text!r} is not a time", hint=_HINT)
    hours, minutes, seconds = int(match[2]), int(match[3]), int(match[4] or 0)
    return DayTime(hours * 3600 + minutes * 60 + seconds, elapsed=match[1] == "+")


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
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise TimeError(
            f"the report date {text!r} is not a date", hint="Write it as 2026-03-01."
        ) from None
