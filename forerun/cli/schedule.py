"""``forerun schedule``: plan a night of reports under one ceiling, or simulate it; what it says of
the cluster of a store is in :mod:`forerun.cli.cluster`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from forerun import console
from forerun.cli import cluster as cluster_command
from forerun.include.machine.wall_clock import utc_now
from forerun.include.reports.values.clock import parse_day
from forerun.include.stores.opening import open_store
from forerun.night import shown as shown_night
from forerun.night.budgets import plan_within
from forerun.night.file import Night, read_night
from forerun.night.picture import course_picture, page, plan_picture
from forerun.night.simulated import Surprises
from forerun.night.stored import stored_night
from forerun.night.what_if import FORMS, apply_all
from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.many import NightPlan, at_fixed_times, place_all, plan_night
from forerun.planner.schedule.night import NightReport
from forerun.planner.schedule.night_course import run_night

_MANY = 100
"""From so many reports on, planning shows a progress bar."""


class _PlansByDefault(TyperGroup):
    """``forerun schedule NIGHT`` is ``forerun schedule plan NIGHT``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "--help"}:
            args = ["plan", *args]
        return super().parse_args(ctx, args)


schedule_app = typer.Typer(
    cls=_PlansByDefault,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="When the reports of a night run, under one ceiling. `forerun schedule NIGHT` plans, "
    "`forerun schedule --store URI` plans that of a store; "
    "`forerun schedule simulate NIGHT` runs one with a virtual clock; `show`, `stop` and `resume` "
    "are about the cluster of a store.",
)

_NIGHT = typer.Argument(metavar="NIGHT", help="The night: a .toml, .json or .yaml file.")
NightOrNone = Annotated[Path | None, _NIGHT]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page of it.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write its picture.")]
AsJson = Annotated[bool, typer.Option("--json", help="All figures as JSON.")]
StoreUri = Annotated[
    str,
    typer.Option(
        "--store", metavar="URI", help="In place of NIGHT: the reports that this store knows."
    ),
]
OfDay = Annotated[
    str,
    typer.Option("--day", metavar="YYYY-MM-DD", help="With --store: the reports' day; else today."),
]
ClusterName = Annotated[
    str,
    typer.Option("--cluster", metavar="NAME", help="With --store: of which cluster, if of many."),
]
WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if", metavar="CHANGE", help=f"Something else in it: {FORMS}. As often as wanted."
    ),
]


@schedule_app.command(
    "plan",
    epilog="**Examples**\n\n"
    "`forerun schedule night.toml`\n\n"
    "`forerun schedule night.toml --html night.html`\n\n"
    "`forerun schedule night.toml --what-if ceiling=0.5x --what-if late=orders:+01:00`\n\n"
    "`forerun schedule night.toml --what-if price=01:00-05:00:0.3 --json`\n\n"
    "`forerun schedule --store s3://lake/state --what-if ceiling=0.5x`\n\n"
    "`forerun schedule --store s3://lake/state --cluster night --day 2026-11-23`",
)
def plan_command(
    night: NightOrNone = None,
    store: StoreUri = "",
    day: OfDay = "",
    cluster: ClusterName = "",
    what_if: WhatIf = None,
    html: Html = None,
    svg: Svg = None,
    as_json: AsJson = False,
) -> int:
    """Plan a night: how many early runs each report makes, when, and in which order.

    The night is given by a file, or read from a store: when rows came and what runs took on past
    days. Exit code 1 where a deadline is missed.
    """
    given = _given(night, store, day, cluster)
    changed = apply_all(given, what_if or ())
    plan, plain = _planned(changed), _plain(changed)
    picture = plan_picture(changed, plan)
    _write(svg, picture)
    record = shown_night.plan_record(changed, plan, plain)
    _write(html, page(changed, picture, record, shown_night.plan_lines(changed, plan)))
    if as_json:
        if what_if:
            record["as_it_is"] = shown_night.plan_record(given, _planned(given), _plain(given))
        console.say_json(record)
        return int(bool(plan.missed))
    shown_night.show_plan(changed, plan, plain)
    if what_if:
        shown_night.show_change(given, _planned(given), plan)
    return int(bool(plan.missed))


