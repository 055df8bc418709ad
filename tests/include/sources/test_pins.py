"""Pins: what is there, taken once, checked, and noticed when it changes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import os
import random
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.reports.spec import ClockTime, SourceSpec
from forerun.include.sources import pins
from forerun.include.sources.changelog import ChangelogError
from forerun.include.sources.delivery import SourceChangedError, delivery, read_pin, verify_pin
from forerun.include.sources.files import SourcePathError, locate
from forerun.include.sources.parquet import footers
from forerun.include.sources.parquet.footers import SourceFileError
from forerun.include.sources.pins import SchemaDriftError, arrived_rows, pin_source
from forerun.include.state.records import Pin, decode, encode
from forerun.include.stores import open_store
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ContractError
from tests.include.days.day_cases import COLUMNS, DAY, NOW, table
from tests.properties.lying_footers import lie


class Lake:
    """A folder of deliveries, on a disk or in a bucket."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.spec = SourceSpec(
            name="orders", path=f"{uri}/{{ds}}", columns=COLUMNS, complete_when=ClockTime()
        )
        self.place = locate(self.spec.path_on(DAY))

    def deliver(self, name: str, data: pa.Table | bytes, **options: object) -> str:
        if isinstance(data, pa.Table):
            sink = pa.BufferOutputStream()
            pq.write_table(data, sink, **options)
            data = sink.getvalue().to_pybytes()
        self.place.store.put(f"{self.place.key}/{name}", data)
        return self.place.store.uri(f"{self.place.key}/{name}")

    def remove(self, name: str) -> None:
        self.place.store.delete(f"{self.place.key}/{name}")


@pytest.fixture
def lake(store_uri) -> Lake:
    return Lake(f"{store_uri}/lake")


@pytest.fixture
def store(store_uri):
    return open_store(f"{store_uri}/state")


