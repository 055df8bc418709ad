"""The deadlines of a report: one time after each day, or a calendar that has others for some days.

A report whose readers come on working days has its Friday due on Monday; one that closes the month
has the last day of a month due sooner. An author says so with a list of :class:`DueOn`: the first
that has the day counts, and days that none has are due at the report's own deadline.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from forerun.include.reports.values.clock import DayTime, parse_day, parse_time
from forerun.include.reports.values.fields import SpecError, take_fields
from forerun.include.reports.values.keywords import names_its_fields

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[str, ...] = get_args(Weekday)
_LONGEST_MONTH = 31


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class DueOn:
    """Some days, and when their report is due: ``at`` is a time after the start of the day
    (:mod:`forerun.include.reports.values.clock`), so a Friday that is due on Monday at nine has
    ``81:00``.

    A day is one of them if it fits all that is given: one of the ``weekdays``, one of the ``dates``
    (``YYYY-MM-DD``), one of the ``month_days`` (1 is the first of a month, -1 its last).
    """

    at: str
    """The deadline on these days, after the start of the day: a Friday that is due on Monday at
    nine has ``81:00``."""
    weekdays: tuple[Weekday, ...] = ()
    """Days of the week, of which the day has to be one."""
    dates: tuple[str, ...] = ()
    """Dates (``YYYY-MM-DD``), of which the day has to be one."""
    month_days: tuple[int, ...] = ()
    """Days of the month, of which the day has to be one: 1 is the first, -1 the last."""

    def __post_init__(self) -> None:
        take_fields(self, "DueOn")
        parse_time(self.at, "a deadline")
        for text in self.dates:
            parse_day(text)
        for number in self.month_days:
            if not 1 <= abs(number) <= _LONGEST_MONTH:
                raise SpecError(
                    f"DueOn: no month has a day {number}",
                    hint="Count from 1, or from -1, the last day of a month, back.",
                )
        if not (self.weekdays or self.dates or self.month_days):
            raise SpecError(
                f"DueOn: nothing says on which days the deadline is {self.at}",
                hint="Give weekdays, dates or month_days; on all days, that is the deadline.",
            )

    def has(self, day: date) -> bool:
        """Return whether ``day`` is one of these days."""
        from_the_end = day.day - calendar.monthrange(day.year, day.month)[1] - 1
        return (
            (not self.weekdays or WEEKDAYS[day.weekday()] in self.weekdays)
            and (not self.dates or day.isoformat() in self.dates)
            and (not self.month_days or not {day.day, from_the_end}.isdisjoint(self.month_days))
        )

    def __str__(self) -> str:
        days = (*self.weekdays, *self.dates, *(f"day {n} of a month" for n in self.month_days))
        return f"{self.at} on {', '.join(days)}"


def due_time(deadline: str, calendar_: Sequence[DueOn], day: date) -> DayTime:
    """Return when the report of ``day`` is due, after the start of it."""
    found = next((due.at for due in calendar_ if due.has(day)), deadline)
    return parse_time(found, "the deadline")
