"""``make bench-sources``: what it costs to pin rows that no engine reads where they are, or those
that have changed in files which a table has written again.

    python -m tests.benchmarks sources [--rows 1000000]

CPU seconds of the process that pins, user and system, in a process of its own; the server's own are
beside it. A second pin follows after one row in a thousand has come, or has changed in a table that
then writes its file again, and a third one after none has. The broker's jars are those of
``make kafka``.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from forerun.include.machine.child_process import stop
from forerun.include.machine.local_postgres import local_postgres
from forerun.include.reports.spec import ClockTime, SourceSpec, WhenPublished, encode_report
from forerun.include.stores.opening import open_store
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.page import ROOT, SOURCES_PAGE
from tests.include.sources.published_results import publish
from tests.kafka_broker import Broker, started
from tests.postgresql_server import Database

DAY = dt.date(2026, 3, 1)
COLUMNS = {
    "id": "BIGINT", "shop": "STRING", "amount": "DECIMAL(12,2)", "at": "TIMESTAMP",
    "note": "STRING",
}  # fmt: skip
_PIN = """
import datetime as dt, json, resource, sys, time
from forerun.include.reports.spec import decode_report
from forerun.include.sources.pins import pin_source
from forerun.include.stores.opening import open_store
source = decode_report(open(sys.argv[1]).read()).sources[0]
store, day = open_store(sys.argv[2]), dt.date(2026, 3, 1)
begun = time.monotonic()
_, pin = pin_source(store, source, day, dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC))
print(json.dumps({"wall": time.monotonic() - begun, "rows": pin.rows, "bytes": pin.bytes}))
"""


def row(number: int) -> dict[str, Any]:
    """A row of 190 bytes as JSON."""
    return {
        "id": number, "shop": f"shop {number % 997}", "amount": round(number % 10_000 * 0.37, 2),
        "at": f"2026-03-01T{number % 12:02d}:15:00Z", "note": "a note of some length " * 4,
    }  # fmt: skip


def pinned(source: SourceSpec, folder: Path) -> Figures:
    """Pin a source in a process of its own."""
    from tests.airflow.reports import sales_report

    spec = sales_report(sql="SELECT count(*) AS n FROM t", sources=(source,))
    (folder / "report.json").write_bytes(encode_report(spec))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", _PIN, str(folder / "report.json"), str(folder / "store")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu, **json.loads(done.stdout)}


def source(path: str, form: str, **more: Any) -> SourceSpec:
    named = {"name": "t", "path": path, "format": form, "columns": COLUMNS}
    return SourceSpec(**named, **{"complete_when": ClockTime(), **more})


@contextmanager
def topic(folder: Path) -> Iterator[tuple[SourceSpec, Callable[[range], None]]]:
    """A topic of two partitions."""
    broker, process = started(folder)
    try:
        os.environ["AIRFLOW_CONN_SHOP"] = broker.connection
        broker.create("t", 2)
        yield source("kafka://shop/t", "kafka"), partial(_send, broker)
    finally:
        stop([process])


def _send(broker: Broker, numbers: range) -> None:
    at = dt.datetime(2026, 3, 1, 1, tzinfo=dt.UTC).timestamp()
    for partition in range(2):
        values = (row(number) for number in numbers[partition::2])
        broker.send("t", *values, at=at, partition=partition, **{"linger.ms": 20})


@contextmanager
def database(folder: Path, slot: str = "") -> Iterator[tuple[SourceSpec, Callable[[range], None]]]:
    """A table of PostgreSQL, with a slot or without one."""
    with local_postgres(folder / "log", "wal_level=logical") as found:
        parts = urlsplit(found.url)
        server = Database(parse_qs(parts.query)["host"][0], parts.username or "")
        os.environ["AIRFLOW_CONN_WAREHOUSE"] = server.connection
        server.do("CREATE TABLE t (id bigint PRIMARY KEY, shop text, amount numeric(12,2), "
                  "at timestamptz, note text)")  # fmt: skip
        if slot:
            server.do(f"SELECT pg_create_logical_replication_slot('{slot}', 'test_decoding')")
        spec = source("postgresql://warehouse/public.t", "postgresql", key=("id",), slot=slot)
        yield spec, partial(_insert, server)


def _insert(server: Database, numbers: range) -> None:
    with closing(server.session()) as session:
        session.cursor().execute(
            "INSERT INTO t SELECT n, 'shop ' || mod(n, 997), mod(n, 10000) * 0.37, "
            "timestamptz '2026-03-01 00:15Z' + mod(n, 12) * interval '1 hour', "
            "repeat('a note of some length ', 4) FROM generate_series(%s, %s) n",
            [numbers.start, numbers.stop - 1],
        )


@contextmanager
def lines_of_json(folder: Path) -> Iterator[tuple[SourceSpec, Callable[[range], None]]]:
    """Files of JSON lines, eight of them at first."""
    (folder / "in").mkdir()

    def write(numbers: range) -> None:
        part = max(1, len(numbers) // 8)
        for first in range(numbers.start, numbers.stop, part):
            each = range(first, min(first + part, numbers.stop))
            text = "\n".join(json.dumps(row(number)) for number in each)
            (folder / "in" / f"{first}.jsonl").write_text(text)

    yield source(str(folder / "in"), "json"), write


@contextmanager
def csv_files(folder: Path) -> Iterator[tuple[SourceSpec, Callable[[range], None]]]:
    """Files of CSV, eight of them at first."""
    (folder / "in").mkdir()

    def write(numbers: range) -> None:
        part = max(1, len(numbers) // 8)
        for first in range(numbers.start, numbers.stop, part):
            with (folder / "in" / f"{first}.csv").open("w", newline="") as file:
                lines = csv.DictWriter(file, list(COLUMNS))
                lines.writeheader()
                lines.writerows(map(row, range(first, min(first + part, numbers.stop))))

    yield source(str(folder / "in"), "csv"), write


def _arrow(numbers: range) -> pa.Table:
    """Rows as Parquet has them."""
    zone, number = dt.UTC, pa.array(numbers, pa.int64())
    hours = [dt.datetime(2026, 3, 1, each, 15, tzinfo=zone) for each in range(12)]
    return pa.table({
        "id": number, "shop": [f"shop {each % 997}" for each in numbers],
        "amount": pa.array([Decimal(each % 10_000 * 37) / 100 for each in numbers],
                           pa.decimal128(12, 2)),
        "at": pa.array([hours[each % 12] for each in numbers], pa.timestamp("us", "UTC")),
        "note": pa.repeat("a note of some length " * 4, len(numbers)),
    })  # fmt: skip


@contextmanager
def results(folder: Path) -> Iterator[tuple[SourceSpec, Callable[[range], None]]]:
    """What another report publishes: each time all of it."""
    store = open_store(str(folder / "store"))

    def write(numbers: range) -> None:
        publish(store, "r", DAY, numbers.stop, _arrow(range(numbers.stop)), early=True)

    path = "forerun://report/r/{ds}"
    yield source(path, "report", complete_when=WhenPublished(), store=store.root), write


@contextmanager
def delta_table(folder: Path, feed: str) -> Iterator[tuple[SourceSpec, Callable[[range], None]]]:
    """A table of one file, of which then one row in a thousand is updated."""
    from deltalake import DeltaTable, write_deltalake

    path = str(folder / "t")

    def write(numbers: range) -> None:
        if numbers.start:
            DeltaTable(path).update({"note": "'another'"}, predicate="id % 1000 = 0")
        else:
            config = {"delta.enableChangeDataFeed": feed}
            write_deltalake(path, _arrow(numbers), configuration=config)

    yield source(path, "delta", change="changelog"), write


PLACES = {
    "a topic": topic,
    "a table of PostgreSQL": database,
    "a table with a slot": partial(database, slot="t"),
    "JSON lines": lines_of_json,
    "CSV": csv_files,
    "results of a report": results,
    "an updated Delta table": partial(delta_table, feed="false"),
    "one with a change feed": partial(delta_table, feed="true"),
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=1_000_000)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield each place; its three pins follow one another."""

    def measure(name: str, _found: Found) -> Figures:
        with tempfile.TemporaryDirectory() as scratch, PLACES[name](Path(scratch)) as (spec, write):
            write(range(given.rows))
            first = pinned(spec, Path(scratch))
            write(range(given.rows, given.rows + max(1, given.rows // 1000)))
            second = pinned(spec, Path(scratch))
            return {"first": first, "second": second, "third": pinned(spec, Path(scratch))}

    for name in PLACES:
        yield Cell(name=(name,), under=f"{given.rows:,} rows", measure=partial(measure, name))


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the CPU seconds of the pins."""
    pins = ("first", "second", "third")
    rows = [
        (name, *(f"{one[pin]['cpu_s']:.2f}" for pin in pins), f"{one['first']['bytes'] / 1e6:.0f}")
        for (name,), one in found.items()
    ]
    heads = ("", f"{given.rows:,} rows, CPU s", "a thousandth", "nothing more", "MB kept")
    yield from table(heads, rows)


BENCHMARK = Benchmark(
    cells=cells,
    lines=lines,
    about="CPU seconds of the whole process that pins, which starts and imports for 0.5 of them.",
    section=lambda _given: "bench-sources",
    page=SOURCES_PAGE,
)
