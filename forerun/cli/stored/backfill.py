"""``forerun backfill``: a range of days, priced and computed, several days to an application."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from forerun import console
from forerun.cli.stored.options import StoreOption
from forerun.include.engines import own_engine
from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.catalogue import newest_spec
from forerun.include.past.backfill import Backfill, find_backfill
from forerun.include.reports.spec import ReportSpec, decode_report
from forerun.include.reports.values.clock import parse_day
from forerun.include.runs.exact_engines import settings_on
from forerun.include.stores.opening import open_store
from forerun.past.backfill_work import DoneDay, compute_all, refuse_inexact
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import RequestError

Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="spark; or sail, which is refused where its results might not be Spark's.",
    ),
]


def backfill_command(  # noqa: PLR0913 - the options of the command
    report: Annotated[str, typer.Argument(metavar="REPORT", help="The name of the report.")],
    first: Annotated[str, typer.Argument(metavar="FROM", help="The first day, YYYY-MM-DD.")],
    last: Annotated[str, typer.Argument(metavar="TO", help="The last day, YYYY-MM-DD.")],
    store: StoreOption,
    preview: Annotated[
        bool, typer.Option("--preview", help="Only say what is to be done and what it would take.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Compute and publish without asking.")] = False,
    together: Annotated[
        int, typer.Option("--together", min=1, help="At most so many days share an application.")
    ] = 31,
    lift: Annotated[
        bool, typer.Option("--lift/--no-lift", help="One query may compute several days.")
    ] = True,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", metavar="FILE", help="The report as JSON, if the store lacks it."),
    ] = None,
    engine: Engine = "spark",
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
) -> int:
    """Price a range of days, and compute and publish those that are missing or were corrected.

    Says of each day what is to be done and from which state, with the planner's estimate. Days
    that are published and whose sources are unchanged are left alone. Without a terminal it
    computes with `--yes` only.
    """
    chosen, known = own_engine(engine), _spec(store, report, spec)
    settings = settings_on(chosen)
    found = find_backfill(
        store,
        known,
        parse_day(first),
        parse_day(last),
        now=utc_now(),
        together=together,
        settings=settings,
        at_once=lift,
    )
    refuse_inexact(chosen, found)
    if not as_json:
        console.say("\n".join(_lines(found)))
    may_ask = sys.stdin.isatty() and not as_json and not yes
    if preview or not found.applications or not (yes or (may_ask and _agreed())):
        if as_json:
            console.say_json(_as_json(found))
        return 0
    say = console.notes().print if as_json else console.say
    done = tuple(compute_all(store, found, engine, master, settings, say))
    if as_json:
        console.say_json(_as_json(found, done))
    return 1 if any(one.error for one in done) else 0


def _agreed() -> bool:
    return typer.confirm("compute and publish them?", err=True)


def _spec(store: str, report: str, file: Path | None) -> ReportSpec:
    """The report as JSON, or as it was on its newest day that a DAG run has opened."""
    known = decode_report(file.read_bytes()) if file else newest_spec(open_store(store), report)
    if known is None:
        raise RequestError(
            f"the store does not know the report {report}",
            hint="Look at the name and the store. A report that no DAG runs is given by --spec.",
        )
    return known


def _lines(found: Backfill) -> Iterator[str]:
    for day in found.days:
        cost = f"{day.cost / MICRO:10.1f} CPU s" if day.is_to_do else " " * 16
        yield f"{day.date}  {day.standing:<9} {cost}  {day.what}"
    days = sum(day.is_to_do for day in found.days)
    if not days:
        yield "nothing to do"
        return
    for application in found.applications:
        if application.at_once:
            yield f"{len(application.at_once)} days by one query"
        elif application.why_not:
            yield f"each day by itself: {application.why_not}"
    many = len(found.applications)
    yield (
        f"{days} days to do in {many} application{'s' * (many > 1)}: {found.cost / MICRO:,.1f} "
        f"CPU s by estimate, {found.apart / MICRO:,.1f} with one for each day"
    )


def _as_json(found: Backfill, done: tuple[DoneDay, ...] = ()) -> dict[str, object]:
    return {
        "report": found.spec.name,
        "days": [
            {
                "day": day.date.isoformat(),
                "standing": day.standing,
                "what": day.what,
                "estimated_cpu_s": day.cost / MICRO,
            }
            for day in found.days
        ],
        "applications": [[day.date.isoformat() for day in a.days] for a in found.applications],
        "at_once": [
            {"days": sorted(day.isoformat() for day in a.at_once), "why_not": a.why_not}
            for a in found.applications
        ],
        "estimated_cpu_s": found.cost / MICRO,
        "apart_estimated_cpu_s": found.apart / MICRO,
        "done": [
            {"day": one.date.isoformat(), "version": one.version, "error": one.error}
            for one in done
        ],
    }