@pytest.fixture
def local(tmp_path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def pin(store, lake, **changes):
    spec = SourceSpec(**{**{f: getattr(lake.spec, f) for f in lake.spec.__slots__}, **changes})
    return pin_source(store, spec, DAY, NOW)[1]


def test_a_pin_names_the_data_files_in_order(store, lake):
    uris = [lake.deliver(n, table((1, 2))) for n in ("10.parquet", "2.parquet", "h=1/a.parquet")]
    for name in ("_SUCCESS", "_tmp.parquet", ".x.parquet", "_temporary/0/a.parquet"):
        lake.deliver(name, b"not data")
    key, made = pin_source(store, lake.spec, DAY, NOW)
    assert [file.uri for file in made.files] == uris
    assert read_pin(store, key) == made
    assert (made.rows, made.number, made.day) == (3, 1, "2026-03-01")
    assert arrived_rows(lake.spec, DAY) == 3


def test_an_unchanged_source_keeps_its_pin_and_reads_no_footer(store, lake, monkeypatch):
    lake.deliver("1.parquet", table((1, 2)))
    first = pin_source(store, lake.spec, DAY, NOW)
    read = []
    real = footers.read_footer
    monkeypatch.setattr(footers, "read_footer", lambda p, f: read.append(f.key) or real(p, f))
    assert pin_source(store, lake.spec, DAY, NOW) == first
    assert read == []
    uri = lake.deliver("2.parquet", table((3, 4), (5, 6)))
    key, second = pin_source(store, lake.spec, DAY, NOW)
    assert [key.rpartition("/")[2] for key in read] == ["2.parquet"]
    assert key == first[0].replace("/1.json", "/2.json")
    assert [file.uri for file in delivery(second, first[1])] == [uri]
    assert delivery(second, None) == second.files


def test_a_large_pin_is_stored_as_what_has_changed(store, lake, monkeypatch):
    monkeypatch.setattr(pins, "_WHOLE_BELOW", 4)

    def stored(key: str) -> Pin:
        return decode(Pin, store.get(key), key)

    for i in range(12):
        lake.deliver(f"{i:02}.parquet", table((i, i)))
    first, whole = pin_source(store, lake.spec, DAY, NOW)
    assert stored(first) == whole
    lake.deliver("05a.parquet", table((1, 1)))
    second, grown = pin_source(store, lake.spec, DAY, NOW)
    assert [f.uri.rpartition("/")[2] for f in stored(second).files] == ["05a.parquet"]
    assert (stored(second).base, len(grown.files)) == (1, 13)
    lake.remove("11.parquet")
    lake.deliver("03.parquet", table((9, 9), (8, 8)))
    third, changed = pin_source(store, lake.spec, DAY, NOW)
    assert stored(third).base == 1  # one step from a whole one, however many came between
    assert len(stored(third).files) == 2
    assert len(stored(third).dropped) == 1
    for key, pinned in ((first, whole), (second, grown), (third, changed)):
        assert read_pin(store, key) == pinned
        assert [f.uri for f in pinned.files] == sorted(f.uri for f in pinned.files)
    assert [f.uri for f in delivery(grown, whole)] == [stored(second).files[0].uri]
    assert pin_source(store, lake.spec, DAY, NOW) == (third, changed)
    for i in range(20, 30):
        lake.deliver(f"{i}.parquet", table((i, i)))
    fourth, much = pin_source(store, lake.spec, DAY, NOW)
    assert stored(fourth) == much  # too much is new for a difference to be worth it
    assert much.base == 0


def test_a_pin_that_goes_on_from_no_whole_one_is_refused(store, lake, monkeypatch):
    monkeypatch.setattr(pins, "_WHOLE_BELOW", 4)
    for i in range(8):
        lake.deliver(f"{i}.parquet", table((i, i)))
    pin(store, lake)
    lake.deliver("8.parquet", table((1, 1)))
    key, _ = pin_source(store, lake.spec, DAY, NOW)
    broken = dataclasses.replace(decode(Pin, store.get(key), key), base=2)
    store.put(key, encode(broken))
    with pytest.raises(ContractError, match="not an earlier pin that is whole"):
        read_pin(store, key)


def test_reports_that_mean_the_same_folder_share_pins(store, local, tmp_path):
    local.deliver("1.parquet", table((1, 2)))
    assert pin_source(store, local.spec, DAY, NOW)[0] == pin_source(store, local.spec, DAY, NOW)[0]
    other = Lake(str(tmp_path / "elsewhere"))
    other.deliver("1.parquet", table((1, 2)))
    assert pin_source(store, other.spec, DAY, NOW)[0] != pin_source(store, local.spec, DAY, NOW)[0]


def test_pins_made_at_once_are_one_series(store, local):
    """Whoever loses the put looks at the folder again: no pin is older than the one before it."""
    local.deliver("0.parquet", table((0, 0)))
    made = []

    def work():
        made.extend(pin_source(store, local.spec, DAY, NOW) for _ in range(15))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 9):
        local.deliver(f"{number}.parquet", table((number, 0)))
    for thread in threads:
        thread.join()
    by_number = {one.number: one for _, one in made}
    assert sorted(made, key=lambda item: item[1].number)[0][1].number == 1
    for number in sorted(by_number)[1:]:
        before = by_number.get(number - 1)
        if before:
            assert set(before.files) < set(by_number[number].files)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"k": pa.int64()}, "column v: expected BIGINT, found no such column"),
        ({"k": pa.int64(), "v": pa.int32()}, "column v: expected BIGINT, found INT"),
        ({"k": pa.int64(), "v": pa.string()}, "column v: expected BIGINT, found STRING"),
        ({"k": pa.int64(), "v": pa.int64(), "w": pa.int64()},
         "column w: expected no such column, found BIGINT"),
    ],
)  # fmt: skip
def test_a_drifted_schema_names_file_and_column(store, local, columns, message):
    local.deliver("1.parquet", table((1, 2)))
    assert pin(store, local).number == 1
    drifted = pa.table({name: pa.array([1], kind) if kind != pa.string() else pa.array(["1"])
                        for name, kind in columns.items()})  # fmt: skip
    uri = local.deliver("2.parquet", drifted)
    with pytest.raises(SchemaDriftError) as caught:
        pin(store, local)
    assert caught.value.message == f"source orders: {uri}, {message}"
    local.remove("2.parquet")
    assert pin(store, local).number == 1  # nothing of the refused delivery is kept


