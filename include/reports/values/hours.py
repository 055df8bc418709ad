"""Prices and ceilings by the hour of the clock, and the curves over instants that they mean.

An author writes what holds from one clock time to another, over the 24 hours of a day; it holds on
every day that the curve is asked for. What holds at an instant goes by what the clock shows then:
on a day when clocks change, what is skipped is skipped, a whole hour or a part of one, and what
comes twice holds twice. So a curve over instants has neither a gap nor an overlap on such a day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from forerun.include.reports.values.clock import DayTime, TimeError, clock_change, parse_time
from forerun.include.reports.values.keywords import names_its_fields
from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.step_curve import Piece, StepCurve

_DAY = 24 * 3600


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """The value that holds from clock time ``start`` up to ``end`` (``24:00`` is the end of the
    day)."""

    start: str
    """The clock time from which on the value holds, such as ``06:00``."""
    end: str
    """The clock time up to which it holds; ``24:00`` is the end of the day."""
    value: float
    """The price or the number of cores: above 0."""


def daily_curve(
    hours: Sequence[Hours], first: date, days: int, zone: ZoneInfo, what: str
) -> StepCurve:
    """The curve over ``days`` days from ``first`` on, in seconds of the UNIX epoch.

    Raises :class:`ScheduleError` where the 24 hours are not all given once with values above 0, and
    :class:`TimeError` for what is no clock time of a day.
    """
    spans = [(*clock_span(one.start, one.end, what), one.value) for one in hours]
    # What holds over the clock's 24 hours is checked there, where errors can be said in its times.
    whole = StepCurve([Piece(a, b, value) for a, b, value in spans], what, _clock)
    if (whole.start, whole.end) != (0, _DAY):
        raise ScheduleError(
            f"{what} is given from {_clock(whole.start)} to {_clock(whole.end)}",
            hint="Give it for the whole day, from 00:00 to 24:00.",
        )
    pieces: list[Piece] = []
    for number in range(days):
        day = first + timedelta(days=number)
        found = [
            Piece(start, end, piece.value)
            for piece in whole.pieces
            for start, end in spans_on(day, (piece.start, piece.end), zone)
        ]
        pieces += sorted(found, key=lambda piece: piece.start)
    return StepCurve(pieces, what, lambda at: datetime.fromtimestamp(at, UTC).isoformat())


def clock_span(start: str, end: str, what: str) -> tuple[float, float]:
    """Two clock times of one day as seconds since its midnight, by the clock."""
    times = [parse_time(text, f"{what}: the time") for text in (start, end)]
    for text, parsed in zip((start, end), times, strict=True):
        if parsed.elapsed or parsed.seconds > _DAY:
            raise TimeError(
                f"{what}: {text!r} is not a clock time of a day",
                hint="Write 00:00 up to 24:00.",
            )
    return float(times[0].seconds), float(times[1].seconds)


def spans_of(
    day: date, start: str, end: str, zone: ZoneInfo, what: str
) -> list[tuple[float, float]]:
    """The spans of instants from one time of a report's day up to another, as :func:`spans_on` has
    them; of times that are both elapsed, or of one that is, the one span between them. ``what``
    names them in errors. Raises :class:`ScheduleError` where the end is not after the start."""
    times = [parse_time(text, f"{what}: the time") for text in (start, end)]
    if any(one.elapsed for one in times):
        spans = [(times[0].on(day, zone).timestamp(), times[1].on(day, zone).timestamp())]
        is_empty = spans[0][0] >= spans[0][1]
    else:
        spans = spans_on(day, (float(times[0].seconds), float(times[1].seconds)), zone)
        is_empty = times[0].seconds >= times[1].seconds
    if is_empty:
        raise ScheduleError(
            f"{what} from {start} to {end} is empty",
            hint="Let it end after it starts; hours go on past 24:00.",
        )
    return spans


def spans_on(day: date, span: tuple[float, float], zone: ZoneInfo) -> list[tuple[float, float]]:
    """The spans of instants, in seconds of the UNIX epoch and in order, during which the clock
    shows a time from one up to another, in seconds since midnight of ``day``; those past 24 hours
    are of the days after it. None where the clock skips all of it, several where it comes twice.
    """
    found: list[tuple[float, float]] = []
    for number in range(math.floor(span[0] / _DAY), math.ceil(span[1] / _DAY)):
        for start, end, midnight in _steady_parts(day + timedelta(days=number), zone):
            first = max(start, midnight + span[0] - number * _DAY)
            last = min(end, midnight + span[1] - number * _DAY)
            if found and found[-1][1] == first < last:
                found[-1] = found[-1][0], last
            elif first < last:
                found.append((first, last))
    return found


def _steady_parts(day: date, zone: ZoneInfo) -> Iterator[tuple[float, float, float]]:
    """The parts of a day on which the clock does not change: each with its start, its end, and the
    instant at which this clock would have shown midnight."""
    start, end = (DayTime(at, elapsed=False).on(day, zone) for at in (0, _DAY))
    change = clock_change(start, end - timedelta(seconds=1), zone)
    shown = datetime.combine(day, time(), tzinfo=UTC).timestamp()
    edges = [start, change, end] if change else [start, end]
    for first, last in pairwise(edges):
        offset = first.astimezone(zone).utcoffset() or timedelta()
        yield first.timestamp(), last.timestamp(), shown - offset.total_seconds()


def instant(day: date, at: str, zone: ZoneInfo) -> float:
    """The instant of a time of a report's day, in seconds of the UNIX epoch."""
    return parse_time(at, "the time").on(day, zone).timestamp()


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}" if second else f"{hour:02}:{minute:02}"
