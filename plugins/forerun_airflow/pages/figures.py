"""Figures as a person reads them: times on the report's own clock, sizes, seconds, shares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime
from zoneinfo import ZoneInfo

from forerun.include.machine.settings import CpuHourCost, cpu_hour_cost

_RATE: ContextVar[CpuHourCost | None] = ContextVar("rate", default=None)
_FAR = 3
"""Beyond so many days from the report's date a time is written with its own date."""


def clock(moment: datetime, day: date, zone: ZoneInfo) -> str:
    """A time on the clock of a report: of its day as it is, else with the days that lie between
    (``06:00 +1``), and far away with its date."""
    local = moment.astimezone(zone)
    days = (local.date() - day).days
    if abs(days) > _FAR:
        return f"{local:%Y-%m-%d %H:%M}"
    return f"{local:%H:%M}" + (f" {days:+d}" if days else "")


def duration(seconds: float) -> str:
    """A length of time, to two figures or so."""
    if abs(seconds) < 120:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    if abs(minutes) < 120:
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.1f} h" if abs(hours) < 48 else f"{hours / 24:.0f} days"


def margin(seconds: float) -> str:
    """Return a phrase for the time that is left before the deadline, or by which it is missed."""
    return f"{duration(seconds)} left" if seconds >= 0 else f"{duration(-seconds)} over"


def cpu(seconds: float | None) -> str:
    """CPU seconds."""
    if seconds is None:
        return "–"
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}"


@contextmanager
def priced() -> Iterator[None]:
    """Let :func:`money` go by what the deployment says now, which is asked for once: a page has
    hundreds of figures."""
    token = _RATE.set(cpu_hour_cost())
    try:
        yield
    finally:
        _RATE.reset(token)


def money(weighted_cpu_s: float | None) -> str:
    """Return what CPU seconds times prices cost; nothing where the deployment does not say what a
    CPU hour costs."""
    rate = _RATE.get()
    return "" if rate is None or weighted_cpu_s is None else rate.text(weighted_cpu_s)


def size(count: int) -> str:
    """Bytes."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def rows(count: int) -> str:
    """A number of rows, short: in thousands, millions, billions."""
    value = float(count)
    for unit in ("", " k", " M"):
        if value < 1000:
            return f"{value:.0f}{unit}" if value >= 100 or not unit else f"{value:.1f}{unit}"
        value /= 1000
    return f"{value:,.1f} G"


def share(part: float | None) -> str:
    """A share of batch."""
    return "–" if part is None else f"{part:.2f}"


def short(text: str, most: int) -> str:
    """A text that has to fit; what is cut off is marked."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
