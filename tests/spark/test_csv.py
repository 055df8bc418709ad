"""CSV sources: copied when they are pinned; what is not as declared is refused by file and line."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from forerun.include.reports.spec import ClockTime, SourceSpec
from forerun.include.sources.delivery import SourceChangedError, delivery, verify_pin
from forerun.include.sources.parquet.footers import SourceFileError
from forerun.include.sources.pins import SchemaDriftError, pin_source
from forerun.include.sources.samples import draw
from forerun.include.state.records import Pin
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from tests.oracles.values import Row
from tests.spark.places import FIRST, Place

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
COLUMNS = (
    ColumnSpec(name="k", type="INT", nullable=False),
    ColumnSpec(name="t", type="STRING"),
    ColumnSpec(name="d", type="DATE"),
    ColumnSpec(name="b", type="BOOLEAN"),
    ColumnSpec(name="n", type="DECIMAL(10,2)"),
    ColumnSpec(name="f", type="DOUBLE"),
)
HEADER = "k,t,d,b,n,f\n"
GOOD = '1,"a,""x"" ü",2026-01-02,true,1.50,1.5\r\n-7,,,,,\n3,"",2026-01-03,false,-2.25,-3e5'
VALUES = [
    (1, 'a,"x" ü', dt.date(2026, 1, 2), True, Decimal("1.50"), 1.5),
    (-7, None, None, None, None, None),
    (3, None, dt.date(2026, 1, 3), False, Decimal("-2.25"), -3e5),
]


def pinned(
    folder: Path,
    text: str | bytes,
    columns: tuple[ColumnSpec, ...] = COLUMNS,
    name: str = "1.csv",
    **more: Any,
) -> Pin:
    """Deliver a file of CSV, and pin it."""
    (folder / "in").mkdir(exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    (folder / "in" / name).write_bytes(data)
    source = SourceSpec(
        name="t", path=str(folder / "in"), columns=columns, format="csv",
        complete_when=ClockTime(), **more,
    )  # fmt: skip
    return pin_source(open_store(str(folder / "store")), source, DAY, NOW)[1]


def values(pin: Pin) -> list[dict[str, Any]]:
    """The rows of the copies."""
    found = [pq.read_table(file.uri.removeprefix("file://")).to_pylist() for file in pin.files]
    return [row for rows in found for row in rows]


def test_rows_and_what_is_known_of_values_are_those_of_the_copy(tmp_path: Path) -> None:
    (file,) = pinned(tmp_path, HEADER + GOOD).files
    assert (file.rows, file.origin) == (3, f"file://{tmp_path}/in/1.csv")
    known = {c.name: (c.type, c.minimum, c.maximum, c.nulls) for c in file.columns}
    assert known["k"] == ("INT", "-7", "3", 0)
    assert known["d"] == ("DATE", "2026-01-02", "2026-01-03", 1)
    assert known["n"] == ("DECIMAL(10,2)", "-2.25", "1.50", 1)
    assert [known[name][3] for name in "tbf"] == [2, 1, 1]
    assert draw((file,), ["k"], 24, source_format="csv").values


def test_a_file_with_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    assert [file.rows for file in pinned(tmp_path, HEADER).files] == [0]


def test_a_file_that_is_written_again_is_noticed_and_a_pin_stays_as_it_was(tmp_path: Path) -> None:
    before, path = pinned(tmp_path, HEADER + GOOD), tmp_path / "in" / "1.csv"
    at = path.stat()
    path.write_bytes(path.read_bytes().replace(b"-7", b"-8"))
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))
    after = pinned(tmp_path, HEADER + GOOD.replace("-7", "-8"))
    with pytest.raises(SourceChangedError, match=r"in/1\.csv was written again since"):
        delivery(after, before)
    verify_pin(before)
    assert [row["k"] for row in values(before)] == [1, -7, 3]


def test_values_may_have_line_breaks_and_columns_any_order(tmp_path: Path) -> None:
    columns = (ColumnSpec(name="k", type="INT"), ColumnSpec(name="t", type="STRING"))
    text = 't,k\r\n"a\n\n""b"", c",1\r\n"\r\n",2\r\n'
    assert values(pinned(tmp_path, text, columns)) == [
        {"k": 1, "t": 'a\n\n"b", c'}, {"k": 2, "t": "\r\n"},
    ]  # fmt: skip


def test_a_file_may_be_packed(tmp_path: Path) -> None:
    packed = gzip.compress((HEADER + GOOD).encode())
    assert pinned(tmp_path, packed, name="2.csv.gz").rows == 3
    with pytest.raises(SourceFileError, match=r"3\.csv\.gz is no readable gzip"):
        pinned(tmp_path, packed[:-20], name="3.csv.gz")


def test_other_columns_may_be_left_out(tmp_path: Path) -> None:
    columns = (ColumnSpec(name="k", type="INT"),)
    with pytest.raises(SourceFileError, match="line 1: the columns are k, t, and declared are k"):
        pinned(tmp_path, "k,t\n1,a\n", columns)
    assert values(pinned(tmp_path, "k,t\n1,a\n", columns, extra_columns="ignore")) == [{"k": 1}]


def test_moments_are_with_a_zone_or_without(tmp_path: Path) -> None:
    columns = (ColumnSpec(name="a", type="TIMESTAMP"), ColumnSpec(name="b", type="TIMESTAMP_NTZ"))
    text = "a,b\n2026-03-01T12:00:00+01:00,2026-03-01 12:00:00\n"
    (row,) = values(pinned(tmp_path, text, columns))
    assert row["a"] == dt.datetime(2026, 3, 1, 11, tzinfo=dt.UTC)
    assert row["b"] == dt.datetime(2026, 3, 1, 12)
    for wrong in ("2026-03-01 12:00:00,", ",2026-03-01T12:00:00Z"):
        with pytest.raises(SourceFileError, match=r"row 2, column [ab] TIMESTAMP"):
            pinned(tmp_path, f"a,b\n{wrong}\n", columns)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("x,a,2026-01-02,true,1.5,1", "row 5, column k INT: .*invalid value 'x'"),
        ("99999999999,a,,,,", "row 5, column k INT: .*invalid value '99999999999'"),
        ("1.0,a,,,,", "row 5, column k INT"),
        ("1,a,2026-02-30,,,", "row 5, column d DATE: .*2026-02-30"),
        ("1,a,,TRUE,,", "row 5, column b BOOLEAN"),
        ("1,a,,,1.505,", "row 5, column n DECIMAL.10,2.: .*data loss"),
        ("1,a,,,,1,5", "row 5: .*Expected 6 columns, got 7"),
        ("1,a", "row 5: .*Expected 6 columns, got 2"),
        ("", "line 5: an empty line"),
        ('1,"a"b,,,,', "line 5: a quote within a field that is not doubled"),
        ('1,"a\n\nb"c,,,,', "line 7: a quote within a field that is not doubled"),
    ],
)
def test_a_row_that_is_not_as_declared_is_refused_by_file_and_line(
    tmp_path: Path, row: str, why: str
) -> None:
    with pytest.raises(SourceFileError, match=rf"in/1\.csv, {why}") as caught:
        pinned(tmp_path, f"{HEADER}{GOOD}\n{row}\n")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"k,t,d,b,f\n1,a,2026-01-02,true,1\n", "line 1: the columns are k, t, d, b, f, and"),
        (b"k,t,d,b,n,f,k\n", "line 1: the columns are k, t, d, b, n, f, k, and"),
        (b"\xef\xbb\xbf" + HEADER.encode(), "line 1: the file begins with a byte order mark"),
        (HEADER.encode() + b"1,\xff,,,,\n", "row 2, column t STRING: .*invalid UTF8"),
        (b"PAR1", "line 1: the columns are PAR1"),
        (b"", "line 1: the columns are , and"),
    ],
)
def test_a_file_of_another_dialect_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(SourceFileError, match=why):
        pinned(tmp_path, data)


def test_null_is_refused_where_none_is_declared(tmp_path: Path) -> None:
    with pytest.raises(SchemaDriftError, match="column k: expected INT without NULL, found 1 NULL"):
        pinned(tmp_path, HEADER + ",a,,,,\n")


def test_types_that_csv_has_not_are_refused(tmp_path: Path) -> None:
    columns = (ColumnSpec(name="k", type="BINARY"),)
    with pytest.raises(SourceFileError, match="column k: CSV has no values of type BINARY"):
        pinned(tmp_path, "k\nff\n", columns)


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.spark)])
def test_engines_read_the_same_values(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pin = pinned(tmp_path, HEADER + GOOD)
    read = request.getfixturevalue(engine).read([f.uri for f in pin.files], COLUMNS, "csv")
    assert sorted((tuple(row) for row in read.collect()), key=repr) == sorted(VALUES, key=repr)


class CsvPlace(Place):
    """Deliveries as CSV; all else is as it is."""

    def deliver(self, number: int, sales: list[Row], returns: list[Row]) -> None:
        for name, names, rows in (("sales", "o,cat,price", sales), ("returns", "o,cost", returns)):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([names.split(","), *rows])
            open_store(self.delivery(name)).put(f"{number}.csv", text.getvalue().encode())
            self.delivered.setdefault(name, []).extend(rows)


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_day_of_csv_is_that_of_parquet(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Two runs over both; each result is that of the plain query over all that was delivered."""
    deliveries = (
        ([(1, "a", 5), (2, 'b,"c"', 7), (3, "a", -1), (None, None, 2)], [(1, 10), (2, 20), (9, 1)]),
        ([(7, "a", 3), (2, "d", 4)], [(7, 2), (1, 1), (None, 5)]),
    )
    for kind in (Place, CsvPlace):
        form = "csv" if kind is CsvPlace else "parquet"
        place = kind(tmp_path / form, request.getfixturevalue(engine))
        place.changes = {f"sold.{name}": {"format": form} for name in ("sales", "returns")}
        at = place.open("sold", FIRST)
        for run, rows in enumerate(deliveries, start=1):
            place.deliver(run, *rows)
            commit = place.run(at, FIRST, run, method="progressive")
        place.check(commit, FIRST)
        assert commit.metrics.state_rows_read
