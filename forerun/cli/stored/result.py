"""``forerun result``: what is published of a report's day, and whether it is the whole day."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from forerun import console
from forerun.cli.stored.options import StoreOption
from forerun.include.days.results import read_result
from forerun.include.reports.values.clock import parse_day
from forerun.include.state.pointers import what_lacks


def result_command(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="The name of the report.")],
    store: StoreOption,
    day: Annotated[str, typer.Option("--date", metavar="YYYY-MM-DD", help="The report date.")],
    require_complete: Annotated[
        bool,
        typer.Option(
            "--require-complete",
            help="Fail for an early result, and for one published while a source was incomplete.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="All that is known of it, as JSON.")
    ] = False,
) -> int:
    """Show which result of a day is published, where its files lie, and what it is not over."""
    found = read_result(store, report, parse_day(day), require_complete=require_complete)
    lacking = what_lacks(found)
    if as_json:
        console.say_json(
            {
                "report": found.report,
                "day": found.day,
                "version": found.version,
                "folder": found.folder,
                "files": [file.name for file in found.files],
                "rows": found.rows,
                "published_at": found.published_at,
                "complete": found.complete,
                "early": found.early,
                "incomplete": [list(pair) for pair in found.incomplete],
                "overruled": asdict(found.overruled) if found.overruled else None,
            }
        )
        return 0
    console.say(f"{found.report} of {found.day}, version {found.version}: {found.rows:,} rows")
    console.say(f"published at {found.published_at} in {found.folder}")
    console.say(
        "complete" if found.complete else "\n".join(f"not complete: {what}" for what in lacking)
    )
    if found.overruled is not None:
        console.say(found.overruled.text)
    return 0
