"""Intervals: literals, and moving a date or timestamp by one."""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime, timedelta

from forerun.planner.algebra.types import DataType
from tests.oracles.values import CastError, EvaluationError, Months

_UNITS = {
    "DAY": 86_400, "WEEK": 604_800, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1,
}  # fmt: skip
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*'?\s*([A-Za-z]+)")


def parse_interval(text: str, type_: DataType) -> Months | timedelta:
    """``3`` of INTERVAL MONTH, ``1-6`` of YEAR TO MONTH, ``2 12:00:00`` of DAY TO SECOND, or a
    text with units such as ``1 month`` or ``interval 3 days``."""
    body = re.sub(r"(?i)^interval\b", "", text.strip()).strip().strip("'")
    parts = _PART.findall(body)
    if parts:
        return _of_parts([(number, unit.upper().rstrip("S")) for number, unit in parts])
    fields = type_.name.replace("INTERVAL", "").split()
    if not fields:
        raise CastError(f"{text!r} is not an interval")
    first = fields[0]
    if "TO" not in fields:
        return _of_parts([(body, first)])
    sign = -1 if body.startswith("-") else 1
    if first == "YEAR":
        years, _, months = body.lstrip("+-").partition("-")
        return Months(sign * (int(years) * 12 + int(months or 0)))
    return sign * _clock(body.lstrip("+-"), first)


def _of_parts(parts: list[tuple[str, str]]) -> Months | timedelta:
    if all(unit in ("YEAR", "MONTH", "QUARTER") for _, unit in parts):
        scale = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
        return Months(sum(int(number) * scale[unit] for number, unit in parts))
    try:
        seconds = [(float(number), _UNITS[unit]) for number, unit in parts]
    except KeyError as error:
        raise CastError(f"interval unit {error}") from None
    return sum((timedelta(seconds=n * unit) for n, unit in seconds), timedelta())


def _clock(text: str, first: str) -> timedelta:
    days, rest = 0, text
    if first == "DAY":
        head, _, rest = text.partition(" ")
        days = int(head)
    numbers = [float(part) for part in rest.split(":")] if rest else []
    start = {"DAY": 0, "HOUR": 0, "MINUTE": 1, "SECOND": 2}[first]
    units = [3600, 60, 1][start:]
    return timedelta(days=days, seconds=sum(n * u for n, u in zip(numbers, units, strict=False)))


def add_months(moment: date, months: int) -> date:
    """The same day of another month, or its last day where there is none."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise EvaluationError("date out of range")
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def move(moment: date, by: Months | timedelta) -> date:
    """A DATE moved by whole days stays one; by less it becomes a TIMESTAMP."""
    if isinstance(by, Months):
        return add_months(moment, by.months)
    whole = by.seconds == 0 and by.microseconds == 0
    if not isinstance(moment, datetime) and not whole:
        moment = datetime(moment.year, moment.month, moment.day)
    try:
        return moment + by
    except OverflowError:
        raise EvaluationError("date out of range") from None
