"""``forerun arrivals``: when the rows of a day's sources came, beside earlier days."""

from __future__ import annotations

from datetime import datetime

from rich.table import Table

from forerun import console
from forerun.cli.stored.options import (
    DayArgument,
    JsonOption,
    ReportArgument,
    StoreOption,
    read_day,
    store_at,
)
from forerun.include.oncall.day.records import DayRecords
from forerun.include.oncall.night.arrivals import SourceArrivals, read_source_arrivals


def arrivals_command(
    report: ReportArgument, day: DayArgument, store: StoreOption = "", as_json: JsonOption = False
) -> int:
    """Show how many rows of each source had come when it was looked at, and how many by then on a
    usual day, where earlier days tell."""
    opened = store_at(store)
    records = read_day(opened, report, day)
    found = [read_source_arrivals(opened, records, source) for source in records.spec.sources]
    if as_json:
        console.say_json({one.source: _record(one) for one in found})
        return 0
    table = Table(box=None, pad_edge=False)
    for name in ("source", "looked at", "rows", "usual by then"):
        table.add_column(name, justify="left" if name in ("source", "looked at") else "right")
    for one in found:
        for at, rows in one.seen:
            usual = _usual(one, at)
            table.add_row(
                one.source, _clock(records, at), f"{rows:,}", "" if usual is None else f"{usual:,}"
            )
        if not one.seen:
            table.add_row(one.source, "not yet", "", "")
    console.output().print(table)
    return 0


def _clock(records: DayRecords, at: datetime) -> str:
    return f"{at.astimezone(records.spec.zone):%Y-%m-%d %H:%M:%S}"


def _usual(found: SourceArrivals, at: datetime) -> int | None:
    """The rows of a usual day at an instant: between two points of its curve, in proportion."""
    before = [point for point in found.middle if point[0] <= at]
    after = [point for point in found.middle if point[0] > at]
    if not found.middle:
        return None
    if not before or not after:
        return (before or after)[-1 if before else 0][1]
    (start, rows), (end, more) = before[-1], after[0]
    return round(rows + (more - rows) * ((at - start) / (end - start)))


def _record(found: SourceArrivals) -> dict[str, object]:
    return {
        "seen": [[at.isoformat(), rows] for at, rows in found.seen],
        "usual": [[at.isoformat(), rows] for at, rows in found.middle],
        "expected_in_all": found.total,
    }
