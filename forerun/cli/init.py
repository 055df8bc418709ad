"""``forerun init``: a first report from what lies in folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forerun import console
from forerun.first_report.written import FirstReport, first_report, write
from forerun.include.machine.wall_clock import utc_now
from forerun.include.reports.front_matter import read_report_file

_HERE = Path()


def init_command(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER...",
            help="Where tables lie: a folder with a folder for each, or the folder of one; or a "
            "table of a catalog, iceberg:lake.shop.orders.",
        ),
    ],
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="The DAG folder that is written into.")
    ] = _HERE,
    name: Annotated[str, typer.Option("--name", help="The report's name.")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Write over a report of that name.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="What was found as JSON.")] = False,
) -> int:
    """Look at folders and write a first report over them: a SQL file, and a DAG file if there is
    none.

    Columns and their types are read from the files, or from the log of a table that has one; keys
    are declared where every row of the newest days was found to have its own, and days are complete
    by the sign that past days have. All that was found is in the file, to be edited.
    """
    found = first_report(folders, name, utc_now().date())
    files = write(found, into, force=force)
    read_report_file(files[0])  # what is written is what is read
    if as_json:
        console.say_json(_record(found, files))
        return 0
    for table in found.tables:
        days, key = len(table.layout.days), ", ".join(table.source.key)
        console.say(
            f"{table.source.name}: {table.rows:,} rows, {len(table.source.columns)} columns of "
            f"{table.source.format}, {f'{days} days' if days else 'no days'}, "
            f"{f'key {key}' if key else 'no key that holds'}"
        )
    for remark in found.remarks:
        console.say(f"  {remark}")
    for file in files:
        console.say(f"written: {file}")
    console.say(f"next: forerun check {files[0]} --date {found.day}")
    return 0


def _record(found: FirstReport, files: list[Path]) -> dict[str, object]:
    return {
        "report": found.name,
        "day": found.day.isoformat(),
        "files": list(map(str, files)),
        "remarks": list(found.remarks),
        "tables": [
            {
                "name": one.source.name,
                "path": one.source.path,
                "format": one.source.format,
                "rows": one.rows,
                "days": [day.isoformat() for day in one.layout.days],
                "key": list(one.source.key),
                "columns": {c.name: c.type for c in one.source.columns},
            }
            for one in found.tables
        ],
    }