@schedule_app.command(
    "simulate",
    epilog="**Examples**\n\n"
    "`forerun schedule simulate night.toml`\n\n"
    "`forerun schedule simulate night.toml --late orders=+01:00 --slow stock=1.5`\n\n"
    "`forerun schedule simulate night.toml --failed orders=1 --lost stock=2 --html night.html`\n\n"
    "`forerun schedule simulate --store s3://lake/state --surprises 7`",
)
def simulate_command(  # noqa: PLR0913 - the options of the command
    night: NightOrNone = None,
    store: StoreUri = "",
    day: OfDay = "",
    cluster: ClusterName = "",
    late: Annotated[
        list[str] | None,
        typer.Option("--late", metavar="NAME=+HH:MM", help="Its source is late by so much."),
    ] = None,
    slow: Annotated[
        list[str] | None,
        typer.Option("--slow", metavar="NAME=FACTOR", help="Its runs take so many times as long."),
    ] = None,
    failed: Annotated[
        list[str] | None,
        typer.Option("--failed", metavar="NAME=TRY", help="A try fails, counted from 1."),
    ] = None,
    lost: Annotated[
        list[str] | None,
        typer.Option(
            "--lost", metavar="NAME=TRY", help="Nobody hears of a try; its cores wait for a lease."
        ),
    ] = None,
    surprises: Annotated[
        int | None,
        typer.Option("--surprises", metavar="SEED", help="Every report a little otherwise, too."),
    ] = None,
    html: Html = None,
    svg: Svg = None,
    as_json: AsJson = False,
) -> int:
    """Run a night with a virtual clock, with faults, and compare with one batch of each report.

    The night is decided again as it goes on, by what is known then, as in Airflow.

    Exit code 1 where a deadline is missed.
    """
    given = _given(night, store, day, cluster)
    turnouts = Surprises(
        late=tuple(late or ()),
        slow=tuple(slow or ()),
        failed=tuple(failed or ()),
        lost=tuple(lost or ()),
        seed=surprises,
    ).turnouts(given)
    course = run_night(_planned(given).plans, given.cluster, turnouts, again=True)
    plain = run_night(
        at_fixed_times(given.reports, given.cluster, (given.cluster.start,)),
        given.cluster,
        turnouts,
    )
    record = shown_night.course_record(given, course, plain)
    picture = course_picture(given, course)
    _write(svg, picture)
    _write(html, page(given, picture, record, shown_night.course_lines(given, course)))
    if as_json:
        console.say_json(record)
    else:
        shown_night.show_course(given, course, plain)
    return int(bool(course.missed))


cluster_command.add_to(schedule_app)  # after the two that are meant where none is named


def _given(file: Path | None, store: str, day: str, cluster: str) -> Night:
    if (file is None) == (not store):
        raise ScheduleError(
            "a night is given by a file or by a store",
            hint="Give either NIGHT, a .toml, .json or .yaml file, or --store URI.",
        )
    if file is None:
        named = parse_day(day) if day else None
        return stored_night(open_store(store), cluster, named, utc_now())
    if day or cluster:
        raise ScheduleError(
            "--day and --cluster say what is read from a store, and the night is given by a file",
            hint="Write the day and the cluster into the file.",
        )
    return read_night(file)


def _planned(night: Night) -> NightPlan:
    if len(night.reports) < _MANY:
        return plan_within(
            night.budgets, night.reports, lambda reports: plan_night(reports, night.cluster)
        )
    with console.progress() as bars:

        def plan(reports: Sequence[NightReport]) -> NightPlan:
            task = bars.add_task("reports", total=len(reports))
            return plan_night(reports, night.cluster, on_report=lambda: bars.advance(task))

        return plan_within(night.budgets, night.reports, plan)


def _plain(night: Night) -> NightPlan:
    """One batch of each report as soon as it is complete, under the same ceiling."""
    earliest: Sequence[float] = (night.cluster.start,)
    return place_all(at_fixed_times(night.reports, night.cluster, earliest), night.cluster)


def _write(file: Path | None, text: str) -> None:
    if file is None:
        return
    if not file.parent.is_dir():
        raise ScheduleError(f"{file.parent} is not a folder", hint="Make it, or choose another.")
    file.write_text(text, encoding="utf-8")
    console.notes().print(f"wrote {file}")
