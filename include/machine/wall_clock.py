"""The clock of this machine. Everything that is not given the time as an argument asks here.

Nothing that decides what counts rests on it: clocks of two machines may differ by days. It dates
records for people, and tells tasks when their day has come.
"""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time in UTC, by this machine."""
    return datetime.now(UTC)
