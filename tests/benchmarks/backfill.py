"""``make bench-backfill``: thirty days of a report computed as a backfill, against one wide batch.

``lineitem`` is cut into a folder for each day. Each way is what one types, ``forerun backfill``, as
a process of its own with all that it starts, planning and publishing included: thirty days by one
query (the default), each by its own query in one application or with seven to an application, and
the *wide batch*: the same text, once, over a day whose folder holds the files of all thirty. What
is measured is kept beside the data, so a benchmark that was interrupted goes on.

    python -m tests.benchmarks backfill --scale 1 --only q01,q06 --ways lifted,wide
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.dataset import Dataset, dataset

from forerun.include.machine.jvm import driver_environment, home_folder
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.spec import ClockTime, ReportSpec, SourceSpec, encode_report
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.days import TPCH, say
from tests.benchmarks.page import ROOT, write_section

QUERIES = {"q01": (), "q06": (), "q14": ("part",)}
"""The static tables that each reads beside ``lineitem``."""
DAILY = "lineitem"
FIRST, DAYS = date(2026, 1, 1), 30
WAYS = {"lifted": DAYS, "one": DAYS, "seven": 7, "wide": 1}
"""How many days share an application at most, by the name of the way; one query for several days is
allowed in the first."""


def split_days(tables: Mapping[str, Table], folder: Path) -> None:
    """Cut ``lineitem`` into a folder for each day, once; ``wide`` has links to them all."""
    if (folder / "done").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    wide = folder / "wide" / FIRST.isoformat()
    wide.mkdir(parents=True)
    for n, rows in enumerate(_in_days(dataset([str(path) for path in tables[DAILY].files]))):
        day = folder / "daily" / (FIRST + timedelta(days=n)).isoformat()
        day.mkdir(parents=True)
        pq.write_table(rows, day / "part.parquet")
        (wide / f"part-{n:02}.parquet").hardlink_to(day / "part.parquet")
    for name in sorted({name for names in QUERIES.values() for name in names}):
        (folder / "static" / name).mkdir(parents=True)
        for path in tables[name].files:
            (folder / "static" / name / path.name).hardlink_to(path)
    (folder / "done").touch()


def _in_days(rows: Dataset) -> Iterator[pa.Table]:
    """Yield the rows of each day, in the order of the files, of which a day is held in memory."""
    ends = [rows.count_rows() * n // DAYS for n in range(1, DAYS + 1)]
    held: list[pa.RecordBatch] = []
    seen = 0
    for batch in rows.to_batches():
        while ends and seen + batch.num_rows >= ends[0]:
            rest = ends.pop(0) - seen
            yield pa.Table.from_batches([*held, batch.slice(0, rest)])
            held, batch, seen = [], batch.slice(rest), seen + rest
        held.append(batch)
        seen += batch.num_rows


def report_of(query: str, tables: Mapping[str, Table], folder: Path, way: str) -> ReportSpec:
    """The query as a report with one run, over a folder for each day or over the wide one."""
    days = folder / ("wide" if way == "wide" else "daily") / "{ds}"
    static = tuple(
        SourceSpec(
            name=name,
            path=str(folder / "static" / name),
            columns=tables[name].columns,
            arrival="static",
        )
        for name in QUERIES[query]
    )
    columns = tables[DAILY].columns
    daily = SourceSpec(name=DAILY, path=str(days), columns=columns, complete_when=ClockTime())
    return ReportSpec(
        name=f"{query}_{way}",
        sql=TPCH.texts()[query],
        sources=(daily, *static),
        policy=RunPolicy(runs=(RunTime(at="24:00", weight=1.0),)),
        deadline="30:00",
    )


def measure(report: ReportSpec, way: str, master: str, work: Path) -> float:
    """CPU seconds of the command and of all that it starts, over a store of its own."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "spec.json").write_bytes(encode_report(report))
    last = FIRST if way == "wide" else FIRST + timedelta(days=DAYS - 1)
    command = [sys.executable, "-m", "forerun", "backfill", report.name, str(FIRST), str(last)]
    command += ["--store", (work / "store").as_uri(), "--spec", str(work / "spec.json")]
    command += ["--together", str(WAYS[way]), "--master", master, "--yes", "--json"]
    command += ["--lift" if way == "lifted" else "--no-lift"]
    before = _children_s()
    done = subprocess.run(command, cwd=ROOT, env=driver_environment(), stdout=-1, check=True)
    took = _children_s() - before
    published = [one["day"] for one in json.loads(done.stdout)["done"] if one["version"]]
    entries = (work / "store" / "history" / report.name).glob("*.json")
    shared = {json.loads(entry.read_text())["days_in_query"] for entry in entries}
    if shared != ({DAYS} if way == "lifted" else {1}):
        raise SystemExit(f"{report.name}: queries were shared by {shared} days")
    if len(published) != (last - FIRST).days + 1:
        raise SystemExit(f"{report.name}: only {published} were published")
    shutil.rmtree(work)
    return took


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def section(scale: float, took: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The section of the page of figures."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return [
        "## Backfills",
        "",
        f"`make bench-backfill SF={scale:g}`: TPC-H's `{DAILY}` at scale {scale:g} as {DAYS} days,",
        f"on {machine}. CPU seconds of `forerun backfill` as a process with all",
        "that it starts. The wide batch is the same text, once, over the files of all days; in",
        "brackets what the days take as a share of it.",
        "",
        "| query | wide batch | one query for all days | one application for all | seven to one |",
        "| --- | --- | --- | --- | --- |",
        *(_line(query, ways) for query, ways in took.items()),
    ]


def _line(query: str, ways: Mapping[str, float]) -> str:
    cells = [f"{ways[way]:.1f} ({ways[way] / ways['wide']:.2f})" for way in WAYS if way != "wide"]
    return f"| {query} | {ways['wide']:.1f} | {' | '.join(cells)} |"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ways", default=",".join(WAYS), help="ways, such as lifted,wide")


def main(given: argparse.Namespace) -> int:
    tables = find_tables(TPCH.generate(given.scale))
    folder = home_folder() / "bench" / f"backfill-{given.scale:g}"
    split_days(tables, folder)
    kept = folder / "measured.json"
    took: dict[str, dict[str, float]] = json.loads(kept.read_text()) if kept.exists() else {}
    for query in given.only or list(QUERIES):
        for way in given.ways.split(","):
            if way not in took.setdefault(query, {}):
                report = report_of(query, tables, folder, way)
                took[query][way] = measure(report, way, given.master, folder / "work")
                kept.write_text(json.dumps(took))
                say(f"{query} {way}: {took[query][way]:.1f} CPU s")
    if any(set(ways) != set(WAYS) for ways in took.values()):
        say("the page is written when all ways are measured")
        return 0
    write_section("bench-backfill", section(given.scale, took))
    return 0
