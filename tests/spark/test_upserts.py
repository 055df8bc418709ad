"""Upserts: files that have a row anew each time that it changes, as days on Sail and as pins."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.days.handle import Day
from forerun.include.reports.spec import (
    ClockTime,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    SpecError,
)
from forerun.include.runs import day_request
from forerun.include.runs import prepare as days
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.sources.pins import arrived_rows, pin_source
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.records import Pin
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from forerun.planner.request import Settings, TimePoint
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.executor import execute
from tests.oracles.bags import compare_bags
from tests.oracles.values import Row
from tests.planner.starts import OPEN
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session
from tests.selection import few
from tests.spark.days import rows_of
from tests.spark.stored_days import pretended

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
COLUMNS = (
    ColumnSpec(name="id", type="BIGINT"),
    ColumnSpec(name="shop", type="STRING"),
    ColumnSpec(name="amount", type="INT"),
    ColumnSpec(name="version", type="INT"),
)
SCHEMA = pa.schema(
    [("id", pa.int64()), ("shop", pa.string()), ("amount", pa.int32()), ("version", pa.int32())]
)
SQL = {
    "sums": "SELECT shop, sum(amount) AS s, count(*) AS n FROM orders GROUP BY shop",
    "most": "SELECT shop, max(amount) AS m FROM orders WHERE amount > 0 GROUP BY shop",
    "rows": "SELECT id, amount FROM orders WHERE shop = 'a'",
}


def source(folder: Path, **more: object) -> SourceSpec:
    given = {
        "path": str(folder / "in"), "columns": COLUMNS, "key": ("id",), "change": "changelog",
        "newest_by": "version", "complete_when": ClockTime(), **more,
    }  # fmt: skip
    return SourceSpec(name="orders", **given)  # type: ignore[arg-type]


def deliver(folder: Path, name: str, rows: list[Row], form: str = "parquet") -> None:
    (folder / "in").mkdir(exist_ok=True)
    if form == "csv":
        lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
        text = "\n".join((",".join(SCHEMA.names), *lines)) + "\n"
        (folder / "in" / f"{name}.csv").write_text(text)
        return
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)
    pq.write_table(table, folder / "in" / f"{name}.parquet")


def pinned(folder: Path, **more: object) -> Pin:
    return pin_source(open_store(str(folder / "store")), source(folder, **more), DAY, NOW)[1]


def signed(pin: Pin) -> list[list[tuple[object, ...]]]:
    """The rows of each copy, with their weights."""
    files = sorted(
        pin.files, key=lambda file: Path(file.uri.removeprefix("file://")).stat().st_mtime_ns
    )
    found = [pq.read_table(file.uri.removeprefix("file://")).to_pylist() for file in files]
    return [sorted((*row.values(),) for row in rows) for rows in found]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_update_takes_the_old_row_back(tmp_path: Path, form: str):
    deliver(tmp_path, "1", [(1, "a", 5, 1), (2, "a", 7, 1), (1, "a", 6, 2)], form)
    first = pinned(tmp_path, format=form)
    assert signed(first) == [[(1, "a", 6, 2, 1), (2, "a", 7, 1, 1)]]
    assert pinned(tmp_path, format=form) == first, "nothing more has come"
    deliver(tmp_path, "2", [(2, "b", 7, 3), (3, "b", 1, 1), (1, "z", 0, 1)], form)
    second = pinned(tmp_path, format=form)
    change = [(2, "a", 7, 1, -1), (2, "b", 7, 3, 1), (3, "b", 1, 1, 1)]
    assert signed(second) == [[(1, "a", 6, 2, 1), (2, "a", 7, 1, 1)], change]
    assert set(first.files) < set(second.files)
    deliver(tmp_path, "3", [(2, "a", 9, 2), (3, "b", 1, 1)], form)
    assert pinned(tmp_path, format=form) == second, "older rows, and the same ones, change nothing"
    assert arrived_rows(source(tmp_path, format=form), DAY) == 8, "as delivered"


def test_a_file_that_is_taken_away_takes_its_rows_with_it(tmp_path: Path):
    deliver(tmp_path, "1", [(1, "a", 5, 1)])
    deliver(tmp_path, "2", [(1, "a", 6, 2), (2, "a", 1, 1)])
    pinned(tmp_path)
    (tmp_path / "in" / "2.parquet").unlink()
    assert signed(pinned(tmp_path))[1] == [
        (1, "a", 5, 1, 1),
        (1, "a", 6, 2, -1),
        (2, "a", 1, 1, -1),
    ]


def test_no_rows_are_a_pin_without_rows(tmp_path: Path):
    deliver(tmp_path, "1", [])
    assert [file.rows for file in pinned(tmp_path).files] == [0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(1, "a", 5, 1), (1, "b", 5, 1)], r"1 keys have several rows with the greatest version"),
        ([(1, "a", 5, None)], "1 rows have NULL in version"),
        ([(None, "a", 5, 1)], "1 rows have NULL in id"),
    ],
)
def test_what_does_not_tell_is_refused(tmp_path: Path, rows: list[Row], said: str):
    deliver(tmp_path, "1", rows)
    with pytest.raises(SourceFileError, match=said):
        pinned(tmp_path)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"newest_by": "id"}, "which is a part of the key"),
        ({"newest_by": "when"}, "which is not among its columns"),
        ({"key": ()}, "tells rows of a key apart, in a growing changelog"),
        ({"change": "append_only"}, "tells rows of a key apart, in a growing changelog"),
        ({"format": "delta"}, "newest_by with the format delta"),
        ({"partitioned_by": ("shop",)}, "newest_by with partitioned_by"),
        ({"columns": (*COLUMNS, ColumnSpec(name="x", type="ARRAY<INT>"))}, "column x is nested"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path: Path, more: dict[str, object], said: str):
    with pytest.raises(SpecError, match=said):
        source(tmp_path, **more)


@pytest.mark.parametrize("seed", few(range(24), 3))
def test_a_day_of_upserts_equals_batch(sail: SailEngine, tmp_path: Path, seed: int):
    """Batch is the text over the newest row of each key, as Python finds it."""
    rng = random.Random(f"upserts-{seed}")
    name = rng.choice(list(SQL))
    form = rng.choice(["parquet", "csv"])
    runs = tuple(RunTime(at=f"{12 + i}:00", weight=0.25) for i in range(3))
    policy = RunPolicy(runs=(*runs, RunTime(at="24:00")))
    spec = ReportSpec(
        name="r", sql=SQL[name], sources=(source(tmp_path, format=form),), policy=policy
    )
    store, newest = str(tmp_path / "store"), dict[int, Row]()
    days.open_generation(store, spec, DAY, trigger="first", now=NOW)
    handle = Day.of(store, spec, DAY, "1")
    points = tuple(TimePoint(weight=0.25 if i < 4 else 1.0, arrived=i / 4) for i in range(1, 5))
    commit, kept = None, 0
    for run in range(1, 5):
        for number in range(rng.randint(0 if run > 1 else 1, 2)):
            rows = [
                (rng.randrange(6), rng.choice(("a", "b", None)), rng.choice((-1, 3, 8, None)), v)
                for v in rng.sample(range(100), rng.randint(0, 4))
            ]
            rows = [row for row in rows if newest.get(row[0], (0, 0, 0, -1))[3] != row[3]]
            deliver(tmp_path, f"{run}-{number}", rows, form)
            for row in rows:
                if row[0] not in newest or newest[row[0]][3] < row[3]:
                    newest[row[0]] = row
        large = partial(pretended, said={"orders": 10**7})
        with mock.patch.object(day_request, "to_source", large):
            settings = Settings(
                temporal="early", buckets=2, prices=replace(OPEN, buckets=sail.has_buckets)
            )
            prepared = days.prepare_run(
                handle, run, now=NOW, method="progressive", points=points, settings=settings
            )
        if not prepared.skip_reason:
            commit = execute(sail, StoredPlan.read(prepared.plan_uri), f"a{run}")
            kept += len(commit.artifacts)
    assert commit is not None
    plain = PlainSailEngine(sail_session())
    columns = tuple((column.name, column.type) for column in COLUMNS)
    plain.bind("orders", columns, list(newest.values()))
    compare_bags(plain.query(SQL[name]), rows_of(handle.store, commit.result))
    assert kept
