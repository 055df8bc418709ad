"""Arrival curves by clock, from the pins of past days (sections 4.2 and 4.4).

A pin says how many rows there were at an instant. Between two pins of a day rows are taken to come
evenly, before the first one from the start of the day on; so a curve is as fine as days were
pinned. Days are laid over one another as fractions of their own totals: by an instant, a share of
the past days had at least so much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.piecewise import PiecewiseLinear

ENOUGH = 3
"""So many days of one weekday are a pattern of their own; with fewer, all days are taken."""

LEAST_PART = 0.05
"""As long as less than this part of a day is forecast to be there, what is there says nothing about
its total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDay:
    """A day of a source: its ``weekday`` (any whole number that tells kinds of days apart, such as
    0 for Monday to 6), and its pins as ``(seconds since the day's start, rows)``; the last one has
    the day's total."""

    weekday: int
    pins: tuple[tuple[float, float], ...]

    @property
    def total(self) -> float:
        return self.pins[-1][1]

    def fractions(self) -> PiecewiseLinear:
        """The part of the day's rows over the seconds since its start."""
        knots = {0.0: 0.0, **dict(self.pins)}
        ordered = sorted(knots.items())
        parts = tuple(rows / self.total for _, rows in ordered)
        return PiecewiseLinear(tuple(at for at, _ in ordered), parts)


class ArrivalForecast:
    """What past days say about how a source arrives. Raises :class:`ScheduleError` if none of them
    had a row."""

    def __init__(self, days: Sequence[PastDay]) -> None:
        self._days = [day for day in days if day.pins and day.total > 0]
        if not self._days:
            raise ScheduleError(
                "no past day had rows, so nothing is known about when they arrive",
                hint="State when the source arrives, or let a first day go by.",
            )

    def total(self, weekday: int) -> int:
        """Rows that a day has in the middle."""
        return max(1, round(median(day.total for day in self._like(weekday))))

    def smallest(self, weekday: int) -> int:
        """Rows of the smallest of the days."""
        return max(1, round(min(day.total for day in self._like(weekday))))

    def fraction(self, weekday: int, share: float = 0.5) -> PiecewiseLinear:
        """The part of the day's rows, over seconds since its start, that at least ``share`` of the
        past days had by then: 0.5 is the middle, 0.9 is cautious."""
        if not 0 <= share <= 1:
            raise ScheduleError(f"a share of days lies between 0 and 1, not {share:g}")
        days = [day.fractions() for day in self._like(weekday)]
        grid = sorted({x for day in days for x in day.xs})
        rows = ([day.at(x) for day in days] for x in grid)
        return PiecewiseLinear(tuple(grid), tuple(_quantile(row, 1 - share) for row in rows))

    def curve(
        self, weekday: int, day_start: float, *, total: int | None = None, share: float = 0.5
    ) -> ArrivalCurve:
        """The forecast of a day that starts at an instant, with its total if that is known."""
        part = self.fraction(weekday, share)
        rows = self.total(weekday) if total is None else total
        return arrival_curve(
            (day_start + x, y * rows) for x, y in zip(part.xs, part.ys, strict=True)
        )

    def _like(self, weekday: int) -> list[PastDay]:
        found = [day for day in self._days if day.weekday == weekday]
        return found if len(found) >= ENOUGH else self._days


def _quantile(values: list[float], part: float) -> float:
    """Between the two values that are nearest in rank."""
    ordered = sorted(values)
    rank = part * (len(ordered) - 1)
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (rank - low) * (ordered[high] - ordered[low])
