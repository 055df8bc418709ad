"""``forerun shadow``: how a report compares with the job that it runs beside, day by day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from forerun import console
from forerun.cli.stored.options import StoreOption
from forerun.include.days.handle import Day
from forerun.include.days.shadow_days import ShadowStanding, shadow_standing
from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.catalogue import newest_spec
from forerun.include.reports.shadow import Shadow
from forerun.include.reports.spec import ReportSpec, SpecError
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.include.verify.shadow import compare_days
from forerun.planner.errors import RequestError


def shadow_command(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="The name of the report.")],
    store: StoreOption,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="First compare the days that could not be until now."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON.")] = False,
) -> int:
    """Show the days of a report in shadow: equal to the other job or not, and what both took.

    Reads what the task compare has written down. The exit code is 0 if enough days are equal for
    switching readers over, else 1.
    """
    opened = open_store(store)
    spec, shadow = _in_shadow(opened, report)
    if compare:
        _compare(opened, spec, shadow)
    standing = shadow_standing(opened, report, shadow)
    if as_json:
        days = [asdict(day) for day in standing.days]
        record = {"report": report, "equal": standing.equal, "wanted": standing.wanted}
        console.say_json({**record, "enough": standing.enough, "days": days})
    else:
        console.say("\n".join(_lines(standing)))
    return 0 if standing.enough else 1


def _in_shadow(store: Store, report: str) -> tuple[ReportSpec, Shadow]:
    """The report as it was on its newest day."""
    spec = newest_spec(store, report)
    if spec is None:
        raise RequestError(
            f"the store does not know the report {report}",
            hint="It does from the first day on that a DAG run has opened. Is it this store?",
        )
    if spec.shadow is None:
        raise SpecError(
            f"report {report} was not in shadow on its newest day",
            hint="Give it shadow=Shadow(compare_with=...), and let a day run.",
        )
    return spec, spec.shadow


def _compare(store: Store, spec: ReportSpec, shadow: Shadow) -> None:
    for day in shadow_standing(store, spec.name, shadow).days:
        if day.verdict == "not-compared":
            generation = day.version.partition("-")[0]
            at = Day(store, spec, Generation(spec.name, day.day, generation))
            compare_days(at, shadow, utc_now())
            return  # it has looked at all of them


def _lines(standing: ShadowStanding) -> Iterator[str]:
    yield "day         verdict           rows    theirs   CPU s  theirs  version"
    for day in standing.days:
        theirs = "-" if day.other_rows is None else f"{day.other_rows:,}"
        cpu = "-" if day.other_cpu_s is None else f"{day.other_cpu_s:,.0f}"
        yield (
            f"{day.day}  {day.verdict:<12}  {day.rows:>8,}  {theirs:>8}  {day.cpu_s:>6,.0f}  "
            f"{cpu:>6}  {day.version}"
        )
        yield from (f"  {text}" for text in (*day.differences, *([day.why] if day.why else ())))
    yield standing.text
