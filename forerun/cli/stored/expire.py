"""``forerun expire`` and ``expire-pins``: delete old state, results and pins, by policy."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from forerun import console
from forerun.cli.stored.options import StoreOption
from forerun.include.state.expire import Retention, expire
from forerun.include.state.expire_pins import DAYS, expire_pins, expire_spools
from forerun.include.stores.opening import open_store
from forerun.include.times.past_arrivals import NEWEST

_KEEP = Retention()


def expire_command(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="The name of the report.")],
    store: StoreOption,
    days: Annotated[
        int, typer.Option(min=0, help="Keep the state of this many newest days.")
    ] = _KEEP.days,
    generations: Annotated[
        int, typer.Option(min=1, help="Keep this many newest generations of each kept day.")
    ] = _KEEP.generations,
    versions: Annotated[
        int, typer.Option(min=1, help="Keep this many results of each day, the published included.")
    ] = _KEEP.versions,
    orphan_hours: Annotated[
        float, typer.Option(min=0.0, help="Keep what no commit names for this long.")
    ] = _KEEP.orphan_hours,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as JSON.")] = False,
) -> int:
    """Delete old state and results of a report. What is published always stays, and so does
    everything younger than 24 hours."""
    keep = Retention(
        days=days, generations=generations, versions=versions, orphan_hours=orphan_hours
    )
    done = expire(open_store(store), report, keep, dry_run=dry_run)
    if as_json:
        console.say_json({"files": done.files, "bytes": done.bytes, "dry_run": dry_run})
    else:
        verb = "would delete" if dry_run else "deleted"
        console.say(f"{verb} {done.files:,} files, {done.bytes:,} bytes")
    return 0


def expire_pins_command(
    store: StoreOption,
    days: Annotated[
        int,
        typer.Option(
            min=NEWEST,
            help="Keep the pins of this many newest days of each source. Forecasts read those of "
            f"the {NEWEST} newest.",
        ),
    ] = DAYS,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as JSON.")] = False,
) -> int:
    """Delete old pins of all sources: the lists of files that runs have read; and what was copied
    of sources that no pin names any more. The pins of a day stay as long as any report has state of
    it (see `forerun expire`)."""
    at = open_store(store)
    gone, spooled = expire_pins(at, days, dry_run=dry_run), expire_spools(at, dry_run=dry_run)
    if as_json:
        sources = [{"source": one.source, "days": one.days, **asdict(one.gone)} for one in gone]
        copies = [{"source": source, **asdict(one)} for source, one in spooled.items()]
        console.say_json({"sources": sources, "spooled": copies, "dry_run": dry_run})
        return 0
    verb = "would delete" if dry_run else "deleted"
    for old in gone:
        console.say(
            f"{old.source}: {verb} the pins of {old.days} days, {old.gone.files:,} files, "
            f"{old.gone.bytes:,} bytes"
        )
    for source, one in spooled.items():
        console.say(f"{source}: {verb} {one.files:,} copied files, {one.bytes:,} bytes")
    if not gone and not spooled:
        console.say("no pins are old enough, or all days have state")
    return 0
