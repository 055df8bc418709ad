"""``forerun status``: the night of a store in a terminal, the worst first, as the page Tonight."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from forerun import console
from forerun.cli.stored.options import JsonOption, StoreOption, refuse_unknown, store_at
from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.airflow_condition import AirflowCondition
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import NightRow, grouped, notices, with_unopened
from forerun.include.reports.values.clock import parse_day
from forerun.include.stores.store import Store
from forerun.planner.errors import RequestError

_DATABASE = ("AIRFLOW_HOME", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN")
_COLOURS = {"bad": "bold red", "warn": "yellow", "calm": "default", "good": "green"}


def status_command(
    report: Annotated[
        str, typer.Argument(metavar="[REPORT]", help="One report; without it, all of the store.")
    ] = "",
    day: Annotated[
        str, typer.Argument(metavar="[DAY]", help="One of its days; without it, the newest.")
    ] = "",
    store: StoreOption = "",
    with_airflow: Annotated[
        bool | None,
        typer.Option(
            "--airflow/--no-airflow",
            help="Also ask Airflow's database, as its scheduler does, for what holds days up: dead "
            "processes, paused DAGs, broken files. By default where AIRFLOW_HOME or the database "
            "is set.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Show where every report stands: what has failed and what to do, what waits, what is out.

    The exit code is 1 when something asks to act: failed, missed, blocked, halted, or at risk.
    """
    opened = store_at(store)
    condition = _condition(with_airflow)
    rows = [row.under(condition) for row in _rows(opened, report, day)]
    if not day:
        left = with_unopened(rows, condition)
        rows = [row for row in left if report in ("", row.report.name)]
    said = notices(condition, rows)
    if as_json:
        known = {"store": opened.root, "airflow": [asdict(one) for one in said]}
        console.say_json({**known, "days": [_record(row) for row in rows]})
    elif not rows:
        console.say(f"{opened.root} has no day of a report yet")
    else:
        for notice in said:
            console.say(f"{notice.what}\n  to do: {notice.to_do}")
        console.output().print(_table(rows))
        for row in rows:
            if row.severity == "bad":
                console.say(_advice(row))
    return 1 if any(row.severity == "bad" for row in rows) else 0


def _condition(wanted: bool | None) -> AirflowCondition:
    """Return how Airflow is; as if it were well where nobody wants to ask it."""
    if not (any(os.environ.get(one) for one in _DATABASE) if wanted is None else wanted):
        return AirflowCondition(now=utc_now())
    from forerun.doctors.airflow_condition import read_condition

    return read_condition()


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
    """Return what is wrong with a day, in full, and the first thing to do."""
    if row.standing is None:
        return f"\n{row.report.name} of {row.day}: {row.broken}"
    lines = [f"\n{row.report.name} of {row.day}: {row.standing.what}"]
    failure = row.records.fatal if row.records else None
    if row.standing.halt is not None:
        lines.append(f"  to do: {row.standing.halt.to_do}")
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
