"""Computing a range of days: applications one after the other, every day published by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from forerun.include.days.handle import Day
from forerun.include.engines import EngineSpec
from forerun.include.machine.jvm import home_folder
from forerun.include.machine.wall_clock import utc_now
from forerun.include.past.backfill import Application, Backfill, BackfillDay, begin_days
from forerun.include.past.repair_plans import bytes_read
from forerun.include.runs.exact_engines import refuse, why_not_as_planned, why_not_exact
from forerun.include.runs.prepare import PreparedRun, publish_result
from forerun.include.telemetry.events import Part
from forerun.past.telling import tell_planned, telling_how_runs_end, told_publication
from forerun.planner.errors import ForerunError
from forerun.planner.request import Settings
from forerun.simulation.running import Runner, open_runner, scratch_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneDay:
    """The outcome of a day: the version that is published, or why there is none."""

    date: date
    version: str = ""
    error: str = ""


def refuse_inexact(engine: EngineSpec, found: Backfill) -> None:
    """Raise :class:`forerun.include.runs.exact_engines.NotExactError` if an engine might give a day
    of the range other rows than Spark, or would have to read too much for this process."""
    for application in found.applications:
        for day in application.days:
            refuse(engine, f"{found.spec.name} of {day.date}", _why_not(engine, day, application))


def _why_not(engine: EngineSpec, day: BackfillDay, application: Application) -> list[str]:
    if day.repair is not None:
        best, pins = day.repair.best, day.repair.pins
        looked_at, size = {name: pin for name, (_, pin) in pins.items()}, bytes_read(best, pins)
        reasons = why_not_exact(engine, day.repair.day, looked_at)
        return reasons + why_not_as_planned(engine, day.repair.day, best.result.plan, size)
    if day.asked is None or day.plan is None:
        return []  # computed, and to be published
    together = [one.asked for one in application.days if one.date in application.at_once]
    asked = together if day.date in application.at_once else [day.asked]
    files = {f.uri: f.size for one in asked if one for pin in one.pins.values() for f in pin.files}
    reasons = why_not_exact(engine, day.asked.day, day.asked.pins)
    return reasons + why_not_as_planned(engine, day.asked.day, day.plan, sum(files.values()))


def compute_all(
    store_uri: str,
    found: Backfill,
    engine: str,
    master: str,
    settings: Settings,
    say: Callable[[str], None],
) -> Iterator[DoneDay]:
    """Compute and publish the days to do, oldest first, and yield what became of each. A day that
    fails holds up no other; asked for again, the range goes on with what is left."""
    logs = scratch_folder(home_folder() / "backfills", found.spec.name)
    with open_runner(engine, logs, master) as runner:
        for application in found.applications:
            for one in _together(store_uri, found, application, runner, settings, logs):
                say(f"{one.date}  {one.error or f'published, version {one.version}'}")
                yield one


def _together(
    store_uri: str,
    found: Backfill,
    application: Application,
    runner: Runner,
    settings: Settings,
    logs: Path,
) -> Iterator[DoneDay]:
    """The days of one application."""
    begun = begin_days(store_uri, found.spec, application, now=utc_now(), settings=settings)
    for day, prepared in begun.runs:
        tell_planned(day, prepared)
    for day_of, error in begun.failed:
        yield DoneDay(date=day_of, error=error.message)
    wanted = [prepared for _, prepared in begun.runs if not prepared.skip_reason]
    failed = ""
    if wanted:
        days = application.days
        name = f"{days[0].date}-{days[-1].date}"
        runs: list[tuple[Day, int, Part]]
        runs = [(day, one.run, "final") for day, one in begun.runs if not one.skip_reason]
        tiny = all(prepared.tiny for prepared in wanted)
        try:
            with telling_how_runs_end(lambda: runs):
                runner.run([p.plan_uri for p in wanted], name, tiny=tiny, lifted=begun.query)
        except ForerunError as error:  # of several runs each is committed by itself
            failed = error.message
    for day, prepared in begun.runs:
        yield _published(day, prepared, failed, logs)


def _published(day: Day, prepared: PreparedRun, failed: str, logs: Path) -> DoneDay:
    if day.commit(prepared.run) is None:
        why = failed or f"its run was not committed; {logs} has the log"
        return DoneDay(date=day.date, error=why)
    try:
        pointer = told_publication(
            day, prepared.run, lambda: publish_result(day, now=utc_now(), run=prepared.run)
        )
    except ForerunError as error:
        return DoneDay(date=day.date, error=error.message)
    return DoneDay(date=day.date, version=pointer.version)
