"""Footers with what no value of Python is, and with types that the schema does not show."""

from __future__ import annotations

import dataclasses
import io
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.reports.spec import ClockTime, SourceSpec
from forerun.include.sources.files import locate
from forerun.include.sources.parquet.footers import SourceFileError, read_footers
from forerun.include.sources.parquet.old_times import why_not_by_files
from forerun.include.sources.parquet.schema import read_schema
from forerun.include.sources.pins import SchemaDriftError, pin_source
from forerun.include.sources.samples import BLOCKS, draw
from forerun.include.state.records import PinnedFile
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from tests.include.days.day_cases import DAY, NOW

LAST = 2**31 - 1
ODD = {
    "day": pa.array([-(10**7), 0, None], pa.int32()).cast(pa.date32()),
    "far day": pa.array([0, LAST, 1], pa.int32()).cast(pa.date32()),
    "at": pa.array([-(2**62), 0, 1], pa.int64()).view(pa.timestamp("us", "UTC")),
    "plain": pa.array([2**62, 0, 1], pa.int64()).view(pa.timestamp("us")),
    "ms": pa.array([2**60, 0, 1], pa.int64()).view(pa.timestamp("ms")),
    "text": pa.array([b"a\xff", b"\xc3", b"z"]).view(pa.string()),
    "words": pa.array([b"\xe2\x82"] * 3).view(pa.string()),
}


def footer(folder: Path, table: pa.Table, **options: object) -> PinnedFile:
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / "1.parquet", **options)
    location = locate(str(folder))
    (file,) = read_footers(location, location.files(".parquet"))
    return file


@pytest.mark.parametrize("name", ODD)
def test_bounds_without_a_value_of_python_are_not_known(tmp_path: Path, name: str) -> None:
    file = footer(tmp_path, pa.table({name: ODD[name], "k": [1, 2, 3]}), row_group_size=2)
    odd, k = file.columns
    assert (odd.minimum, odd.maximum) == (None, None)
    assert odd.nulls == ODD[name].null_count
    assert (k.minimum, k.maximum) == ("1", "3")
    draw([file], [name, "k"], BLOCKS)


def test_bounds_of_one_row_group_are_not_those_of_the_file(tmp_path: Path) -> None:
    days = pa.array([1, 2, LAST, LAST], pa.int32()).cast(pa.date32())
    (column,) = footer(tmp_path, pa.table({"d": days}), row_group_size=2).columns
    assert (column.minimum, column.maximum) == (None, None)


