"""The arrival curve of a day that has begun: what past days say, put right by what is there.

Rows that are missing may be rows that are late, or a smaller day; a forecast that takes every late
source for a small one would never wait for it. So a day is taken to be as large as past days were:
what is there by now, over the part that is there by then in the middle (section 4.4), as long as
that lies between the smallest and the largest day. A day with less is late by as long as it takes
until so much had come on a smallest day; a day with more is larger.
"""

from __future__ import annotations

from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.forecast import LEAST_PART, ArrivalForecast


def curve_today(forecast: ArrivalForecast, weekday: int, now: float, rows: int) -> ArrivalCurve:
    """The forecast of a day on which ``rows`` are there ``now``, over the seconds since its start
    in which past days were told."""
    return put_right(forecast.curve(weekday, 0.0), forecast.smallest(weekday), now, rows)


def put_right(usual: ArrivalCurve, smallest: float, now: float, rows: int) -> ArrivalCurve:
    """The curve of a usual day, put right by the ``rows`` that are there ``now``; the ``smallest``
    day has so many in all."""
    part = usual.rows.at(now) / usual.total
    if part < LEAST_PART and rows <= usual.total:
        return usual
    estimated = round(rows / max(part, LEAST_PART))
    if estimated >= smallest:
        return usual.scaled(max(rows, estimated, 1) / usual.total)
    curve = usual.scaled(smallest / usual.total)
    return curve.shifted(max(0.0, now - curve.time_of(max(1, rows))))


def curve_complete(now: float, rows: int) -> ArrivalCurve:
    """The curve of a source that is known to be complete ``now`` with so many rows."""
    return arrival_curve([(now, float(max(1, rows)))])
