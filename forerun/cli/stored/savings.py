"""``forerun savings``: what reports took, measured, beside what batch would have taken."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from forerun import console
from forerun.cli.stored.options import JsonOption, StoreOption, refuse_unknown, store_at
from forerun.include.oncall.catalogue import known_reports
from forerun.include.oncall.savings import Savings, read_savings


def savings_command(
    report: Annotated[
        str, typer.Argument(metavar="[REPORT]", help="Its days; without it, all reports.")
    ] = "",
    store: StoreOption = "",
    as_json: JsonOption = False,
) -> int:
    """Show what published days took, in CPU seconds of whole processes times prices.

    What batch would have taken is measured where batch has run, else estimated, and marked so.
    """
    opened = store_at(store)
    if report:
        refuse_unknown(opened, report)
    names = [report] if report else [one.name for one in known_reports(opened)]
    found = {name: read_savings(opened, name) for name in names}
    if as_json:
        console.say_json({name: _record(one) for name, one in found.items()})
    elif not any(one.days for one in found.values()):
        console.say("no published day has been measured yet")
    else:
        console.output().print(_days(found[report]) if report else _reports(found))
    return 0


def _record(found: Savings) -> dict[str, object]:
    return {
        "share_of_batch": found.share,
        "batch_measured_in_runs": found.batch_runs,
        "days": [
            {
                "day": day.day,
                "runs": list(day.runs),
                "measured_s": day.measured_s,
                "batch_s": day.batch_s,
                "is_batch": day.is_batch,
                "kept_bytes": day.kept_bytes,
                "wall_s": day.wall_s,
            }
            for day in found.days
        ],
    }


def _reports(found: dict[str, Savings]) -> Table:
    table = _headed("report", "days", "took CPU s", "batch CPU s", "of batch", "batch is")
    for name, one in found.items():
        took = sum(measured for measured, _ in one.judged)
        batch = sum(batch for _, batch in one.judged)
        known = "measured" if one.batch_runs else "estimated"
        table.add_row(
            name, str(len(one.days)), f"{took:,.1f}", f"{batch:,.1f}", _share(one.share), known
        )
    return table


def _days(found: Savings) -> Table:
    table = _headed("day", "runs", "took CPU s", "batch CPU s", "of batch", "final run, wall s")
    for day in found.days:
        share = day.measured_s / day.batch_s if day.batch_s else None
        batch = "" if day.batch_s is None else f"{day.batch_s:,.1f}"
        runs = "batch" if day.is_batch else ", ".join(map(str, day.runs))
        row = (day.day, runs, f"{day.measured_s:,.1f}", batch, _share(share), f"{day.wall_s:,.1f}")
        table.add_row(*row)
    return table


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def _headed(*names: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(names):
        table.add_column(name, justify="left" if place in (0, 1) else "right")
    return table
