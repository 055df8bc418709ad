"""``forerun status``: the night of a store in a terminal, the worst first, as the page Tonight."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from forerun import console
from forerun.cli.stored import JsonOption, StoreOption, refuse_unknown, store_at
from forerun.include.oncall.night import NightRow, grouped
from forerun.include.oncall.night_reader import NightReader
from forerun.include.reports.clock import parse_day
from forerun.include.state.store import Store
from forerun.planner.errors import RequestError

_COLOURS = {"bad": "bold red", "warn": "yellow", "calm": "default", "good": "green"}


def status_command(
    report: Annotated[
        str, typer.Argument(metavar="[REPORT]", help="One report; without it, all of the store.")
    ] = "",
    day: Annotated[
        str, typer.Argument(metavar="[DAY]", help="One of its days; without it, the newest.")
    ] = "",
    store: StoreOption = "",
    as_json: JsonOption = False,
) -> int:
    """Show where every report stands: what has failed and what to do, what waits, what is out.

    The exit code is 1 when something asks to act: failed, missed, blocked, or at risk.
    """
    opened = store_at(store)
    rows = _rows(opened, report, day)
    if as_json:
        console.say_json({"store": opened.root, "days": [_record(row) for row in rows]})
    elif not rows:
        console.say(f"{opened.root} has no day of a report yet")
    else:
        console.output().print(_table(rows))
        for row in rows:
            if row.severity == "bad":
                console.say(_advice(row))
    return 1 if any(row.severity == "bad" for row in rows) else 0


def _rows(store: Store, report: str, day: str) -> list[NightRow]:
    reader = NightReader(store)
    if report:
        refuse_unknown(store, report)
    if day:
        known = next(row.report for row in reader.night().rows if row.report.name == report)
        found = reader.day(known, parse_day(day).isoformat())
        if found is None:
            raise RequestError(
                f"no DAG run has opened {day} of {report}, or clean-up has taken it",
                hint=f"Look at its newest days: forerun status {report}.",
            )
        return [found]
    rows = [row for group in grouped(reader.night().rows) for row in group.rows]
    return [row for row in rows if report in ("", row.report.name)]


def _table(rows: list[NightRow]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("report", "day", "state", "what", "due", "finish", "cost, of batch"):
        table.add_column(name, overflow="fold")
    for row in rows:
        colour = _COLOURS[row.severity]
        state = row.standing.state if row.standing else "broken"
        what = row.standing.what if row.standing else row.broken.partition("\n")[0]
        table.add_row(
            row.report.name, row.day, Text(state, style=colour), Text(what),
            _due(row), _finish(row), _share(row),
        )  # fmt: skip
    return table


def _due(row: NightRow) -> str:
    if row.records is None:
        return ""
    return f"{row.records.deadline.astimezone(row.records.spec.zone):%m-%d %H:%M}"


def _finish(row: NightRow) -> str:
    finish = row.standing.finish if row.standing else None
    if finish is None or row.records is None:
        return ""
    at = f"{finish.at.astimezone(row.records.spec.zone):%m-%d %H:%M}"
    return at if finish.done else f"~{at}"


def _share(row: NightRow) -> str:
    share = row.cost.share if row.cost else None
    return "" if share is None else f"{share:.2f}"


def _advice(row: NightRow) -> str:
    """What is wrong with a day, in full, and the first thing to do."""
    if row.standing is None:
        return f"\n{row.report.name} of {row.day}: {row.broken}"
    lines = [f"\n{row.report.name} of {row.day}: {row.standing.what}"]
    failure = row.records.fatal if row.records else None
    if failure is not None and failure.hint:
        lines.append(f"  to do: {failure.hint}")
    lines += [f"  missing: {text}" for text in row.missing]
    return "\n".join(lines)


def _record(row: NightRow) -> dict[str, object]:
    standing, records = row.standing, row.records
    failure = records.fatal if records else None
    finish = standing.finish if standing else None
    return {
        "report": row.report.name,
        "dag_id": row.report.dag_id,
        "day": row.day,
        "state": standing.state if standing else "broken",
        "severity": row.severity,
        "what": standing.what if standing else row.broken,
        "hint": failure.hint if failure else "",
        "missing": list(row.missing),
        "deadline": records.deadline.isoformat() if records else None,
        "finish": finish.at.isoformat() if finish else None,
        "published": bool(finish and finish.done),
        "cost_of_batch": row.cost.share if row.cost else None,
    }