def test_a_null_where_none_is_declared_is_refused(store, local: Lake):
    local.deliver("1.parquet", table((1, 2)))
    columns = (COLUMNS[0], dataclasses.replace(COLUMNS[1], nullable=False))
    pin(store, local, columns=columns)
    local.deliver("2.parquet", table((1, 2), (2, None), (3, None)))
    message = r"2\.parquet, column v: expected BIGINT without NULL, found 2 NULL values"
    with pytest.raises(SchemaDriftError, match=message):
        pin(store, local, columns=columns)


def test_columns_may_come_in_another_order_and_case(store, local):
    local.deliver("1.parquet", table((1, 2)).select(["v", "k"]).rename_columns(["V", "K"]))
    assert pin(store, local).rows == 1


def test_types_are_compared_as_spark_reads_them(store, local):
    when = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    data = pa.table({
        "d": pa.array([decimal.Decimal("1.50")], pa.decimal128(12, 2)),
        "t": pa.array([when], pa.timestamp("us", "UTC")),
        "a": pa.array([[{"x": 1}]], pa.list_(pa.struct([("x", pa.int32())]))),
    })  # fmt: skip
    local.deliver("1.parquet", data)
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink, use_deprecated_int96_timestamps=True)
    local.deliver("2.parquet", sink.getvalue().to_pybytes())
    columns = tuple(
        ColumnSpec(name=n, type=t)
        for n, t in (("d", "decimal(12, 2)"), ("t", "timestamp"), ("a", "array<struct<x: int>>"))
    )
    assert pin(store, local, columns=columns).rows == 2
    wrong = (ColumnSpec(name="d", type="DECIMAL(12,3)"), *columns[1:])
    with pytest.raises(SchemaDriftError, match=r"expected DECIMAL\(12,3\), found DECIMAL\(12,2\)"):
        pin(store, local, columns=wrong)


def test_a_file_whose_footer_has_two_numbers_of_rows_is_named(store, local):
    uri = local.deliver("1.parquet", table((1, 2)))
    lie(Path(uri.removeprefix("file://")), rows=True)
    with pytest.raises(SourceFileError, match="says 0 rows, and 1 in its row groups"):
        pin(store, local)


@pytest.mark.parametrize("cut", [0, 3, 100, -1, -8])
def test_a_truncated_file_is_named(store, local, cut):
    sink = pa.BufferOutputStream()
    pq.write_table(table((1, 2)), sink)
    uri = local.deliver("1.parquet", sink.getvalue().to_pybytes()[:cut])
    with pytest.raises(SourceFileError, match="not a readable Parquet file") as caught:
        pin(store, local)
    assert uri in caught.value.message
    assert store.list("sources") == ()


def test_a_path_without_files(store, lake):
    with pytest.raises(SourcePathError, match="source orders has no files in"):
        pin(store, lake)
    assert pin(store, lake, allow_empty=True).files == ()
    lake.deliver("1.parquet", table())
    assert pin(store, lake).rows == 0


@pytest.mark.parametrize("path", ["", "s3://bucket", "http://x/y", "/"])
def test_paths_that_are_no_folders(path):
    with pytest.raises(SourcePathError, match="is not the folder of a source"):
        locate(path)


def test_a_relative_path_is_one_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    pq.write_table(table((1, 2)), "in/1.parquet")
    assert [f.key for f in locate("in").files(".parquet")] == [f"{str(tmp_path)[1:]}/in/1.parquet"]
    assert len(locate("in/1.parquet").files(".parquet")) == 1


def test_a_pinned_file_that_changes_or_vanishes_is_noticed(store, lake):
    uri = lake.deliver("1.parquet", table((1, 2)))
    lake.deliver("2.parquet", table((1, 2)))
    made = pin(store, lake)
    verify_pin(made)
    lake.deliver("3.parquet", table((9, 9)))
    verify_pin(made)  # what arrives later belongs to the next run
    lake.deliver("1.parquet", table((1, 3)))
    with pytest.raises(SourceChangedError, match=r"was changed after it was pinned") as caught:
        verify_pin(made)
    assert uri in caught.value.message
    lake.remove("1.parquet")
    with pytest.raises(SourceChangedError, match=r"1\.parquet vanished after it was pinned"):
        verify_pin(made)


