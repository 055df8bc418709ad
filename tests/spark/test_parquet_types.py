"""The types that footers are taken for are the types in which Spark reads the files."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.sources.files import locate
from forerun.include.sources.parquet.footers import SourceFileError, read_footers
from forerun.include.sources.unread import UNREAD
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec

LEAVES: dict[str, pa.DataType] = {
    "bool": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
    "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
    "f16": pa.float16(), "f32": pa.float32(), "f64": pa.float64(), "text": pa.string(),
    "bytes": pa.binary(), "long text": pa.large_string(), "fixed": pa.binary(5), "day": pa.date32(),
    "day64": pa.date64(), "t32": pa.time32("ms"), "t64": pa.time64("us"), "tns": pa.time64("ns"),
    "s": pa.timestamp("s"), "ms": pa.timestamp("ms", "UTC"), "us": pa.timestamp("us"),
    "us utc": pa.timestamp("us", "Asia/Tokyo"), "ns": pa.timestamp("ns"), "d5": pa.decimal128(5, 2),
    "d18": pa.decimal128(18, 0), "d38": pa.decimal128(38, 10), "d50": pa.decimal256(50, 2),
    "null": pa.null(), "duration": pa.duration("us"), "json": pa.json_(), "uuid": pa.uuid(),
    "words": pa.dictionary(pa.int32(), pa.string()),
}  # fmt: skip


def nested(draw: random.Random, deep: int) -> pa.DataType:
    shape = draw.choice(("leaf", "list", "large", "fixed", "map", "struct"))
    if shape == "leaf" or not deep:
        return draw.choice([kind for name, kind in LEAVES.items() if name not in ("words",)])
    inside = nested(draw, deep - 1)
    match shape:
        case "list":
            return pa.list_(inside)
        case "large":
            return pa.large_list(inside)
        case "fixed":
            return pa.list_(inside, 2)
        case "map":
            return pa.map_(pa.string(), inside)
    return pa.struct([("a b.c", inside), ("B", nested(draw, deep - 1))])


OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"use_deprecated_int96_timestamps": True}, {"use_compliant_nested_type": False},
)  # fmt: skip


def files(folder: Path) -> list[Path]:
    """One column each, of no rows or of NULLs, as Arrow writes them: with its own schema beside."""
    draw, made = random.Random(11), []
    kinds = [*LEAVES.values(), *(nested(draw, 3) for _ in range(60))]
    for number, kind in enumerate(kinds):
        for option in OPTIONS:
            nulls = pa.table({"x": pa.nulls(2, kind)})
            table = nulls if number % 2 else nulls.slice(2)
            path = folder / f"{number}-{len(option)}-{'-'.join(option)}.parquet"
            try:
                pq.write_table(table, path, **option)
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                continue
            made.append(path)
    return made


def ours(path: Path) -> str:
    location = locate(str(path))
    try:
        (file,) = read_footers(location, location.files(".parquet"))
    except SourceFileError as error:
        return "refused" if "which Spark does not read" in error.message else error.message
    kind = file.columns[0].type
    return "refused" if kind.startswith(UNREAD) else parse_type(kind).sql.lower()


def sparks(session: Any, path: Path) -> str:
    from pyspark.errors import PySparkException

    try:
        kind = session.read.parquet(str(path)).schema[0].dataType.simpleString()
    except PySparkException:
        return "refused"
    return parse_type(kind).sql.lower()


@pytest.mark.spark
def test_a_column_has_the_type_in_which_spark_reads_it(spark, tmp_path: Path) -> None:
    found = {path.name: (ours(path), sparks(spark.session, path)) for path in files(tmp_path)}
    assert len(found) > 150
    differing = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
    assert not differing, "\n".join(f"{n}: ours {a}, Spark {b}" for n, (a, b) in differing.items())
    refused = sum(pair == ("refused", "refused") for pair in found.values())
    assert 0 < refused < len(found) / 2


AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
VALUES: dict[str, tuple[pa.Array, str, object]] = {
    "u64": (pa.array([2**64 - 1], pa.uint64()), "DECIMAL(20,0)", Decimal(2**64 - 1)),
    "json": (pa.array(['{"a":1}'], pa.json_()), "STRING", '{"a":1}'),
    "fixed": (pa.array([b"abc"], pa.binary(3)), "BINARY", bytearray(b"abc")),
    "none": (pa.nulls(1), "INT", None),
    "list": (pa.array([[AT, None]]), "ARRAY<TIMESTAMP>", [AT.replace(tzinfo=None), None]),
    "struct": (pa.array([{"t": AT}]), "STRUCT<t:TIMESTAMP>", (AT.replace(tzinfo=None),)),
}


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("name", VALUES)
def test_values_of_rare_types_are_read(request, engine: str, tmp_path: Path, name: str) -> None:
    values, kind, expected = VALUES[name]
    path = tmp_path / "1.parquet"
    pq.write_table(pa.table({"x": values}), path, use_deprecated_int96_timestamps=True)
    assert ours(path) == kind.lower()
    column = ColumnSpec(name="x", type=kind)
    if (engine, name) == ("sail", "none"):
        with pytest.raises(Exception, match="actual Parquet type Null"):  # an error, no value
            request.getfixturevalue(engine).read([path.as_uri()], (column,)).collect()
        return
    ((found,),) = request.getfixturevalue(engine).read([path.as_uri()], (column,)).collect()
    assert found == expected
