"""Prices and ceilings by the hour of the clock, and the curves over instants that they mean.

An author writes what holds from one clock time to another, over the 24 hours of a day; it holds on
every day that the curve is asked for. On a day when clocks change, an hour that is skipped is
skipped, and one that comes twice has its value twice; a time within a skipped hour means what
:mod:`forerun.include.reports.clock` says, or the end of that hour if what follows begins there. So
a curve over instants has neither a gap nor an overlap on such a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from forerun.include.reports.clock import TimeError, parse_time
from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.step_curve import Piece, StepCurve

_DAY = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """From clock time ``start`` up to ``end`` (``24:00`` is the end of the day) it is ``value``."""

    start: str
    end: str
    value: float


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
    for number in reversed(range(days)):
        day = first + timedelta(days=number)
        for piece in reversed(whole.pieces):
            start, end = span_on(day, (piece.start, piece.end), zone)
            end = min(end, pieces[-1].start) if pieces else end
            if start < end:
                pieces.append(Piece(start, end, piece.value))
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


def span_on(day: date, span: tuple[float, float], zone: ZoneInfo) -> tuple[float, float]:
    """The instants, in seconds of the UNIX epoch, that two times of the clock mean on a day. A span
    that lies where the clock skips may be empty."""
    start, end = (instant(day, _clock(at), zone) for at in span)
    return start, end


def instant(day: date, time: str, zone: ZoneInfo) -> float:
    """The instant of a time of a report's day, in seconds of the UNIX epoch."""
    return parse_time(time, "the time").on(day, zone).timestamp()


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}" if second else f"{hour:02}:{minute:02}"
