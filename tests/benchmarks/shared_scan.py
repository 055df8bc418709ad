"""A table that several queries scan: read by each of them, or once, and held in memory for all.

What is held are the columns that any of the queries reads of the rows that pass the filter of at
least one of its scans; of a table with a scan that has no filter, all rows. Computing it counts.
In one session, after a round of both that warms it up and is not counted, the queries run as
``A B B A``: A reads files, B what is held. Their rows go nowhere. What B saves at best is the scans
of all queries but one; what it costs is to encode the rows, and to decode them again.

    python -m tests.benchmarks.shared_scan tpch --scale 1 --tables lineitem,orders
    python -m tests.benchmarks.shared_scan tpch --scale 1 --tables lineitem \
        --together q14,q15 --together q06,q12,q14,q15,q20
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from forerun.include.machine.jvm import submit_options
from forerun.planner import api
from forerun.planner.algebra.relational import Filter, Scan, walk
from forerun.planner.request import PlanRequest, Source
from forerun.planner.sql.scalar_sql import Piece, scalar_sql
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks.common_work import ALL_SUITES
from tests.benchmarks.days import POINTS
from tests.benchmarks.side_by_side import run_texts

MASTER = "local[2]"
_WARMING = "AB"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the scans of some queries want of a table: how many scans there are, the columns of all
    of them, and the filter of each, empty where one has none."""

    scans: int
    columns: tuple[str, ...]
    filters: tuple[str, ...]

    def held(self, table: DataFrame) -> DataFrame:
        """The rows and columns of the table that are wanted."""
        rows = (
            table.where(" OR ".join(f"({one})" for one in self.filters)) if self.filters else table
        )
        return rows.select(*self.columns)


def wanted_of(texts: Iterable[str], sources: tuple[Source, ...]) -> dict[str, Wanted]:
    """What queries want of each table, by the normal form of each."""
    columns: dict[str, set[str]] = defaultdict(set)
    filters: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        asked = PlanRequest(report="q", sql=text, sources=sources, points=POINTS, method="batch")
        relation = api.plan(asked).reading.relation
        below = {id(one.input): one for one in walk(relation) if isinstance(one, Filter)}
        for scan in (one for one in walk(relation) if isinstance(one, Scan)):
            columns[scan.source] |= {column.name for column in scan.columns}
            above = below.get(id(scan))
            names = {column.id: Piece(column.name) for column in scan.columns}
            filters[scan.source].append(scalar_sql(above.predicate, names).text if above else "")
    return {
        name: Wanted(
            scans=len(filters[name]),
            columns=tuple(sorted(found)),
            filters=tuple(dict.fromkeys(filters[name])) if all(filters[name]) else (),
        )
        for name, found in columns.items()
    }


@contextmanager
def _held(
    session: SparkSession, frames: Mapping[str, DataFrame], wanted: Mapping[str, Wanted]
) -> Iterator[None]:
    """Tables are computed and held in memory within the block, and files again after it."""
    held = {name: wanted[name].held(frame) for name, frame in frames.items()}
    for name, frame in held.items():
        frame.persist(StorageLevel.MEMORY_ONLY)
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name, frame in frames.items():
            held[name].unpersist(blocking=True)
            frame.createOrReplaceTempView(name)


def _compare(
    session: SparkSession,
    frames: Mapping[str, DataFrame],
    texts: Mapping[str, str],
    wanted: Mapping[str, Wanted],
) -> None:
    held = {name: frames[name] for name in frames if name in wanted}
    for name in held:
        one = wanted[name]
        rows = f"{len(one.filters)} filters" if one.filters else "all rows"
        print(f"{','.join(texts)}: {name}, {one.scans} scans, {len(one.columns)} columns, {rows}")
    for number, way in enumerate(_WARMING + "ABBA"):
        if way == "A":
            wall, cpu = run_texts(session, list(texts.values()), 1)
            kept = ""
        else:
            with _held(session, held, wanted):
                wall, cpu = run_texts(session, list(texts.values()), 1)
                kept = f", {_held_bytes(session) / 2**20:.0f} MB held"
        if number >= len(_WARMING):
            print(f"  {way}: {wall:.1f} s, {cpu:.1f} CPU s{kept}", flush=True)


def _held_bytes(session: SparkSession) -> int:
    """The bytes that Spark holds in memory; raises if some did not fit."""
    infos = session.sparkContext._jsc.sc().getRDDStorageInfo()
    missing = [one.name() for one in infos if one.numCachedPartitions() < one.numPartitions()]
    if missing:
        raise MemoryError(f"not all of it fits in memory: {missing[0][:80]}")
    return sum(int(one.memSize()) for one in infos)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("suite", choices=ALL_SUITES)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--tables", required=True, help="tables to hold, such as lineitem,orders")
    parser.add_argument(
        "--together",
        action="append",
        default=[],
        help="queries that share them, such as q14,q15; repeatable; default: all that read them",
    )
    parser.add_argument("--memory", default="4g", help="heap of the JVM")
    given = parser.parse_args(arguments)
    suite = ALL_SUITES[given.suite]
    found = find_tables(suite.generate(given.scale))
    sources = with_statistics(found, suite.changing)
    texts = suite.texts()
    tables = given.tables.split(",")
    reading = [name for name, text in texts.items() if {*tables} & {*wanted_of([text], sources)}]
    builder = SparkSession.builder.master(MASTER).config("spark.driver.memory", given.memory)
    for key, value in submit_options("file:///", master=MASTER):
        builder = builder.config(key, value)
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frames = {
        name: session.read.parquet(*[str(path) for path in table.files])
        for name, table in found.items()
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    for names in [one.split(",") for one in given.together] or [reading]:
        chosen = {name: texts[name] for name in names}
        wanted = wanted_of(chosen.values(), sources)
        _compare(session, {name: frames[name] for name in tables}, chosen, wanted)
    session.stop()


if __name__ == "__main__":
    main()
