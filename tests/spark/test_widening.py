"""What a source lives with: columns that are not declared, and narrower types, by execution."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.reports.spec import ClockTime, SourceSpec
from forerun.include.sources.pins import SchemaDriftError, pin_source
from forerun.include.sources.unread import SourceFileError
from forerun.include.sources.widening import widens
from forerun.include.state.records import ManifestSource
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from forerun.spark_jobs.inputs import read_files
from tests.include.days.day_cases import DAY, NOW

NARROW: dict[str, pa.Array] = {
    "TINYINT": pa.array([-128, 127, 0, None], pa.int8()),
    "SMALLINT": pa.array([-(2**15), 2**15 - 1, 1, None], pa.int16()),
    "INT": pa.array([-(2**31), 2**31 - 1, 7, None], pa.int32()),
    "BIGINT": pa.array([-(2**63), 2**63 - 1, 7, None], pa.int64()),
    "FLOAT": pa.array([0.1, -0.0, float("inf"), None], pa.float32()),
    "DECIMAL(9,1)": pa.array([Decimal("99999999.9"), Decimal("-0.1"), None], pa.decimal128(9, 1)),
    "DECIMAL(18,4)": pa.array([Decimal("-1.2345"), Decimal(10) ** 13, None], pa.decimal128(18, 4)),
    "DECIMAL(30,2)": pa.array([Decimal("-1.25"), Decimal(10) ** 27, None], pa.decimal128(30, 2)),
}
WIDE = (
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,1)", "DECIMAL(10,2)",
    "DECIMAL(10,0)", "DECIMAL(12,2)", "DECIMAL(18,4)", "DECIMAL(20,0)", "DECIMAL(20,5)",
    "DECIMAL(30,2)", "DECIMAL(38,10)", "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BOOLEAN",
)  # fmt: skip
PAIRS = [(a, b) for a, b in itertools.product(NARROW, WIDE) if a != b and widens(a, b)]


def source(folder: Path, kind: str, **policies: Any) -> SourceSpec:
    columns = (ColumnSpec(name="x", type=kind),)
    rule = ClockTime()
    return SourceSpec(name="t", path=str(folder), columns=columns, complete_when=rule, **policies)


def pinned(tmp_path: Path, spec: SourceSpec) -> list[str]:
    pin = pin_source(open_store(str(tmp_path / "state")), spec, DAY, NOW)[1]
    return [file.uri for file in pin.files]


def written(tmp_path: Path, **columns: pa.Array) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    plain = {"use_dictionary": False} if len(columns) % 2 else {}
    pq.write_table(pa.table(columns), folder / "1.parquet", store_decimal_as_integer=True, **plain)
    return folder


def rows_of(engine: Any, tmp_path: Path, spec: SourceSpec) -> Any:
    """What a run reads of the source."""
    key, pin = pin_source(open_store(str(tmp_path / "state")), spec, DAY, NOW)
    read = ManifestSource(name="t", pin=key, base_pin="", columns=spec.columns, changing=True)
    return read_files(engine, read, pin.files)


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.spark)])
def test_every_pair_is_read_value_for_value(request, engine: str, tmp_path: Path) -> None:
    """Of files with and without dictionaries, beside a file in the declared type, and under filters
    that row groups are skipped by: no value that the narrow type has not is one that it has."""
    running = request.getfixturevalue(engine)
    assert len(PAIRS) > 30
    for number, (narrow, wide) in enumerate(PAIRS):
        values, here = NARROW[narrow], tmp_path / str(number)
        here.mkdir()
        frame = rows_of(
            running, here, source(written(here, x=values), wide, narrower_types="widen")
        )
        found = [row[0] for row in frame.collect()]
        assert sorted(map(repr, found)) == sorted(repr(_as(v, wide)) for v in values), (
            narrow,
            wide,
        )
        for text, has in (("7", _number(values, 7)), ("4294967303", 0)):
            if wide in ("BIGINT", "DOUBLE", "DECIMAL(38,10)"):
                assert frame.where(f"x = CAST('{text}' AS {wide})").count() == has, (narrow, wide)


def _number(values: pa.Array, wanted: int) -> int:
    return sum(value.as_py() == wanted for value in values)


def _as(value: pa.Scalar, wide: str) -> object:
    plain = value.as_py()
    if plain is None:
        return None
    if wide.startswith("DECIMAL"):
        scale = int(wide.rstrip(")").split(",")[1])
        return Decimal(plain).quantize(Decimal(1).scaleb(-scale), context=Context(prec=60))
    return float(plain) if wide == "DOUBLE" else plain


def test_by_default_nothing_is_widened_or_ignored(tmp_path: Path) -> None:
    folder = written(tmp_path, x=NARROW["INT"], y=NARROW["INT"])
    with pytest.raises(SchemaDriftError, match="column x: expected BIGINT, found INT") as error:
        pinned(tmp_path, source(folder, "BIGINT"))
    assert 'narrower_types="widen"' in error.value.hint
    with pytest.raises(SchemaDriftError, match="column y: expected no such column, found INT"):
        pinned(tmp_path, source(folder, "INT"))
    assert pinned(
        tmp_path, source(folder, "BIGINT", extra_columns="ignore", narrower_types="widen")
    )


@pytest.mark.parametrize(
    "wide", ["TINYINT", "STRING", "DATE", "FLOAT", "DECIMAL(9,0)", "TIMESTAMP"]
)
def test_what_loses_something_is_not_widened(tmp_path: Path, wide: str) -> None:
    folder = written(tmp_path, x=NARROW["INT"])
    with pytest.raises(SchemaDriftError, match="found INT"):
        pinned(tmp_path, source(folder, wide, narrower_types="widen"))


def test_a_column_that_no_report_reads_may_have_any_type(tmp_path: Path) -> None:
    nanos = pa.array([1, 2, 3, None], pa.timestamp("ns"))
    folder = written(tmp_path, x=NARROW["INT"], y=nanos)
    with pytest.raises(SourceFileError, match="column y has type TIMESTAMP"):
        pinned(tmp_path, source(folder, "INT"))
    assert pinned(tmp_path, source(folder, "INT", extra_columns="ignore"))


def test_how_often_a_row_comes_is_never_widened(tmp_path: Path) -> None:
    folder = written(tmp_path, x=NARROW["INT"], __w=pa.array([1, 1, 1, 1], pa.int32()))
    spec = source(folder, "BIGINT", narrower_types="widen", change="changelog")
    with pytest.raises(SchemaDriftError, match="column __w: expected BIGINT, found INT"):
        pinned(tmp_path, spec)
    assert replace(spec, narrower_types="refuse").narrower_types == "refuse"


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_column_that_is_ignored_is_not_read(request, engine: str, tmp_path: Path) -> None:
    folder = written(tmp_path, y=NARROW["INT"], x=NARROW["INT"])
    pq.write_table(pa.table({"x": NARROW["SMALLINT"]}), folder / "2.parquet")
    spec = source(folder, "INT", extra_columns="ignore", narrower_types="widen")
    frame = rows_of(request.getfixturevalue(engine), tmp_path, spec)
    assert (frame.columns, frame.count()) == (["x"], 8)
    assert (frame.where("x = 7").count(), frame.where("x = 1").count()) == (1, 1)
