"""``--what-if``: the same night with something else in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from forerun.include.reports.values.clock import parse_time
from forerun.include.reports.values.hours import instant, spans_of
from forerun.night.file import Night, read_reports
from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.night import NightReport
from forerun.planner.schedule.step_curve import Piece, StepCurve

FORMS = (
    "ceiling=32, ceiling=0.5x, price=01:00-05:00:0.3, late=NAME:+01:00, rows=NAME:1.5x, "
    "deadline=NAME:29:00, add=FILE, drop=NAME"
)
"""What may be written."""


def apply_all(night: Night, changes: Sequence[str]) -> Night:
    """The night after all changes, in order. Raises :class:`ScheduleError` for no change."""
    for change in changes:
        what, found, value = change.partition("=")
        if not found or what not in _CHANGES:
            raise ScheduleError(f"--what-if {change!r} is no change", hint=f"Write {FORMS}.")
        night = _CHANGES[what](night, value)
    return night


def _ceiling(night: Night, value: str) -> Night:
    times = value.endswith("x")
    number = _number(value.removesuffix("x"), "ceiling")
    curve = night.cluster.ceiling
    pieces = (Piece(p.start, p.end, p.value * number if times else number) for p in curve.pieces)
    changed = StepCurve(pieces, curve.what)
    return replace(night, cluster=replace(night.cluster, ceiling=changed))


def _price(night: Night, value: str) -> Night:
    span, _, price = value.rpartition(":")
    start, dash, end = span.partition("-")
    if not dash:
        raise ScheduleError(
            f"--what-if price={value} names no hours", hint="Write price=01:00-05:00:0.3."
        )
    costs, changed = _number(price, "price"), night.cluster.prices
    for first, last in spans_of(night.day, start, end, night.zone, "the price"):
        changed = changed.with_piece(Piece(first, last, costs))
    return replace(night, cluster=replace(night.cluster, prices=changed))


def _late(night: Night, value: str) -> Night:
    def change(report: NightReport, how: str) -> NightReport:
        seconds = float(parse_time(how, "the delay").seconds)
        return replace(report, arrivals=report.arrivals.shifted(seconds))

    return _of_report(night, value, change)


def _rows(night: Night, value: str) -> Night:
    def change(report: NightReport, how: str) -> NightReport:
        return replace(report, arrivals=report.arrivals.scaled(_times(how)))

    return _of_report(night, value, change)


def _deadline(night: Night, value: str) -> Night:
    def change(report: NightReport, how: str) -> NightReport:
        return replace(report, deadline=instant(night.day, how, night.zone))

    return _of_report(night, value, change)


def _add(night: Night, value: str) -> Night:
    return replace(night, reports=(*night.reports, *read_reports(Path(value), night)))


def _drop(night: Night, value: str) -> Night:
    find_report(night, value)
    return replace(night, reports=tuple(r for r in night.reports if r.name != value))


_CHANGES: dict[str, Callable[[Night, str], Night]] = {
    "ceiling": _ceiling,
    "price": _price,
    "late": _late,
    "rows": _rows,
    "deadline": _deadline,
    "add": _add,
    "drop": _drop,
}


def find_report(night: Night, name: str) -> NightReport:
    """The report of a name. Raises :class:`ScheduleError` if there is none."""
    found = next((report for report in night.reports if report.name == name), None)
    if found is None:
        names = ", ".join(sorted(report.name for report in night.reports)[:12])
        raise ScheduleError(f"the night has no report {name!r}", hint=f"There are: {names}.")
    return found


def _of_report(
    night: Night, value: str, change: Callable[[NightReport, str], NightReport]
) -> Night:
    name, _, how = value.partition(":")
    old = find_report(night, name)
    new = change(old, how)
    return replace(night, reports=tuple(new if r is old else r for r in night.reports))


def _times(text: str) -> float:
    number = _number(text.removesuffix("x"), "factor")
    if number <= 0:
        raise ScheduleError(f"a factor has to be more than 0, not {text}")
    return number


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ScheduleError(f"the {what} {text!r} is not a number") from None
