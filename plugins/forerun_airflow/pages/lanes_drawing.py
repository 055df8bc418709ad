"""Draws the night on one clock: the cores that are wanted, and below them a lane per report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from forerun.airflow.pages.drawing import Drawing
from forerun.airflow.pages.figures import short
from forerun.include.oncall.night.lanes import Lane, LaneRun, cores_in_use

_WIDTH, _LEFT, _RIGHT = 1160.0, 210.0, 12.0
_TOP, _CORES, _LANE = 24.0, 90.0, 17.0
_NAME = 30
"""So many letters of a report's name fit."""

_NEAR = timedelta(days=1)
"""The present is drawn if it is at most so far from the night: a replayed one is long over."""

_Across = Callable[[datetime], float]


def lanes_drawing(found: Sequence[Lane], now: datetime) -> Drawing:
    """The night of some reports, in UTC; there has to be one."""
    starts = [run.start for lane in found for run in lane.runs]
    ends = [run.end for lane in found for run in lane.runs]
    start, end = min(starts), max([*ends, *(lane.deadline for lane in found)])
    is_tonight = start - _NEAR <= now <= end + _NEAR
    if is_tonight:
        start, end = min(start, now), max(end, now)
    start, end = start - timedelta(minutes=20), end + timedelta(minutes=20)
    top = _TOP + _CORES + 26
    bottom = top + _LANE * len(found)
    sheet = Drawing("When reports run tonight, and the cores that they want", _WIDTH, bottom + 26)

    def across(at: datetime) -> float:
        inside = min(max(at, start), end)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * ((inside - start) / (end - start))

    _hours(sheet, start, end, across, bottom)
    _cores(sheet, found, across)
    for number, lane in enumerate(found):
        _lane(sheet, lane, top + number * _LANE, across)
    if is_tonight:
        x = across(now)
        sheet.line("mark now", x, _TOP, x, bottom)
        sheet.text("now", x + 4, _TOP - 6, "now")
    return sheet


def _hours(sheet: Drawing, start: datetime, end: datetime, across: _Across, bottom: float) -> None:
    hours = (end - start) / timedelta(hours=1)
    days = math.ceil(hours / 24 / 16)
    step = next((s for s in (1, 2, 3, 6, 12, 24) if hours / s <= 16), 24 * days)
    at = start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while at <= end:
        if at >= start and at.timestamp() // 3600 % step == 0:
            x = across(at)
            sheet.line("midnight" if at.hour == 0 else "tick", x, _TOP, x, bottom)
            sheet.text(
                "soft", x, bottom + 17, f"{at:%H:%M}" if step < 24 else f"{at:%d %b}", "middle"
            )
        at += timedelta(hours=1)


def _cores(sheet: Drawing, found: Sequence[Lane], across: _Across) -> None:
    steps, foot = cores_in_use(found), _TOP + _CORES
    most = max([1, *(cores for _, cores in steps)])
    sheet.text("soft", _LEFT - 8, _TOP + 8, f"{most} cores", "end")
    sheet.text("soft", _LEFT - 8, foot, "0", "end")
    sheet.line("floor", _LEFT, foot, _WIDTH - _RIGHT, foot)
    points, before = [(_LEFT, foot)], foot
    for at, cores in steps:
        x, y = across(at), foot - _CORES * cores / most
        points += [(x, before), (x, y)]
        before = y
    sheet.polyline("seen", [*points, (_WIDTH - _RIGHT, before)])


def _lane(sheet: Drawing, lane: Lane, y: float, across: _Across) -> None:
    name = lane.row.report.name
    sheet.text("soft", _LEFT - 8, y + 12, short(name, _NAME), "end")
    sheet.line("floor", _LEFT, y + _LANE, _WIDTH - _RIGHT, y + _LANE)
    for look, at, what in (
        ("safe", lane.safe, "latest safe start"),
        ("deadline", lane.deadline, "deadline"),
    ):
        x = across(at)
        sheet.line(
            f"mark {look}", x, y + 2, x, y + _LANE - 2, says=f"{name}: {what} {at:%H:%M} UTC"
        )
    for run in lane.runs:
        x, wide = across(run.start), max(across(run.end) - across(run.start), 3.0)
        look = f"{'done' if run.made else 'planned'} {run.kind}"
        sheet.rect(look, x, y + 4, wide, _LANE - 8, says=_said(name, run))


def _said(name: str, run: LaneRun) -> str:
    what = "final run" if run.kind == "final" else f"run {run.run}"
    when = (
        f"{run.start:%H:%M} to {run.end:%H:%M} UTC"
        if run.end > run.start
        else (f"{run.start:%H:%M} UTC")
    )
    return f"{name}: {what} {'' if run.made else 'to come '}{when}"
