"""``make bench-backfill``: thirty days of a report computed as a backfill, against one wide batch.

``lineitem`` is cut into a folder for each day. Each way is what one types, ``forerun backfill``, as
a process of its own with all that it starts, planning and publishing included: thirty days by one
query (the default), each by its own query in one application or with seven to an application, and
the *wide batch*: the same text, once, over a day whose folder holds the files of all thirty.

    python -m tests.benchmarks backfill --scale 1 --only q01,q06 --only lifted,wide
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.dataset import Dataset, dataset

from forerun.include.machine.jvm import driver_environment, home_folder
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.spec import ClockTime, ReportSpec, SourceSpec, encode_report
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.page import ROOT
from tests.benchmarks.suites import TPCH

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


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query in every way."""
    folder = home_folder() / "bench" / f"backfill-{given.scale:g}"

    def one(query: str, way: str, _found: Found) -> Figures:
        tables = find_tables(TPCH.generate(given.scale))
        split_days(tables, folder)
        report = report_of(query, tables, folder, way)
        return {"cpu_s": measure(report, way, given.master, folder / "work")}

    for query in QUERIES:
        for way in WAYS:
            under = (
                f"{TPCH.title}'s {DAILY} at scale {given.scale:g} as {DAYS} days, {given.master}"
            )
            yield Cell(name=(query, way), under=under, measure=partial(one, query, way))


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield a row for each query."""
    rows = []
    for query in dict.fromkeys(name[0] for name in found):
        took = {way: found[query, way]["cpu_s"] for way in WAYS if (query, way) in found}
        wide = took.get("wide")
        rows.append((query, *(_cell(took.get(way), wide) for way in WAYS)))
    columns = ("one query for all days", "one application for all", "seven to one", "wide batch")
    yield from table(("query", *columns), rows)


def _cell(took: float | None, wide: float | None) -> str:
    if took is None:
        return ""
    return f"{took:.1f} ({took / wide:.2f})" if wide else f"{took:.1f}"


ABOUT = """\
CPU seconds of `forerun backfill` as a process with all that it starts. The wide batch is the same
text, once, over the files of all days; in brackets what the days take as a share of it."""

BENCHMARK = Benchmark(
    cells=cells, lines=lines, about=ABOUT, section=lambda _given: "bench-backfill"
)
