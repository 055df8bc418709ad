"""A night as a picture: every run under the ceiling, with prices, deadlines and latest starts.

One SVG, without a script and without anything from elsewhere; the page is the picture with a table.
Templates escape every value, since reports are named by people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from forerun.night.file import Night
from forerun.night.shown import NightClock, margin_text
from forerun.night.templates import PAGE, PICTURE
from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.many import NightPlan
from forerun.planner.schedule.night import NightReport, ReportPlan
from forerun.planner.schedule.night_course import NightCourse, ReportCourse

_LEFT, _SPAN, _RIGHT = 170.0, 860.0, 130.0
_CORES_TOP, _CORES_HIGH, _PRICE_TOP, _PRICE_HIGH, _ROWS_TOP = 74.0, 92.0, 178.0, 20.0, 226.0
_ROW, _SMALL_ROW, _MANY_ROWS = 26.0, 13.0, 60
_TICKS = 14
"""At most so many times are named."""

_HOUR = 3600.0
_STEPS = (1 / 30, 1 / 12, 1 / 4, 1, 2, 3, 6, 12, 24, 48, 96)
"""Hours between two of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A run in the picture: what it is (``early``, ``final``, ``failed``, ``lost``, ``planned``)
    and what is said when one points at it."""

    start: float
    end: float
    kind: str
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A report in the picture. ``left``: seconds before its deadline at which it ended."""

    report: NightReport
    arrivals: ArrivalCurve
    bars: tuple[Bar, ...]
    latest: float
    left: float


def plan_picture(night: Night, plan: NightPlan) -> str:
    """The picture of a plan, as SVG."""
    clock = NightClock(night)
    rows = [_plan_row(one, night, clock) for one in plan.plans]
    busy = [(run.start, run.end, p.report.cores) for p in plan.plans for run in p.runs]
    return _picture(night, rows, busy, f"The night of {night.day}: the plan")


def course_picture(night: Night, course: NightCourse, how: str = "simulated") -> str:
    """The picture of a night as it went: what happened, and in outline what was planned."""
    clock = NightClock(night)
    rows = [_course_row(one, night, clock) for one in course.reports]
    busy = [(t.start, t.end, c.plan.report.cores) for c in course.reports for t in c.tries]
    return _picture(night, rows, busy, f"The night of {night.day}: {how}", outline=True)


def page(
    night: Night, picture: str, record: dict[str, object], lines: Sequence[Sequence[str]]
) -> str:
    """A page around a picture, which is taken as it is: its own template has escaped everything in
    it. ``record`` is the night as JSON, ``lines`` as a table with its head
    (:mod:`forerun.night.shown`)."""
    return (
        _environment()
        .from_string(PAGE)
        .render(night=night, picture=Markup(picture), record=record, lines=lines)
    )


def _environment() -> Environment:
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)


def _plan_row(plan: ReportPlan, night: Night, clock: NightClock) -> Row:
    last = len(plan.runs) - 1
    bars = tuple(
        Bar(
            start=run.start,
            end=run.end,
            kind="final" if number == last else "early",
            tip=f"{'final run' if number == last else f'run {number + 1}'} "
            f"{clock(run.start)} - {clock(run.end)}: {run.rows:,} rows, {plan.report.cores:g} "
            "cores",
        )
        for number, run in enumerate(plan.runs)
    )
    return Row(
        report=plan.report,
        arrivals=plan.report.arrivals,
        bars=bars,
        latest=plan.safe_start(night.cluster),
        left=plan.report.deadline - plan.end,
    )


def _course_row(course: ReportCourse, night: Night, clock: NightClock) -> Row:
    planned = (
        Bar(start=run.start, end=run.end, kind="planned", tip=f"planned {clock(run.start)}")
        for run in course.plan.runs
    )
    tries = (
        Bar(
            start=one.start,
            end=one.end,
            kind=one.outcome if one.outcome != "done" else "final" if one.final else "early",
            tip=f"{clock(one.start)} - {clock(one.end)}: {one.rows:,} rows, {one.outcome}",
        )
        for one in course.tries
    )
    return Row(
        report=course.plan.report,
        arrivals=course.turnout.arrivals,
        bars=(*planned, *tries),
        latest=course.plan.safe_start(night.cluster),
        left=course.plan.report.deadline - course.finished,
    )


# -- where everything lies -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """Instants to places from left to right."""

    start: float
    end: float

    def __call__(self, instant: float) -> float:
        inside = min(max(instant, self.start), self.end)
        return round(_LEFT + _SPAN * (inside - self.start) / (self.end - self.start), 2)


def _picture(
    night: Night,
    rows: Sequence[Row],
    busy: Sequence[tuple[float, float, float]],
    title: str,
    *,
    outline: bool = False,
) -> str:
    """Draw rows; ``outline``: the plan is outlined beside what happened, and the legend says so."""
    ordered = sorted(rows, key=lambda row: (row.report.deadline, row.report.name))
    high = _ROW if len(ordered) <= _MANY_ROWS else _SMALL_ROW
    scale = _scale(night, ordered)
    clock = NightClock(night)
    bottom = _ROWS_TOP + high * len(ordered)
    top = max(night.cluster.ceiling.values)
    return (
        _environment()
        .from_string(PICTURE)
        .render(
            title=title,
            wide=_LEFT + _SPAN + _RIGHT,
            high=bottom + (92 if outline else 74),
            outline=outline,
            left=_LEFT,
            span=_SPAN,
            bottom=bottom,
            rows_top=_ROWS_TOP,
            cores_top=_CORES_TOP,
            cores_high=_CORES_HIGH,
            most=f"{top:g}",
            ceiling=_ceiling_path(night, scale, top),
            busy=_busy_path(busy, scale, top),
            price_top=_PRICE_TOP,
            price_high=_PRICE_HIGH,
            prices=list(_prices(night, scale)),
            blackouts=[(scale(b.start), scale(b.end)) for b in night.cluster.blackouts],
            ticks=[(scale(at), clock(at)) for at in _ticks(scale, night)],
            rows=[_drawn(row, i, high, scale, clock) for i, row in enumerate(ordered)],
            small=high == _SMALL_ROW,
        )
    )