def test_a_delivery_after_a_change_of_what_was_read_is_refused(store, lake):
    lake.deliver("1.parquet", table((1, 2)))
    base = pin(store, lake)
    lake.deliver("1.parquet", table((1, 3)))
    with pytest.raises(SourceChangedError, match="was written again since"):
        delivery(pin(store, lake), base)
    lake.remove("1.parquet")
    lake.deliver("2.parquet", table((1, 3)))
    with pytest.raises(SourceChangedError, match="was there at the last committed run"):
        delivery(pin(store, lake), base)


@pytest.mark.parametrize("rows", [1, 9000])
def test_a_file_written_again_with_its_size_and_time_is_noticed(store, local, rows):
    """As by ``cp -p`` or ``rsync -t``: only the footer tells, here by the statistics."""
    path = Path(
        local.deliver("1.parquet", table((1, 2)), compression="none").removeprefix("file://")
    )
    before = path.stat()
    first = pin(store, local)
    verify_pin(first)
    local.deliver("1.parquet", table((1, 3)), compression="none")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    with pytest.raises(SourceChangedError, match=r"1\.parquet was changed after it was pinned"):
        verify_pin(first)
    second = pin(store, local)  # what is pinned from now on is what is there
    assert second.number == 2
    verify_pin(second)
    with pytest.raises(SourceChangedError, match="written again since the last committed run"):
        delivery(second, first)


def test_a_pin_of_an_older_version_has_no_digest_and_is_still_good(store, local):
    local.deliver("1.parquet", table((1, 2)))
    made = pin(store, local)
    old = dataclasses.replace(
        made, files=tuple(dataclasses.replace(file, digest="") for file in made.files)
    )
    verify_pin(old)
    assert delivery(made, old) == ()


def test_a_static_source_gains_nothing(store, local):
    local.deliver("1.parquet", table((1, 2)))
    base = pin(store, local)
    assert delivery(pin(store, local), base, growing=False) == ()
    local.deliver("2.parquet", table((1, 2)))
    with pytest.raises(SourceChangedError, match="the source is declared static"):
        delivery(pin(store, local), base, growing=False)


def test_footers_hold_statistics_in_sparks_text(store, local):
    data = pa.table({
        "i": pa.array([3, None, -5], pa.int32()), "s": ["b", "a", "b"],
        "d": pa.array([decimal.Decimal("10.00"), decimal.Decimal("9.00"), None],
                      pa.decimal128(9, 2)),
        "f": [1.5, float("nan"), 2.5], "b": [True, False, True],
        "day": pa.array([dt.date(2026, 3, 1)] * 3), "n": pa.array([None] * 3, pa.int64()),
        "t": pa.array([dt.datetime(2026, 3, 1, 1, 2, 3)] * 3, pa.timestamp("us", "UTC")),
        "l": [[1], [], None],
    })  # fmt: skip
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink, row_group_size=2)
    local.deliver("1.parquet", sink.getvalue().to_pybytes())
    place = locate(local.spec.path_on(DAY))
    (read,) = footers.read_footers(place, place.files(".parquet"))
    seen = {c.name: (c.type, c.minimum, c.maximum, c.nulls) for c in read.columns}
    assert read.rows == 3
    assert seen["i"] == ("INT", "-5", "3", 1)
    assert seen["s"] == ("STRING", "a", "b", 0)
    assert seen["d"] == ("DECIMAL(9,2)", "9.00", "10.00", 1)
    assert seen["b"] == ("BOOLEAN", "false", "true", 0)
    assert seen["day"] == ("DATE", "2026-03-01", "2026-03-01", 0)
    assert seen["t"] == ("TIMESTAMP", "2026-03-01 01:02:03", "2026-03-01 01:02:03", 0)
    assert seen["n"] == ("BIGINT", None, None, 3)
    assert seen["l"] == ("ARRAY<BIGINT>", None, None, None)


