"""Periods of several days: what a weekly or a monthly report is about, and the days of a source.

A report with a period is known by the last day of it: that is its report date, the day of its
folders in the store, and what its times and its deadline count from. A period is asked for the
first and the last day of the one that has a day, so it needs no clock and no schedule.
"""

from __future__ import annotations

import calendar
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from forerun.include.reports.calendar import WEEKDAYS, Weekday
from forerun.include.reports.values.clock import parse_day
from forerun.include.reports.values.fields import SpecError, take_fields
from forerun.include.reports.values.keywords import names_its_fields

_DAY = timedelta(days=1)
_MONTHS = (1, 2, 3, 4, 6, 12)
_MOST_TRAILING = 400
_SHORTEST_MONTH, _LONGEST_MONTH = 28, 31

Bounds = tuple[date, date]
"""The first and the last day of a period, both of them in it."""


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Weekly:
    """Seven days, from a day of the week on."""

    starts: Weekday = "mon"
    """The first day of the week: ``mon`` to ``sun``."""

    def __post_init__(self) -> None:
        take_fields(self, "Weekly")

    def bounds(self, day: date) -> Bounds:
        """Return the first and the last day of the week that has ``day``."""
        first = day - (day.weekday() - WEEKDAYS.index(self.starts)) % 7 * _DAY
        return first, first + 6 * _DAY

    @property
    def days(self) -> Lengths:
        """Return the number of days of the shortest and of the longest of these periods."""
        return 7, 7

    def __str__(self) -> str:
        return f"a week from {self.starts} on"


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Monthly:
    """Calendar months: one, or as many as divide a year, counted from January on."""

    months: int = 1
    """How many months: 1, 2, 3 (quarters), 4, 6 or 12 (years)."""

    def __post_init__(self) -> None:
        take_fields(self, "Monthly")
        if self.months not in _MONTHS:
            raise SpecError(
                f"Monthly: a year is not made of periods of {self.months} months",
                hint=f"Use one of {', '.join(map(str, _MONTHS))}.",
            )

    def bounds(self, day: date) -> Bounds:
        """Return the first and the last day of the months that have ``day``."""
        start = (day.month - 1) // self.months * self.months + 1
        end = start + self.months - 1
        return date(day.year, start, 1), date(day.year, end, calendar.monthrange(day.year, end)[1])

    @property
    def days(self) -> Lengths:
        """Return the number of days of the shortest and of the longest of these periods."""
        if self.months == 1:
            return _SHORTEST_MONTH, _LONGEST_MONTH
        lengths = [
            (last - first).days + 1
            for year in (2023, 2024)  # one of them is a leap year
            for month in range(1, 13, self.months)
            for first, last in [self.bounds(date(year, month, 1))]
        ]
        return min(lengths), max(lengths)

    def __str__(self) -> str:
        return "a month" if self.months == 1 else f"{self.months} months"


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodsFrom:
    """Periods of any calendar, such as a fiscal one, by the dates on which they begin."""

    dates: tuple[str, ...]
    """The first day of each period, in order, and at the end the day after the last period."""

    def __post_init__(self) -> None:
        take_fields(self, "PeriodsFrom")
        known = self._starts
        if len(known) < 2 or any(after <= before for before, after in pairwise(known)):
            raise SpecError(
                "PeriodsFrom: the dates do not say where periods begin",
                hint="List at least two, in order, each once: the first days of the periods, and "
                "the day after the last one.",
            )

    def bounds(self, day: date) -> Bounds:
        """Return the first and the last day of the period that has ``day``. Raises
        :class:`SpecError` for a day before the first or after the last of them."""
        known = self._starts
        at = bisect_right(known, day)
        if not 0 < at < len(known):
            raise SpecError(
                f"no period has {day}: they are listed from {known[0]} up to {known[-1] - _DAY}",
                hint="Add the dates on which the next periods begin to PeriodsFrom.",
            )
        return known[at - 1], known[at] - _DAY

    @property
    def days(self) -> Lengths:
        """Return the number of days of the shortest and of the longest of these periods."""
        lengths = [(after - before).days for before, after in pairwise(self._starts)]
        return min(lengths), max(lengths)

    @property
    def _starts(self) -> list[date]:
        return [parse_day(text) for text in self.dates]

    def __str__(self) -> str:
        return f"periods that begin on {', '.join(self.dates[:3])}, ..."


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Trailing:
    """The last days of a source up to the report date: what a report over several days reads."""

    days_back: int
    """How many days, the last of them included: 28 for the last four weeks."""
    days_ago: int = 0
    """How many days before the report date the last of them is: 7, with 7 days, for the week before
    the last one."""

    def __post_init__(self) -> None:
        take_fields(self, "Trailing")
        if self.days_ago < 0 or not 1 <= self.days_back <= _MOST_TRAILING - self.days_ago:
            raise SpecError(
                f"Trailing: {self.days_back} days, {self.days_ago} days ago",
                hint=f"Give 1 to {_MOST_TRAILING} days, those that lie behind them included.",
            )

    def bounds(self, day: date) -> Bounds:
        """Return the first and the last of these days."""
        last = day - self.days_ago * _DAY
        return last - (self.days_back - 1) * _DAY, last

    def __str__(self) -> str:
        ago = f" up to {self.days_ago} days ago" if self.days_ago else ""
        return f"the last {self.days_back} days{ago}"


Lengths = tuple[int, int]
Period = Weekly | Monthly | PeriodsFrom
"""What a report may be about, if that is not a day."""
Over = Weekly | Monthly | PeriodsFrom | Trailing
"""Which days of a source a report reads."""


def moved_share(over: Over, period: Period | None) -> float:
    """Return which part of the days that a report reads the next report reads anew, of a report of
    a day, or of a ``period``; of a period to date on the average. 0 where all of them are new."""
    if over == period:
        return 0.0
    step = period.days[0] if period else 1
    days = over.days_back if isinstance(over, Trailing) else sum(over.days) / 4
    return step / days if step < days else 0.0


def days_from(first: date, last: date) -> tuple[date, ...]:
    """Return all days from one to another, both of them among them."""
    return tuple(first + number * _DAY for number in range((last - first).days + 1))
