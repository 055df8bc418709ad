"""Options and errors that commands about a store have in common: its URI, a report, a day."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from forerun.include.oncall.catalogue import days_of, find_report, known_reports
from forerun.include.oncall.day.records import DayRecords, read_day_records
from forerun.include.reports.values.clock import parse_day
from forerun.include.stores.opening import default_store, open_store
from forerun.include.stores.store import Store
from forerun.planner.errors import RequestError

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URI",
        envvar="FORERUN_STORE",
        help="The store: a folder, file:// or s3://. Default: FORERUN_STORE.",
    ),
]
ReportArgument = Annotated[str, typer.Argument(metavar="REPORT", help="The name of the report.")]
DayArgument = Annotated[str, typer.Argument(metavar="DAY", help="The report date, YYYY-MM-DD.")]
JsonOption = Annotated[bool, typer.Option("--json", help="The same as JSON.")]


def store_at(uri: str) -> Store:
    """Open the store of that URI; an empty one means the deployment's own."""
    return open_store(uri or default_store())


def refuse_unknown(store: Store, report: str) -> None:
    """Raise :class:`RequestError`, with the names that are near, for a report that no DAG of the
    store runs."""
    if find_report(store, report) is not None:
        return
    names = [one.name for one in known_reports(store)]
    near = difflib.get_close_matches(report, names, n=1)
    if near:
        hint = f"Did you mean {near[0]}?"
    elif names:
        hint = f"Its reports: {', '.join(names)}."
    else:
        hint = "It has none yet: a report is there once a DAG run has opened a day of it."
    raise RequestError(f"the store {store.root} has no report {report}", hint=hint)


def read_day(store: Store, report: str, day: str) -> DayRecords:
    """Read the newest generation of a day. Raises :class:`RequestError` for a report or a day that
    the store does not have."""
    refuse_unknown(store, report)
    records = read_day_records(store, report, parse_day(day).isoformat())
    if records is not None:
        return records
    newest = next(days_of(store, report), "")
    raise RequestError(
        f"no DAG run has opened {day} of {report}, or clean-up has taken it",
        hint=f"Its newest day is {newest}." if newest else "It has no day yet.",
    )
