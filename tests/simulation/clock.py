"""Time as the machine has it: one true time that only the scheduler moves, and a clock per host."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


@dataclass
class Clock:
    """The true time in seconds since the epoch, and by how much the store's clock is off."""

    now: float = START.timestamp()
    store_skew: float = 0.0

    def store_time(self) -> float:
        """The time that the store notes on what it is given."""
        return self.now + self.store_skew

    def host_time(self, skew: float) -> dt.datetime:
        """The time on a host whose clock is ``skew`` seconds ahead."""
        return dt.datetime.fromtimestamp(self.now + skew, dt.UTC)


HOUR = 3600.0
DAY = 24 * HOUR


def in_words(seconds: float) -> str:
    """A length of time for a trace: ``-2.5 d``, ``3.0 h``, ``12 s``."""
    for unit, size in (("d", DAY), ("h", HOUR), ("min", 60.0)):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:g} s"