def test_random_bytes_in_any_column_never_crash(tmp_path: Path) -> None:
    """Values of all bits, in every type that has some: footers, samples and pins go on."""
    draw_from = random.Random(5)
    kinds = [pa.int32(), pa.date32(), pa.float32(), pa.int64(), pa.float64(), pa.time64("us"),
             pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.uint64()]  # fmt: skip
    for _ in range(60):
        columns = {}
        for number, kind in enumerate(kinds):
            data = draw_from.randbytes(kind.bit_width // 8 * 20)
            columns[f"c{number}"] = pa.Array.from_buffers(kind, 20, [None, pa.py_buffer(data)])
        texts = [draw_from.randbytes(draw_from.randint(0, 4)) for _ in range(20)]
        columns["text"] = pa.array(texts, pa.binary()).view(pa.string())
        table = pa.table({name: c for name, c in columns.items() if c.type != pa.time64("us")})
        file = footer(tmp_path, table, row_group_size=draw_from.choice((3, 20)))
        draw([file], table.column_names, 2 * BLOCKS)


def test_a_broken_footer_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    """Bytes of the footer changed at random: read, or refused as no readable Parquet."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"k": [1, 2], "s": ["a", "b"], "l": [[1], None]}), sink)
    whole, draw_from = sink.getvalue(), random.Random(9)
    length = int.from_bytes(whole[-8:-4], "little")
    location = locate(str(tmp_path))
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(draw_from.randint(1, 3)):
            data[-8 - draw_from.randint(1, length)] = draw_from.randrange(256)
        (tmp_path / "1.parquet").write_bytes(bytes(data))
        try:
            read_footers(location, location.files(".parquet"))
        except SourceFileError:
            refused += 1
        try:
            read_schema(io.BytesIO(bytes(data)))
        except ValueError:
            continue
    assert 50 < refused < 400


def source(folder: Path, kind: str) -> SourceSpec:
    columns = (ColumnSpec(name="x", type=kind),)
    return SourceSpec(name="t", path=str(folder), columns=columns, complete_when=ClockTime())


BESIDE = {
    "INTERVAL YEAR TO MONTH": ("INT", pa.int32(), {"type": "interval year to month"}),
    "INTERVAL DAY TO SECOND": ("BIGINT", pa.int64(), {"type": "interval day to second"}),
    "VARIANT": (
        "STRUCT<value:BINARY,metadata:BINARY>",
        pa.struct([("value", pa.binary()), ("metadata", pa.binary())]),
        {"type": "variant"},
    ),
    "STRING COLLATE UNICODE_CI": (
        "STRING", pa.string(),
        {"type": "string", "metadata": {"__COLLATIONS": {"x": "icu.UNICODE_CI"}}},
    ),
    "INTERVAL HOUR": (
        "ARRAY<BIGINT>", pa.list_(pa.int64()),
        {"type": {"type": "array", "elementType": "interval hour", "containsNull": True}},
    ),
    "STRING COLLATE UTF8_LCASE": (
        "STRUCT<a:STRING>", pa.struct([("a", pa.string())]),
        {"type": {"type": "struct", "fields": [
            {"name": "a", "type": "string", "metadata": {"__COLLATIONS": {"a": "spark.UTF8_LCASE"}}}
        ]}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", BESIDE)
def test_a_type_that_spark_notes_beside_the_schema_is_not_taken_for_another(
    tmp_path: Path, said: str
) -> None:
    declared, kind, field = BESIDE[said]
    table = pa.table({"x": pa.nulls(1, kind)})
    plain = footer(tmp_path / "in", table)
    assert plain.columns[0].type == declared
    noted = {"type": "struct", "fields": [{"name": "x", "nullable": True, "metadata": {}, **field}]}
    key = "org.apache.spark.sql.parquet.row.metadata"
    footer(tmp_path / "in", table.replace_schema_metadata({key: json.dumps(noted)}))
    with pytest.raises(SchemaDriftError) as error:
        pin_source(open_store(str(tmp_path / "s")), source(tmp_path / "in", declared), DAY, NOW)
    assert error.value.message.endswith(f"expected {declared}, found {said}")


OLD = (
    ({"org.apache.spark.version": "2.4.8"}, True),
    ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}, True),
    ({"org.apache.spark.version": "unknown"}, True),
    ({"org.apache.spark.version": "3.0.0"}, False),
    ({"org.apache.spark.version": "4.1.4"}, False),
    ({}, False),
)


@pytest.mark.parametrize(("metadata", "old"), OLD)
@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.list_(pa.date32())])
def test_the_small_engine_is_not_given_dates_by_the_old_calendar(
    tmp_path: Path, metadata: dict[str, str], old: bool, kind: pa.DataType
) -> None:
    table = pa.table({"d": pa.nulls(1, kind), "k": [1]}).replace_schema_metadata(metadata)
    file = footer(tmp_path, table)
    assert file.old_times == (("d",) if old else ())
    assert bool(why_not_by_files("t", [file])) == old
    if old:
        assert f"column d of {file.uri}" in why_not_by_files("t", [file])
    unknown = dataclasses.replace(file, old_times=None)
    assert "was pinned before calendars were looked at" in why_not_by_files("t", [unknown])


def test_nor_timestamps_of_int96(tmp_path: Path) -> None:
    table = pa.table({"at": pa.array([NOW]), "k": [1]})
    file = footer(tmp_path, table, use_deprecated_int96_timestamps=True)
    assert file.old_times == ("at",)
    assert "column at of" in why_not_by_files("t", [file])