@pytest.mark.parametrize(
    ("codec", "at_least"),
    [("none", 0.8), ("snappy", 0.8), ("lz4", 0.8), ("zstd", 0.01), ("gzip", 0.01)],
)
def test_small_dictionaries_tell_how_many_values_there_are(local, codec, at_least):
    """Texts much alike, whose dictionary compresses to a fraction: what the chunk has saved was
    saved there, unless the codec packs numbers, too."""
    rng = random.Random(codec)
    sink = pa.BufferOutputStream()
    table = pa.table({
        "few": [f"value number {rng.randrange(150)} of many" for _ in range(50_000)],
        "keys": pa.array([rng.randrange(1000) for _ in range(50_000)], pa.int64()),
        "many": [f"{i:020d}" for i in range(50_000)],
        "some": [i if i < 100 else None for i in range(50_000)],
    })  # fmt: skip
    pq.write_table(table, sink, compression=codec)
    local.deliver("1.parquet", sink.getvalue().to_pybytes())
    place = locate(local.spec.path_on(DAY))
    (read,) = footers.read_footers(place, place.files(".parquet"))
    few, keys, many, some = read.columns
    assert at_least * 150 <= few.distinct <= 1.2 * 150
    assert at_least * 1000 <= keys.distinct <= 1.2 * 1000
    assert many.distinct == 0
    assert some.distinct == 0  # a small dictionary, but of values that hardly come again


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"id": [1], "x": [1], "X": [2]}, "x and X have one name"),
        (
            {"x": pa.array([NOW], pa.timestamp("ns"))},
            r"x has type TIMESTAMP\(NANOS",
        ),
        (
            {"x": pa.array([[NOW]], pa.list_(pa.timestamp("ns")))},
            r"x has type TIMESTAMP\(NANOS",
        ),
        (
            {"x": pa.array([decimal.Decimal(1)], pa.decimal256(39, 2))},
            r"x has type DECIMAL\(39",
        ),
        ({"x": [{"a": 1, "A": 2}]}, "x has type STRUCT with a and A"),
        ({"x": pa.array([1], pa.time64("us"))}, r"x has type TIME\(MICROS, "),
    ],
)
def test_what_spark_does_not_read_is_refused_with_file_and_column(store, local, data, says):
    local.deliver("1.parquet", pa.table(data))
    with pytest.raises(SourceFileError, match=rf"1\.parquet.*{says}"):
        pin(store, local)


def test_unsigned_numbers_and_old_timestamps_are_what_spark_reads_them_as(local):
    kinds = {"a": pa.uint8(), "b": pa.uint16(), "c": pa.uint32(), "d": pa.uint64()}
    local.deliver(
        "1.parquet", pa.table({name: pa.array([9], kind) for name, kind in kinds.items()})
    )
    local.deliver(
        "2.parquet", pa.table({"t": pa.array([NOW])}), use_deprecated_int96_timestamps=True
    )
    found = footers.read_footers(local.place, local.place.files(".parquet"))
    assert [c.type for file in found for c in file.columns] == [
        "SMALLINT", "INT", "BIGINT", "DECIMAL(20,0)", "TIMESTAMP",
    ]  # fmt: skip


def test_a_changelog_says_of_each_row_how_often_it_comes(store, local: Lake):
    source = dataclasses.replace(local.spec, change="changelog")
    local.deliver("a.parquet", table((1, 2)).append_column("__w", pa.array([1], pa.int64())))
    pin_source(store, source, DAY, NOW)
    local.deliver("b.parquet", table((1, 2)))
    with pytest.raises(SchemaDriftError, match="column __w: expected BIGINT, found no such"):
        pin_source(store, source, DAY, NOW)
    local.deliver("b.parquet", table((1, 2)).append_column("__w", pa.array([1], pa.int32())))
    with pytest.raises(SchemaDriftError, match="column __w: expected BIGINT, found INT"):
        pin_source(store, source, DAY, NOW)
    local.deliver("b.parquet", table((1, 2)).append_column("__w", pa.array([None], pa.int64())))
    with pytest.raises(SchemaDriftError, match=r"__w: expected BIGINT without NULL, found 1 NULL"):
        pin_source(store, source, DAY, NOW)
    with pytest.raises(SchemaDriftError, match="column __w: expected no such column"):
        pin_source(store, local.spec, DAY, NOW)
    data = table((1, 2)).append_column("__w", pa.array([1], pa.int64()))
    local.deliver("b.parquet", data, write_statistics=["k", "v"])
    with pytest.raises(ChangelogError, match=r"footer of .*b\.parquet does not count NULLs"):
        pin_source(store, source, DAY, NOW)
