"""Draws a day on a real clock: what arrives, when runs work, and how far the deadline is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from forerun.airflow.pages.drawing import Drawing
from forerun.airflow.pages.figures import clock, duration, rows, short
from forerun.include.oncall.day.records import DayRecords
from forerun.include.oncall.day.view import Arrivals, DayView, ShownRun
from forerun.include.oncall.night.rows import NightRow
from forerun.include.reports.values.clock import DAY_S, DayTime, parse_time

_WIDTH, _LEFT, _RIGHT = 1160.0, 150.0, 24.0
_TOP, _LANE, _GAP = 76.0, 44.0, 10.0
_LETTER = 7.4
"""A letter of a label is at most about so many pixels wide, also in bold."""


class Scale:
    """Maps instants to pixels."""

    def __init__(self, start: datetime, end: datetime, left: float, right: float) -> None:
        self.start, self.end = start, end
        self._left, self._per_s = left, (right - left) / max(1.0, (end - start).total_seconds())

    def x(self, moment: datetime) -> float:
        return self._left + (moment - self.start).total_seconds() * self._per_s

    def shows(self, moment: datetime) -> bool:
        return self.start <= moment <= self.end


def day_timelines(view: DayView, row: NightRow, now: datetime) -> list[Drawing]:
    """The day as one drawing. A day that was opened after its deadline (a replay, a backfill) is
    two: as it was planned, and as it was done on the clock of that time."""
    records = view.records
    planned = _planned_scale(records, now)
    if records.started_at < records.deadline:
        return [_draw(view, row, planned, now, "The day on its clock")]
    done = _done_scale(records, now)
    return [
        _draw(view, row, planned, now, "The day as it is planned"),
        _draw(view, row, done, now, "The same day as it was run, later"),
    ]


def _planned_scale(records: DayRecords, now: datetime) -> Scale:
    midnight = parse_time("00:00", "the start of the day").on(records.date, records.spec.zone)
    begins = records.spec.begins(records.date)
    last = [records.deadline + timedelta(hours=1)]
    if records.started_at < records.deadline and records.published:
        at = datetime.fromisoformat(records.published.published_at)
        last.append(min(at + timedelta(hours=1), midnight + timedelta(hours=60)))
    if begins < now < midnight + timedelta(hours=60):
        last.append(now + timedelta(minutes=30))
    return Scale(begins, max(last), _LEFT, _WIDTH - _RIGHT)


def _done_scale(records: DayRecords, now: datetime) -> Scale:
    ends = [datetime.fromisoformat(commit.committed_at) for commit in records.chain]
    if records.published:
        ends.append(datetime.fromisoformat(records.published.published_at))
    start, end = records.started_at, max(ends) if ends else now
    room = max((end - start) * 0.04, timedelta(seconds=20))
    return Scale(start - room, end + room, _LEFT, _WIDTH - _RIGHT)


def _draw(view: DayView, row: NightRow, scale: Scale, now: datetime, title: str) -> Drawing:
    sheet = Drawing(title, _WIDTH)
    shown = [one for one in view.arrivals if _is_in(one, scale)]
    lanes = len(shown)
    bottom = _TOP + (lanes + 1) * (_LANE + _GAP)
    _hours(sheet, view.records, scale, bottom)
    _marks(sheet, row, scale, now, bottom)
    for number, arrivals in enumerate(shown):
        _arrivals(sheet, arrivals, scale, _TOP + number * (_LANE + _GAP), view.records)
    _runs(sheet, view, scale, _TOP + lanes * (_LANE + _GAP))
    sheet.height = bottom + 30
    return sheet


def _hours(sheet: Drawing, records: DayRecords, scale: Scale, bottom: float) -> None:
    """The clock below: a tick where a reader expects one, six to fourteen of them."""
    span = (scale.end - scale.start).total_seconds()
    steps = (10, 30, 60, 300, 600, 1800, 3600, 7200, 10800, 14400, DAY_S, 7 * DAY_S)
    step = next((s for s in steps if span / s <= 14), steps[-1])
    for moment in _ticks(scale, step, records.spec.zone):
        local = moment.astimezone(records.spec.zone)
        form = f"{local:%H:%M:%S}" if step < 60 else f"{local:%H:%M}"
        new_day = local.hour == local.minute == 0
        x = scale.x(moment)
        sheet.line("midnight" if new_day else "tick", x, _TOP - 6, x, bottom)
        sheet.text("soft", x, bottom + 16, f"{local:%-d %b}" if new_day else form, "middle")


def _ticks(scale: Scale, step: int, zone: ZoneInfo) -> Iterator[datetime]:
    """The instants within a scale, ``step`` seconds apart; whole days begin when the clock says."""
    seconds = int(scale.start.timestamp()) // step * step
    first = scale.start.astimezone(zone).date()
    while True:
        seconds += step
        if step < DAY_S:
            moment = datetime.fromtimestamp(seconds, UTC)
        else:
            days = seconds // step - int(scale.start.timestamp()) // step
            moment = DayTime(days * step, elapsed=False).on(first, zone)
        if moment >= scale.end:
            return
        yield moment


def _is_in(arrivals: Arrivals, scale: Scale) -> bool:
    """Return whether there is anything of a source to draw."""
    known = (*arrivals.seen, *arrivals.expected)
    return not known or any(scale.shows(at) for at, _ in known)


def _arrivals(
    sheet: Drawing, arrivals: Arrivals, scale: Scale, top: float, records: DayRecords
) -> None:
    """A source: rows as they were seen when they were pinned, over those that were expected."""
    counts = [count for _, count in (*arrivals.seen, *arrivals.expected)]
    most, bottom = max([1, *counts]), top + _LANE
    sheet.text("label", _LEFT - 12, top + 18, short(arrivals.source, 19), "end")
    newest = f"{rows(arrivals.seen[-1][1])} rows" if arrivals.seen else "not pinned yet"
    sheet.text("soft", _LEFT - 12, top + 34, newest, "end")
    sheet.line("floor", _LEFT, bottom, _WIDTH - _RIGHT, bottom)

    def y(count: int) -> float:
        return bottom - (_LANE - 6) * count / most

    expected = [(scale.x(at), y(n)) for at, n in arrivals.expected if scale.shows(at)]
    if expected:
        first = bottom if arrivals.growing else expected[0][1]
        sheet.polyline("expected", [(scale.x(scale.start), first), *expected])
    points = [(scale.start, 0), *((at, n) for at, n in arrivals.seen if scale.shows(at))]
    for (_, before), (at, count) in pairwise(points):
        x = scale.x(at)
        said = (
            f"{arrivals.source}: {count:,} rows at "
            f"{clock(at, records.date, records.spec.zone)}, {count - before:,} of them new"
        )
        sheet.rect("arrived", x - 4, y(count), 8, max(bottom - y(count), 1.0), says=said)
        if count != before:
            label = f"+{rows(count - before)}"
            fits = x + 8 + _LETTER * len(label) <= _WIDTH
            place, anchor = (x + 8, "start") if fits else (x - 8, "end")
            sheet.text("figure", place, y(count) + 10, label, anchor)


def _runs(sheet: Drawing, view: DayView, scale: Scale, top: float) -> None:
    middle = top + _LANE / 2
    sheet.text("label", _LEFT - 12, middle - 2, "runs", "end")
    sheet.text("soft", _LEFT - 12, middle + 13, "× price", "end")
    sheet.line("floor", _LEFT, middle, _WIDTH - _RIGHT, middle)
    for run in view.runs:
        name = "final" if run.final else f"run {run.index}"
        if scale.shows(run.at):
            x = scale.x(run.at)
            look = f"{'done' if run.commit else 'planned'} {_tint(run)}"
            sheet.dot(look, x, middle, 6, says=_run_said(run, view.records))
            sheet.text("figure strong", x, middle - 12, name, "middle")
            sheet.text("soft", x, middle + 22, f"×{run.weight:g}", "middle")
        if run.commit is not None:
            end = datetime.fromisoformat(run.commit.committed_at)
            start = end - timedelta(seconds=run.commit.metrics.wall_s)
            if scale.shows(end):
                x = max(scale.x(start), _LEFT)
                width = scale.x(end) - x
                said = _run_said(run, view.records)
                sheet.rect(f"done {_tint(run)}", x, middle - 7, max(width, 5.0), 14, says=said)
                if not scale.shows(run.at):
                    sheet.text("figure strong", x, middle - 12, name)


def _tint(run: ShownRun) -> str:
    return "final" if run.final else "idle" if run.state == "not opened" else "early"


def _run_said(run: ShownRun, records: DayRecords) -> str:
    at = clock(run.at, records.date, records.spec.zone)
    said = f"{'The final run' if run.final else f'Run {run.index}'}, {at}: {run.state}"
    if run.commit is None:
        return said
    end = datetime.fromisoformat(run.commit.committed_at)
    took = duration(run.commit.metrics.wall_s)
    return f"{said} at {clock(end, records.date, records.spec.zone)} after {took}"


def _marks(sheet: Drawing, row: NightRow, scale: Scale, now: datetime, bottom: float) -> None:
    """Draw what the day is measured by: safe start, deadline, forecast or publication, and now."""
    records = row.records
    if records is None or row.standing is None:
        return
    marks = [
        ("safe", records.safe.at, "safe start"),
        ("deadline", records.deadline, "deadline"),
        ("now", now, "now"),
    ]
    if row.standing.finish is not None:
        done = row.standing.finish.done
        name = "published" if done else "forecast"
        marks.append(("published" if done else "forecast", row.standing.finish.at, name))
    shown = sorted((mark for mark in marks if scale.shows(mark[1])), key=lambda mark: mark[1])
    ends = [0.0, 0.0, 0.0, 0.0]
    for look, at, name in shown:
        x, at_said = scale.x(at), clock(at, records.date, records.spec.zone)
        label = f"{name} {at_said}"
        width = _LETTER * len(label)
        place = min(max(x, _LEFT + width / 2), _WIDTH - width / 2)
        free = [number for number, end in enumerate(ends) if place - width / 2 > end]
        line = free[0] if free else len(ends) - 1
        ends[line] = place + width / 2
        y = 12.0 + 15 * line
        sheet.line(f"mark {look}", x, y + 4, x, bottom, says=f"{name} at {at_said}")
        sheet.text(f"figure {look}", place, y, label, "middle")


def strip(row: NightRow, now: datetime) -> Drawing | None:
    """A day in the width of a column: runs as dots, the deadline, and now."""
    records = row.records
    if records is None:
        return None
    sheet = Drawing(_strip_said(records), 132.0, 22.0)
    scale = Scale(records.spec.begins(records.date), records.deadline + timedelta(hours=1), 4, 128)
    sheet.line("floor", 4, 12, 128, 12)
    if scale.shows(now):
        sheet.rect("spent", 4, 10.5, scale.x(now) - 4, 3)
        sheet.line("mark now", scale.x(now), 4, scale.x(now), 20)
    done = {commit.run for commit in records.chain}
    opened = {run.index for run in records.plan.runs if run.opened} if records.plan else set()
    for run, at in enumerate(records.points, start=1):
        final = run == records.spec.runs
        tint = "final" if final else "early"
        look = f"done {tint}" if run in done else f"planned {tint}" if run in opened else "idle"
        sheet.dot(look, scale.x(at), 12, 4.2 if final else 3.4)
    sheet.line("mark deadline", scale.x(records.deadline), 3, scale.x(records.deadline), 21)
    return sheet


def _strip_said(records: DayRecords) -> str:
    done = [str(commit.run) for commit in records.chain]
    return f"runs {', '.join(done)} of {records.spec.runs} are committed" if done else "no run yet"
