"""A night on a terminal, and as JSON: when each report runs, by when it is due, what it pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.markup import escape
from rich.table import Table as Grid

from forerun import console
from forerun.night.file import Night
from forerun.planner.schedule.many import NightPlan
from forerun.planner.schedule.night import ReportPlan
from forerun.planner.schedule.night_course import Attempt, NightCourse, ReportCourse

_LATE = "late by"
_MARKS = {"done": "", "failed": " failed", "lost": " lost"}


@dataclass(frozen=True, slots=True)
class NightClock:
    """Says instants of a night as a report's author would: ``26:30`` is half past two in the night
    after the day. (On a day when clocks change, by the clock of the wall.)"""

    night: Night

    def __call__(self, instant: float) -> str:
        local = datetime.fromtimestamp(round(instant / 60) * 60, self.night.zone)
        days = (local.date() - self.night.day).days
        return f"{24 * days + local.hour:02}:{local.minute:02}"

    def iso(self, instant: float) -> str:
        """The instant in UTC, for programs."""
        return datetime.fromtimestamp(instant, UTC).isoformat(timespec="seconds")


def show_plan(night: Night, plan: NightPlan, plain: NightPlan) -> None:
    """The plan as a table on stdout, and below it what it saves."""
    title = f"The night of {night.day} ({night.zone.key})"
    console.output().print(_coloured(title, plan_lines(night, plan)))
    console.say("\n".join(_totals(plan, plain, night)))


def plan_lines(night: Night, plan: NightPlan) -> list[tuple[str, ...]]:
    """The plan as a head and a line for each report, the first one due first."""
    clock = NightClock(night)
    head = ("report", "cores", "complete", "early runs", "final run", "latest start", "due", "")
    lines: list[tuple[str, ...]] = [head]
    for one in _by_deadline(plan.plans):
        final = one.runs[-1]
        lines.append(
            (
                one.report.name,
                f"{one.report.cores:g}",
                clock(one.report.arrivals.complete_at),
                ", ".join(clock(run.start) for run in one.runs[:-1]),
                f"{clock(final.start)} - {clock(final.end)}",
                clock(one.safe_start(night.cluster)),
                clock(one.report.deadline),
                margin_text(one.report.deadline - one.end),
            )
        )
    return lines


def show_change(night: Night, before: NightPlan, after: NightPlan) -> None:
    """What a change makes of a night: the sums, and the reports that run otherwise."""
    clock = NightClock(night)
    grid = _grid("What if", ("", "as it is", "then"))
    for name, old, new in (
        ("deadlines missed", f"{len(before.missed)}", f"{len(after.missed)}"),
        ("paid, core hours by price", f"{before.cost / 3600:,.1f}", f"{after.cost / 3600:,.1f}"),
        ("cores at the peak", f"{before.peak:g}", f"{after.peak:g}"),
    ):
        grid.add_row(name, old, new)
    earlier = {plan.report.name: plan for plan in before.plans}
    later = {plan.report.name: plan for plan in after.plans}
    for name in sorted({*earlier, *later}):
        old, new = (
            _runs_text(plan, clock) if plan is not None else "-"
            for plan in (earlier.get(name), later.get(name))
        )
        if old != new:
            grid.add_row(escape(name), old, new)
    console.output().print(grid)


def show_course(night: Night, course: NightCourse, plain: NightCourse) -> None:
    """How a simulated night went, beside its plan."""
    title = f"The night of {night.day} ({night.zone.key}), simulated"
    console.output().print(_coloured(title, course_lines(night, course)))
    console.say(
        f"{_missed_text(len(course.missed), len(course.reports))}; paid {course.cost / 3600:,.1f} "
        f"core hours by price, at most {course.peak:g} cores at once\n"
        "one batch of each report as soon as it is complete, on the same night: "
        f"{len(plain.missed)} missed, paid {plain.cost / 3600:,.1f}"
    )


def course_lines(night: Night, course: NightCourse) -> list[tuple[str, ...]]:
    """A simulated night as a head and a line for each report, the first one due first."""
    clock = NightClock(night)
    lines: list[tuple[str, ...]] = [("report", "planned end", "runs", "ended", "due", "")]
    for one in sorted(course.reports, key=lambda one: (one.plan.report.deadline, one.name)):
        deadline = one.plan.report.deadline
        lines.append(
            (
                one.name,
                clock(one.plan.end),
                ", ".join(_attempt_text(each, clock) for each in one.tries),
                clock(one.finished),
                clock(deadline),
                margin_text(deadline - one.finished),
            )
        )
    return lines


def _coloured(title: str, lines: Sequence[Sequence[str]]) -> Grid:
    """A table of lines under their head, the last column red where it says that it is late."""
    grid = _grid(title, lines[0])
    for line in lines[1:]:
        *cells, margin = map(escape, line)
        colour = "bold red" if margin.startswith(_LATE) else "green"
        grid.add_row(*cells, f"[{colour}]{margin}[/]")
    return grid


def _grid(title: str, columns: Sequence[str]) -> Grid:
    grid = Grid(title=title, title_justify="left")
    for name in columns:
        is_text = name in ("report", "early runs", "runs", "as it is", "then")
        grid.add_column(name, justify="left" if is_text else "right")
    return grid


def _by_deadline(plans: Sequence[ReportPlan]) -> list[ReportPlan]:
    return sorted(plans, key=lambda plan: (plan.report.deadline, plan.report.name))


def _runs_text(plan: ReportPlan, clock: NightClock) -> str:
    late = f", {_LATE} {minutes_text(plan.missing)}" if plan.missing else ""
    return ", ".join(clock(run.start) for run in plan.runs) + late


def _attempt_text(one: Attempt, clock: NightClock) -> str:
    return f"{clock(one.start)}{_MARKS[one.outcome]}"


def margin_text(seconds: float) -> str:
    """Return how much time is left before a deadline, or missing."""
    if seconds < -1e-6:
        return f"{_LATE} {minutes_text(-seconds)}"
    return f"{minutes_text(seconds)} left"


def minutes_text(seconds: float) -> str:
    """Return a length of time, as people say it."""
    minutes = round(seconds / 60)
    if minutes == 0 and seconds > 0:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02} min"


def _missed_text(missed: int, reports: int) -> str:
    return (
        f"every one of {reports} deadlines is met"
        if not missed
        else (f"{missed} of {reports} deadlines are missed")
    )


def _totals(plan: NightPlan, plain: NightPlan, night: Night) -> Iterator[str]:
    most = max(night.cluster.ceiling.values)
    early = sum(len(one.runs) - 1 for one in plan.plans)
    yield (
        f"{_missed_text(len(plan.missed), len(plan.plans))}; {early} early runs, at most "
        f"{plan.peak:g} of {most:g} cores at once"
    )
    yield (
        f"paid {plan.cost / 3600:,.1f} core hours by price; one batch of each report as soon as it "
        f"is complete: {plain.cost / 3600:,.1f}, and {len(plain.missed)} missed"
    )
    for name, fit in night.fits.items():
        merge = "" if fit.merge_error is None else f", final runs by {fit.merge_error:.0%}"
        yield f"{name}: its cost is fitted, and misses runs left out by {fit.error:.0%}{merge}"
    yield from night.remarks
    for name, why in night.left_out.items():
        yield f"{name} is left out: {why}"


# -- JSON ----------------------------------------------------------------------------------------


def plan_record(night: Night, plan: NightPlan, plain: NightPlan) -> dict[str, object]:
    """The plan for programs: instants in UTC, seconds, core seconds."""
    clock = NightClock(night)
    return {
        **_head(night),
        "missed": [one.report.name for one in plan.missed],
        "paid": plan.cost,
        "peak_cores": plan.peak,
        "rounds": plan.rounds,
        "repairs": plan.repairs,
        "one_batch_each": {
            "missed": [one.report.name for one in plain.missed],
            "paid": plain.cost,
        },
        "fits": {
            name: {"error": fit.error, "merge_error": fit.merge_error}
            for name, fit in night.fits.items()
        },
        "left_out": dict(night.left_out),
        "remarks": list(night.remarks),
        "reports": [_plan_record(one, night, clock) for one in _by_deadline(plan.plans)],
    }


def _head(night: Night) -> dict[str, object]:
    return {"day": night.day.isoformat(), "zone": night.zone.key}


def _plan_record(plan: ReportPlan, night: Night, clock: NightClock) -> dict[str, object]:
    last = len(plan.runs) - 1
    return {
        "name": plan.report.name,
        "cores": plan.report.cores,
        "complete": clock.iso(plan.report.arrivals.complete_at),
        "deadline": clock.iso(plan.report.deadline),
        "latest_start": clock.iso(plan.safe_start(night.cluster)),
        "missing_s": plan.missing,
        "reserve_short_s": plan.short,
        "paid": plan.cost,
        "runs": [
            {
                "start": clock.iso(run.start),
                "seconds": run.seconds,
                "rows": run.rows,
                "final": number == last,
            }
            for number, run in enumerate(plan.runs)
        ],
    }


def course_record(night: Night, course: NightCourse, plain: NightCourse) -> dict[str, object]:
    """A simulated night for programs."""
    clock = NightClock(night)
    return {
        **_head(night),
        "missed": [one.name for one in course.missed],
        "paid": course.cost,
        "peak_cores": course.peak,
        "one_batch_each": {"missed": [one.name for one in plain.missed], "paid": plain.cost},
        "reports": [_course_record(one, clock) for one in course.reports],
    }


def _course_record(course: ReportCourse, clock: NightClock) -> dict[str, object]:
    return {
        "name": course.name,
        "deadline": clock.iso(course.plan.report.deadline),
        "planned_end": clock.iso(course.plan.end),
        "ended": clock.iso(course.finished),
        "missing_s": course.missing,
        "tries": [
            {
                "start": clock.iso(one.start),
                "end": clock.iso(one.end),
                "rows": one.rows,
                "final": one.final,
                "outcome": one.outcome,
            }
            for one in course.tries
        ],
    }
