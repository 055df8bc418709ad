"""The day of a report as it would go, without doing it: columns, times, plan, what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from forerun.include.machine.settings import allowed_functions
from forerun.include.reports.declared import read_declared
from forerun.include.reports.sources.start_when import start_text
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs.day_request import sql_of
from forerun.include.runs.prepare import imagine_generation, prepare_run
from forerun.include.sources.completeness import find_missing
from forerun.include.stores.opening import default_store
from forerun.planner.errors import ForerunError
from forerun.planner.explain.tree import render


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOnDay:
    """A report on a day: ``date_text`` names the day or the period, ``columns`` are those of the
    result with their types, ``runs`` when each starts, in words, with its weight, ``due`` and
    ``safe_start`` the deadline and the last moment to start the final run without a forecast.
    ``missing`` is what sources lack now, ``plan`` what the first run would do with what is there,
    or why there is no plan."""

    date_text: str
    columns: tuple[tuple[str, str], ...]
    runs: tuple[tuple[str, float], ...]
    due: str
    safe_start: str
    missing: tuple[str, ...]
    plan: str
    is_planned: bool

    def lines(self) -> Iterator[str]:
        """Yield all of it for people."""
        yield f"  of {self.date_text}"
        yield "  columns"
        wide = max((len(name) for name, _ in self.columns), default=0)
        yield from (f"    {name:<{wide}}  {kind}" for name, kind in self.columns)
        yield "  times"
        for number, (at, weight) in enumerate(self.runs, start=1):
            name = "final run" if number == len(self.runs) else f"run {number}"
            yield f"    {name:<10} {at}, at {weight:g} of the full price"
        yield f"    {'safe start':<10} {self.safe_start} at the latest"
        yield f"    {'due':<10} {self.due}"
        yield "  waits for" if self.missing else "  waits for nothing: all sources are complete"
        yield from (f"    {each}" for each in self.missing)
        yield "  plan"
        yield from (f"    {line}".rstrip() for line in self.plan.splitlines())

    def record(self) -> dict[str, object]:
        """Return all of it as JSON has it."""
        return {
            "of": self.date_text,
            "columns": dict(self.columns),
            "runs": [{"at": at, "weight": weight} for at, weight in self.runs],
            "due": self.due,
            "safe_start": self.safe_start,
            "missing": list(self.missing),
            "planned": self.is_planned,
            "plan": self.plan,
        }


def report_on_day(spec: ReportSpec, day: date, now: datetime) -> ReportOnDay:
    """Look at a report of the day, or of the period that has it. Nothing is written. Raises
    :class:`ForerunError` for a text that cannot be read."""
    day = spec.bounds(day)[1]
    query = read_declared(spec, sql_of(spec), allowed_functions())
    found = zip(query.names, query.relation.columns, strict=True)
    plan, is_planned = _plan(spec, day, now)
    return ReportOnDay(
        date_text=spec.date_text(day),
        columns=tuple((name, column.type.sql) for name, column in found),
        runs=tuple(
            (_start(spec, number, at), run.weight)
            for number, (run, at) in enumerate(
                zip(spec.policy.runs, spec.points(day), strict=True), start=1
            )
        ),
        due=_clock(spec, spec.deadline_on(day)),
        safe_start=_clock(spec, spec.latest_safe_start(day)),
        missing=_missing(spec, day, now),
        plan=plan,
        is_planned=is_planned,
    )


def _start(spec: ReportSpec, number: int, at: datetime) -> str:
    when = spec.policy.runs[number - 1].when
    early = f"{start_text(when)}, or " if when else ""
    return f"{early}{_clock(spec, at)}"


def _clock(spec: ReportSpec, at: datetime) -> str:
    return f"{at.astimezone(spec.zone):%Y-%m-%d %H:%M} {spec.timezone}"


def _missing(spec: ReportSpec, day: date, now: datetime) -> tuple[str, ...]:
    try:
        return tuple(each.text for each in find_missing(spec, day, now))
    except ForerunError as error:
        return (f"the sources cannot be looked at: {error.message}",)


def _plan(spec: ReportSpec, day: date, now: datetime) -> tuple[str, bool]:
    try:
        opened = imagine_generation(spec.store or default_store(), spec, day, now=now)
        prepared = prepare_run(opened, 1, now=now)
    except ForerunError as error:
        return f"there is none: {error.message}\nhint: {error.hint}", False
    return (render(prepared.result) if prepared.result else prepared.skip_reason), True
