"""Draws how a source arrives: pins of the day over what past days let expect."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from forerun.airflow.pages.drawing import Drawing
from forerun.airflow.pages.figures import clock
from forerun.airflow.pages.figures import rows as count
from forerun.include.oncall.day.records import DayRecords
from forerun.include.oncall.night.arrivals import Points, SourceArrivals, day_start

_WIDTH, _LEFT, _TOP, _HIGH = 1160.0, 70.0, 22.0, 210.0
_RIGHT = _WIDTH - 34.0
"""Where the clock ends: half of its last label comes after."""
_LEAST = timedelta(hours=24)

_Place = Callable[[datetime, float], tuple[float, float]]


def arrivals_drawing(found: SourceArrivals, records: DayRecords, now: datetime) -> Drawing:
    """Rows over the clock of the report's day: the forecast in the middle and cautiously, and the
    pins; with the final run's time, the deadline, and now."""
    start = day_start(records)
    known = [at for points in (found.seen, found.middle, found.cautious) for at, _ in points]
    end = max([start + _LEAST, records.deadline, *known])
    most = max([1, *(rows for points in (found.seen, found.middle) for _, rows in points)])
    title = f"Rows of {found.source} on {records.at.day}, as they were pinned and as expected"
    sheet = Drawing(title, _WIDTH, _TOP + _HIGH + 30)
    bottom = _TOP + _HIGH

    def place(at: datetime, rows: float) -> tuple[float, float]:
        part = (at - start) / (end - start)
        return _LEFT + (_RIGHT - _LEFT) * min(max(part, 0.0), 1.0), bottom - _HIGH * rows / most

    for part in (0.0, 0.5, 1.0):
        y = bottom - _HIGH * part
        sheet.line("floor", _LEFT, y, _RIGHT, y)
        sheet.text("soft", _LEFT - 8, y + 4, count(round(most * part)), "end")
    _hours(sheet, records, start, end, place)
    for look, points in (("expected cautious", found.cautious), ("expected", found.middle)):
        if points:
            sheet.polyline(look, [place(at, rows) for at, rows in points])
    marks = (("safe", records.points[-1], "final run"), ("deadline", records.deadline, "deadline"))
    for look, at, name in (*marks, ("now", now, "now")):
        if start <= at <= end:
            x, _ = place(at, 0)
            sheet.line(f"mark {look}", x, _TOP, x, bottom)
            sheet.text(look, x - 4, _TOP - 6, name, "end")
    _pins(sheet, found.seen, records, place)
    return sheet


_STEPS = ((36, 3), (96, 6), (14 * 24, 24), (60 * 24, 7 * 24), (400 * 24, 31 * 24))
"""Hours between two labels of the clock, by the most hours that they are for."""


def _hours(
    sheet: Drawing, records: DayRecords, start: datetime, end: datetime, place: _Place
) -> None:
    hours = int((end - start) / timedelta(hours=1))
    step = next((step for most, step in _STEPS if hours <= most), _STEPS[-1][1])
    for hour in range(0, hours + 1, step):
        at = start + timedelta(hours=hour)
        x, y = place(at, 0)
        sheet.text("soft", x, y + 17, clock(at, records.date, records.spec.zone), "middle")


def _pins(sheet: Drawing, seen: Points, records: DayRecords, place: _Place) -> None:
    if len(seen) > 1:
        sheet.polyline("seen", [place(at, rows) for at, rows in seen])
    for at, rows in seen:
        x, y = place(at, rows)
        when = clock(at, records.date, records.spec.zone)
        sheet.dot("arrived", x, y, 4.0, says=f"{when}: {rows:,} rows pinned")
