"""Tables that tell the days of their rows by a column: what lies as it is, and what is copied."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog

from forerun.include.reports.spec import ClockTime, SourceSpec, Trailing
from forerun.include.sources.pins import pin_source
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.records import Pin
from forerun.include.stores.opening import open_store
from forerun.spark_jobs.engines.sail import SailEngine
from tests.oracles.values import Row
from tests.spark.deletion_vectors import delete_by_vector
from tests.spark.lake import DAY, NOW, read
from tests.spark.test_delta import VECTORS

COLUMNS = {"k": "BIGINT", "at": "DATE"}


def day(number: int) -> dt.date:
    return DAY + dt.timedelta(days=number)


def pin(folder: Path, spec: SourceSpec, at: dt.date = DAY) -> Pin:
    return pin_source(open_store(str(folder / "store")), spec, at, NOW)[1]


def delta(folder: Path, *rows: tuple[int, dt.date | None]) -> None:
    """Write one file with these rows."""
    values = [list(column) for column in zip(*rows, strict=True)]
    found = pa.table(values, schema=pa.schema([("k", pa.int64()), ("at", pa.date32())]))
    write_deltalake(folder / "t", found, mode="append", configuration=VECTORS)


def source(folder: Path, **more: Any) -> SourceSpec:
    given: dict[str, Any] = {"columns": COLUMNS, "over": Trailing(days_back=3), **more}
    return SourceSpec(
        name="t", path=f"{folder}/t", format="delta", day_by="at", timezone="UTC",
        complete_when=ClockTime(), **given,
    )  # fmt: skip


def held(found: Pin) -> list[tuple[str, int, bool]]:
    """Of each file its day, how many rows it has, and whether it is a copy."""
    return sorted((file.day, file.rows, bool(file.origin)) for file in found.files)


def test_what_is_of_one_day_lies_as_it_is_and_the_rest_is_copied(
    tmp_path: Path, sail: SailEngine
) -> None:
    delta(tmp_path, (1, day(0)), (2, day(0)))
    delta(tmp_path, (3, day(-3)), (4, day(-9)))  # of other days
    delta(tmp_path, (5, day(-2)), (6, day(1)), (7, day(-3)), (8, day(-2)))
    delta(tmp_path, (9, day(-1)), (10, None))
    delta(tmp_path, (11, None))
    first = pin(tmp_path, source(tmp_path))
    assert held(first) == [
        ("2026-02-27", 2, True), ("2026-02-28", 1, True), ("2026-03-01", 2, False),
    ]  # fmt: skip
    rows = [(1, day(0)), (2, day(0)), (5, day(-2)), (8, day(-2)), (9, day(-1))]
    assert read(sail, source(tmp_path), first) == sorted(rows, key=repr)
    assert pin(tmp_path, source(tmp_path)) == first
    # What was copied is copied once, also for other days.
    second = pin(tmp_path, source(tmp_path), day(1))
    assert held(second) == [
        ("2026-02-28", 1, True), ("2026-03-01", 2, False), ("2026-03-02", 1, True),
    ]  # fmt: skip
    assert {file for file in first.files if file.day > "2026-02-27"} < set(second.files)
    alone = pin(tmp_path, source(tmp_path, over=None))
    assert held(alone) == [("2026-03-01", 2, False)]


def test_a_table_that_is_partitioned_by_the_column(tmp_path: Path, sail: SailEngine) -> None:
    """Its files do not hold it. Rows are deleted in one of them."""
    rows = pa.table({"k": [1, 2, 3, 4, 5], "at": [day(0), day(0), day(-1), day(-5), None]})
    write_deltalake(tmp_path / "t", rows, partition_by=["at"], configuration=VECTORS)
    first = pin(tmp_path, source(tmp_path))
    assert held(first) == [("2026-02-28", 1, False), ("2026-03-01", 2, False)]
    delete_by_vector(str(tmp_path / "t"), lambda row: row["k"] == 2, inline=True)
    for change in ("append_only", "changelog"):
        spec = source(tmp_path, change=change)
        found = pin(tmp_path, spec)
        assert read(sail, spec, found) == [(1, day(0)), (3, day(-1))]
        assert {file.day for file in found.files} == {"2026-02-28", "2026-03-01"}


def test_a_column_that_came_later_tells_no_day_of_older_rows(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"k": [1, 2]}), configuration=VECTORS)
    new = pa.table({"k": [3], "at": [day(0)]})
    write_deltalake(tmp_path / "t", new, mode="append", schema_mode="merge")
    assert held(pin(tmp_path, source(tmp_path))) == [("2026-03-01", 1, False)]


def test_a_column_that_is_of_another_type_is_named(tmp_path: Path) -> None:
    rows = pa.table({"k": [1], "at": ["2026-03-01"]})
    write_deltalake(tmp_path / "t", rows)
    with pytest.raises(SourceFileError, match=r"column at, by which .* is declared DATE and held"):
        pin(tmp_path, source(tmp_path))


@pytest.mark.parametrize("change", ["append_only", "changelog"])
def test_deleted_rows_are_of_their_days(change: str, tmp_path: Path, sail: SailEngine) -> None:
    delta(tmp_path, (1, day(0)), (2, day(0)))
    delta(tmp_path, (3, day(-1)), (4, day(-9)), (5, day(-1)), (6, day(-1)))
    delta(tmp_path, (7, day(-8)))
    goes = {2, 4, 5, 7}
    delete_by_vector(str(tmp_path / "t"), lambda row: row["k"] in goes, inline=True)
    spec = source(tmp_path, change=change)
    found = pin(tmp_path, spec)
    assert {file.day for file in found.files} == {"2026-02-28", "2026-03-01"}
    assert read(sail, spec, found) == [(1, day(0)), (3, day(-1)), (6, day(-1))]


def test_a_compaction_is_no_change_for_the_next_day(tmp_path: Path) -> None:
    """Also one that writes the rows of several days into one file, and those during the day, of
    what has come on it, too."""
    for back in (3, 2, 1, 0):
        delta(tmp_path, (back, day(-back)))
    first = pin(tmp_path, source(tmp_path))
    DeltaTable(tmp_path / "t").optimize.compact()
    delta(tmp_path, (10, day(0)))
    last = pin(tmp_path, source(tmp_path))
    assert {file.uri for file in first.files} < {file.uri for file in last.files}
    DeltaTable(tmp_path / "t").optimize.compact()
    delta(tmp_path, (12, day(0)))
    last = pin(tmp_path, source(tmp_path))
    assert {file.uri for file in first.files} < {file.uri for file in last.files}
    DeltaTable(tmp_path / "t").optimize.compact()
    delta(tmp_path, (11, day(1)))
    now = pin(tmp_path, source(tmp_path), day(1))
    assert held(now) == [
        ("2026-02-28", 1, True), ("2026-03-01", 3, True), ("2026-03-02", 1, False),
    ]  # fmt: skip
    same = {len(one.gone): one for one in now.compacted}
    assert {file.day for file in last.files if file.uri in same[1].gone} == {"2026-02-28"}
    assert {file.day for file in last.files if file.uri in same[3].gone} == {"2026-03-01"}
    again = pin(tmp_path, source(tmp_path), day(1))
    assert again == now


def test_days_are_those_of_a_time_zone(tmp_path: Path, catalog: Catalog, sail: SailEngine) -> None:
    """Three files, of which the second has rows on both sides of midnight in Tokyo."""
    schema = pa.schema([("k", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    table = catalog.create_table("shop.t", schema=schema)
    midnight = dt.datetime(2026, 3, 1, 15, tzinfo=dt.UTC)  # the second of March begins
    soon = dt.timedelta(microseconds=1)
    rows: list[list[Row]] = [
        [(1, midnight), (2, midnight + soon)],
        [(3, midnight - soon), (4, midnight)],
        [(5, midnight - soon)],
    ]
    for part in rows:
        table.append(pa.table([list(each) for each in zip(*part, strict=True)], schema=schema))
    spec = SourceSpec(
        name="t", path=f"{tmp_path}/lake/shop/t", format="iceberg", catalog="lake.shop.t",
        columns={"k": "BIGINT", "at": "TIMESTAMP"}, day_by="at", timezone="Asia/Tokyo",
        over=Trailing(days_back=1), complete_when=ClockTime(),
    )  # fmt: skip
    first, second = pin(tmp_path, spec), pin(tmp_path, spec, day(1))
    assert held(first) == [("2026-03-01", 1, False), ("2026-03-01", 1, True)]
    assert held(second) == [("2026-03-02", 1, True), ("2026-03-02", 2, False)]
    assert [k for k, _ in read(sail, spec, first)] == [3, 5]
    assert [k for k, _ in read(sail, spec, second)] == [1, 2, 4]
