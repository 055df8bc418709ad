"""``forerun repair``: what changed under a published day, what repairing it takes, and doing it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from forerun import console
from forerun.cli.stored.options import StoreOption
from forerun.include.engines import own_engine
from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.catalogue import readers_of, spec_of_day
from forerun.include.oncall.overlapping import OverlappingDays, overlapping_days
from forerun.include.past.repair import LookedAt, look_at, plan_repair
from forerun.include.reports.spec import decode_report
from forerun.include.reports.values.clock import parse_day
from forerun.include.stores.opening import open_store
from forerun.include.stores.scratch_store import ScratchStore
from forerun.include.stores.store import Store
from forerun.past.repair_engines import ChosenEngine, cheapest_engine, repair_on
from forerun.past.repair_work import RepairedVersion, compute, publish
from forerun.past.repair_work import verify as compute_and_compare
from forerun.past.shown_repair import as_json as repair_as_json
from forerun.past.shown_repair import diff_lines, overlap_lines, preview_lines
from forerun.planner.request import Settings

AUTO = "auto"
Copies = Annotated[
    list[str] | None,
    typer.Option(
        "--copies",
        metavar="FOLDER",
        help="Where files lie that were replaced or taken away, under whatever name. May be given "
        "several times.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="spark; sail, which starts in a second and is refused where its result might not be "
        "Spark's; or auto: the cheaper of those that are not refused.",
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Also compute the report anew on Spark, and publish only what is equal."
    ),
]
SpecFile = Annotated[
    Path | None,
    typer.Option("--spec", metavar="FILE", help="The report as JSON, if the store lacks it."),
]


def repair_command(  # noqa: PLR0913 - the options of the command
    report: Annotated[str, typer.Argument(metavar="REPORT", help="The name of the report.")],
    day: Annotated[str, typer.Argument(metavar="YYYY-MM-DD", help="The published day.")],
    store: StoreOption,
    preview: Annotated[
        bool, typer.Option("--preview", help="Only say what changed and what it would take.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "--apply", help="Compute and publish without asking.")
    ] = False,
    no_publish: Annotated[
        bool,
        typer.Option("--no-publish", help="Compute and show the difference, publish nothing."),
    ] = False,
    copies: Copies = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Compute the report anew, whatever state is left.")
    ] = False,
    spec: SpecFile = None,
    engine: Engine = "spark",
    verify: Verify = False,
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="All of it as JSON.")] = False,
) -> int:
    """Find what changed in the sources of a published day, and repair its result.

    Says which files are new, changed or gone, and what a delta over the state that is left costs
    beside computing the report anew. On a terminal it asks before it computes, and shows which rows
    differ before it asks whether to publish them. Elsewhere it computes with `--yes` or
    `--no-publish` only.
    """
    opened, at_day = open_store(store), parse_day(day)
    on_terminal = sys.stdin.isatty() and not as_json
    only_looks = preview or not (yes or no_publish or on_terminal)
    looked = look_at(
        ScratchStore(opened) if only_looks else opened,
        decode_report(spec.read_bytes()) if spec else spec_of_day(opened, report, at_day),
        at_day,
        now=utc_now(),
        copies=tuple(copies or ()),
        anew=anew,
    )
    chosen = _on_engine(engine, looked)
    repair = chosen.repair
    others = overlapping_days(opened, repair)
    if not as_json:
        console.say("\n".join((*preview_lines(chosen), *overlap_lines(report, others, store))))
    version = None
    if repair.is_needed and not only_looks and (yes or no_publish or _agreed("compute it?")):
        version = compute(repair, chosen.engine.name, master, console.notes().print)
        if verify:
            _verify(version, looked, master)
        if not as_json:
            console.say("\n".join(diff_lines(version)))
        if not no_publish and (yes or _agreed("publish it?")):
            version = publish(version)
    _say_end(chosen, version, others, as_json=as_json)
    if version is not None and version.pointer is not None and not as_json:
        _say_readers(opened, report, day)
    return 0


def _on_engine(name: str, looked: LookedAt) -> ChosenEngine:
    """The repair as it is planned for the engine of that name, or for the cheapest."""
    if name == AUTO:
        return cheapest_engine(looked)
    engine = own_engine(name)
    return ChosenEngine(engine=engine, repair=repair_on(engine, looked))


def _verify(version: RepairedVersion, looked: LookedAt, master: str) -> None:
    """Have Spark confirm a repair before anybody is shown it."""
    on_spark = plan_repair(looked, Settings())
    compute_and_compare(version, on_spark, "spark", master, console.notes().print)


def _say_end(
    chosen: ChosenEngine,
    version: RepairedVersion | None,
    others: OverlappingDays,
    *,
    as_json: bool,
) -> None:
    if as_json:
        console.say_json(repair_as_json(chosen, others, version))
    elif version is not None:
        console.say(_published(version))


def _say_readers(store: Store, report: str, day: str) -> None:
    """Say which reports have read the version before, and how their day is repaired."""
    for one in readers_of(store, report):
        console.say(
            f"{one.name} reads it, and was computed over the version before:\n"
            f"  forerun repair {one.name} {day} --store {store.root}"
        )


def _agreed(question: str) -> bool:
    return typer.confirm(question, err=True)


def _published(version: RepairedVersion) -> str:
    pointer = version.pointer
    if pointer is None:
        return "nothing is published; the same command goes on from here"
    said = f"published at {pointer.published_at} in {pointer.folder}"
    if version.changed_again:
        said += (
            f"\nmeanwhile {version.changed_again} files of its sources have changed again: repair "
            "it once more"
        )
    return said
