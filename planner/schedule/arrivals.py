"""The arrival curve: rows that have arrived by an instant, known, forecast, or as it turned out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.piecewise import TICK, PiecewiseLinear

_PART_OF_A_ROW = 1e-6
"""Rows are whole; a sum of floats may lie this much below one that has come."""


@dataclass(frozen=True, slots=True)
class ArrivalCurve:
    """Rows that have arrived, over instants; ``rows`` starts at 0 and ends at the day's total.

    Raises :class:`ScheduleError` for a curve that does not start at 0, goes on after its last knot,
    or has no row.
    """

    rows: PiecewiseLinear

    def __post_init__(self) -> None:
        if self.rows.ys[0] != 0 or self.rows.beyond:
            raise ScheduleError("an arrival curve starts at 0 rows and ends with the day's rows")
        if self.total < 1:
            raise ScheduleError("an arrival curve has no rows", hint="Leave out a source without.")

    @property
    def total(self) -> int:
        """Rows of the whole day."""
        return math.floor(self.rows.ys[-1] + _PART_OF_A_ROW)

    @property
    def complete_at(self) -> float:
        """The instant at which the last row has come."""
        return self.time_of(self.total)

    def rows_at(self, instant: float) -> int:
        """Whole rows that have come by an instant."""
        return math.floor(self.rows.at(instant + TICK) + _PART_OF_A_ROW)

    def time_of(self, rows: int) -> float:
        """The earliest instant by which so many rows have come; ``inf`` for more than the total."""
        if rows > self.total:
            return math.inf
        return max(self.rows.first(min(rows, self.rows.ys[-1])), self.rows.xs[0])

    def shifted(self, seconds: float, since: float = -math.inf) -> ArrivalCurve:
        """The curve of a source that is late by so many seconds from ``since`` on: what has come by
        then has come."""
        if since <= self.rows.xs[0]:
            return ArrivalCurve(
                PiecewiseLinear(tuple(x + seconds for x in self.rows.xs), self.rows.ys)
            )
        here = self.rows.at(since)
        before = [(x, y) for x, y in zip(self.rows.xs, self.rows.ys, strict=True) if x <= since]
        after = [
            (x + seconds, y) for x, y in zip(self.rows.xs, self.rows.ys, strict=True) if x > since
        ]
        return arrival_curve([*before, (since, here), (since + seconds, here), *after])

    def after(self, done: int) -> ArrivalCurve:
        """The curve of the rows that come after so many; of a day that is all there, its last."""
        done = min(done, self.total - 1)
        first = self.time_of(done)
        pairs = zip(self.rows.xs, self.rows.ys, strict=True)
        return arrival_curve([(first, 0.0), *((x, y - done) for x, y in pairs if x > first)])

    def scaled(self, factor: float) -> ArrivalCurve:
        """The curve of a day with ``factor`` times the rows, at least one."""
        total = max(1.0, float(round(self.rows.ys[-1] * factor)))
        part = total / self.rows.ys[-1]
        return ArrivalCurve(PiecewiseLinear(self.rows.xs, tuple(y * part for y in self.rows.ys)))


def arrival_curve(knots: Iterable[tuple[float, float]]) -> ArrivalCurve:
    """A curve through ``(instant, rows)``, linear between them; a knot that is given twice counts
    once. What lies before the first knot is taken to arrive at its instant."""
    ordered = list(dict.fromkeys(knots))
    if ordered and ordered[0][1] > 0:
        ordered.insert(0, (ordered[0][0], 0.0))
    return ArrivalCurve(
        PiecewiseLinear(tuple(float(x) for x, _ in ordered), tuple(float(y) for _, y in ordered))
    )


def steady(start: float, end: float, rows: int) -> ArrivalCurve:
    """Rows that come evenly: the k-th of n at ``start + k / n * (end - start)``."""
    return arrival_curve([(start, 0.0), (end, float(rows))])