def _scale(night: Night, rows: Sequence[Row]) -> _Scale:
    """From a little before the first run to a little after the last end or deadline."""
    starts = [bar.start for row in rows for bar in row.bars]
    ends = [*(row.report.deadline for row in rows), *(bar.end for row in rows for bar in row.bars)]
    finite = [end for end in ends if math.isfinite(end)]
    start, end = min(starts), max(finite)
    room = max(0.02 * (end - start), min(0.1 * (end - start), 600.0))
    return _Scale(max(night.cluster.start, start - room), min(night.cluster.end, end + room))


def _ticks(scale: _Scale, night: Night) -> Iterator[float]:
    """Whole hours of the night, or parts of hours, few enough to be named."""
    hours = (scale.end - scale.start) / _HOUR
    step = next(s for s in _STEPS if hours / s <= _TICKS) * _HOUR
    at = night.cluster.start + math.ceil((scale.start - night.cluster.start) / step) * step
    while at <= scale.end:
        yield at
        at += step


def _ceiling_path(night: Night, scale: _Scale, top: float) -> str:
    parts = []
    for piece in night.cluster.ceiling.pieces:
        if piece.end > scale.start and piece.start < scale.end:
            y = _cores_y(piece.value, top)
            parts.append(f"L{scale(piece.start)} {y} L{scale(piece.end)} {y}")
    return "M" + " ".join(parts)[1:]


def _busy_path(runs: Iterable[tuple[float, float, float]], scale: _Scale, top: float) -> str:
    """The area of the cores that are busy."""
    changes = sorted(
        change for start, end, cores in runs for change in ((start, cores), (end, -cores))
    )
    busy, parts = 0.0, [f"M{_LEFT} {_cores_y(0, top)}"]
    for at, cores in changes:
        parts.append(f"L{scale(at)} {_cores_y(busy, top)}")
        busy = max(0.0, busy + cores)
        parts.append(f"L{scale(at)} {_cores_y(busy, top)}")
    parts.append(f"L{_LEFT + _SPAN} {_cores_y(0, top)} Z")
    return " ".join(parts)


def _cores_y(cores: float, top: float) -> float:
    return round(_CORES_TOP + _CORES_HIGH * (1 - min(cores / top, 1.0)), 2)


def _prices(night: Night, scale: _Scale) -> Iterator[tuple[float, float, float, str]]:
    """Place, width, strength of colour and text of each price."""
    most = max(night.cluster.prices.values)
    for piece in night.cluster.prices.pieces:
        x, end = scale(piece.start), scale(piece.end)
        if end > x:
            text = f"{piece.value:g}" if end - x > 28 else ""
            yield x, round(end - x, 2), round(0.12 + 0.6 * piece.value / most, 2), text


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnRow:
    """A row in places: everything the template needs."""

    name: str
    y: float
    high: float
    arrivals: str
    complete: float
    deadline: float
    latest: float
    late: bool
    left: str
    tip: str
    bars: list[tuple[float, float, str, str]]


def _drawn(row: Row, number: int, high: float, scale: _Scale, clock: NightClock) -> _DrawnRow:
    y = _ROWS_TOP + number * high
    report = row.report
    late = row.left < -1e-6
    return _DrawnRow(
        name=report.name,
        y=y,
        high=high,
        arrivals=_arrivals_path(row.arrivals, y, high, scale),
        complete=scale(row.arrivals.complete_at),
        deadline=scale(report.deadline),
        latest=scale(row.latest),
        late=late,
        left=margin_text(row.left),
        tip=f"{report.name}: complete {clock(row.arrivals.complete_at)}, latest start "
        f"{clock(row.latest)}, due {clock(report.deadline)}",
        bars=[
            (scale(b.start), round(max(scale(b.end) - scale(b.start), 2.0), 2), b.kind, b.tip)
            for b in row.bars
        ],
    )


def _arrivals_path(arrivals: ArrivalCurve, y: float, high: float, scale: _Scale) -> str:
    """What has come of the day's rows, as an area that fills the row; it is whole from the last one
    on, and ends there."""
    last = scale(arrivals.complete_at)
    inner = [x for x in arrivals.rows.xs if scale.start < x < arrivals.complete_at]
    points = [scale.start, *inner, arrivals.complete_at]
    foot = y + high - 2
    parts = [f"M{scale(scale.start)} {foot}"]
    for at in points:
        part = arrivals.rows.at(at) / arrivals.rows.ys[-1]
        parts.append(f"L{scale(at)} {foot - (high - 6) * part:.1f}")
    return " ".join([*parts, f"L{last} {foot} Z"])
