"""Every file of a source is data, hidden by a written rule, or an error that names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.include.machine.settings import s3_settings
from forerun.include.reports.spec import (
    ClockTime,
    CompleteWhen,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    SourceSpec,
    Trailing,
)
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.listing import data_files
from forerun.include.sources.parquet.footers import SourceFileError
from forerun.include.sources.pins import arrived_rows, pin_source
from forerun.include.stores.opening import open_store
from forerun.include.stores.s3_store import s3_client
from tests.include.days.day_cases import COLUMNS, DAY, NOW, table


def source(path: object, rule: CompleteWhen | None = None) -> SourceSpec:
    rule = rule or ClockTime()
    return SourceSpec(name="orders", path=str(path), columns=COLUMNS, complete_when=rule)


def put(store_uri: str, name: str, rows: int = 1, data: bytes | None = None) -> None:
    import io

    sink = io.BytesIO()
    pq.write_table(table(*((i, i) for i in range(rows))), sink)
    open_store(store_uri).put(name, sink.getvalue() if data is None else data)


def names(spec: SourceSpec) -> list[str]:
    found = data_files(spec, DAY)
    return [file.key.removeprefix(found.location.key + "/") for file in found.files]


DATA = ("000000_0", "A.PARQUET", "a.parq", "b=1/no-end", "part-0.parquet.v2", "x._COPYING_y", "~")


def test_a_file_is_data_whatever_its_name(store_uri: str, tmp_path: Path) -> None:
    spec = source(f"{store_uri}/in")
    for name in DATA:
        put(store_uri, f"in/{name}", 2)
    store = open_store(f"{store_uri}/state")
    pin = pin_source(store, spec, DAY, NOW)[1]
    assert [file.uri.partition("/in/")[2] for file in pin.files] == sorted(DATA) == names(spec)
    assert pin.rows == arrived_rows(spec, DAY) == 2 * len(DATA)


def test_what_is_hidden_is_what_spark_hides(store_uri: str) -> None:
    for name in ("_a", ".a", "a._COPYING_", "_tmp/a.parquet", "x/.y/a.parquet", "_SUCCESS"):
        put(store_uri, f"in/{name}")
    put(store_uri, "in/EMPTY", data=b"")
    put(store_uri, "in/day_$folder$", data=b"")
    put(store_uri, "in/_shop=7/a")
    assert names(source(f"{store_uri}/in")) == ["_shop=7/a"]


@pytest.mark.parametrize("name", ["notes.txt", "a.csv", "000000_0", "part-0.parquet.crc", "README"])
def test_what_is_no_parquet_is_an_error_that_names_it(store_uri: str, name: str) -> None:
    put(store_uri, "in/1.parquet")
    put(store_uri, f"in/{name}", data=b"k,v\n1,2\n")
    with pytest.raises(SourceFileError, match="is not a readable Parquet file") as error:
        pin_source(open_store(f"{store_uri}/state"), source(f"{store_uri}/in"), DAY, NOW)
    assert f"/in/{name} " in error.value.message
    assert "whatever its name" in error.value.hint


def test_an_empty_file_that_is_called_parquet_was_cut_short(store_uri: str) -> None:
    put(store_uri, "in/1.parquet", data=b"")
    with pytest.raises(SourceFileError, match=r"1\.parquet is not a readable"):
        pin_source(open_store(f"{store_uri}/state"), source(f"{store_uri}/in"), DAY, NOW)


def test_the_declared_marker_is_no_data_and_another_file_of_that_name_is(store_uri: str) -> None:
    put(store_uri, "in/h=00/a.parquet")
    put(store_uri, "in/DONE", data=b"all of it")
    put(store_uri, "in/h=00/DONE", data=b"of the hour")
    assert names(source(f"{store_uri}/in", MarkerFile(name="DONE"))) == [
        "h=00/DONE",
        "h=00/a.parquet",
    ]
    hourly = HourlyMarkers(folder="h={hh}", name="DONE")
    assert names(source(f"{store_uri}/in", hourly)) == ["DONE", "h=00/a.parquet"]
    assert names(source(f"{store_uri}/in", ExpectedCount(files=3)))[0] == "DONE"


def test_a_path_may_be_that_of_one_file(store_uri: str) -> None:
    put(store_uri, "in/000000_0", 3)
    put(store_uri, "in/_hidden.parquet", 3)
    assert arrived_rows(source(f"{store_uri}/in/000000_0"), DAY) == 3
    with pytest.raises(SourcePathError, match="which Spark does not read"):
        arrived_rows(source(f"{store_uri}/in/_hidden.parquet"), DAY)


@pytest.mark.parametrize("key", ["in//a.parquet", "in/x//y", "in/./a", "in/x/../a"])
def test_keys_that_no_path_names_are_refused_by_name(store_uri: str, key: str) -> None:
    """Other writers of a bucket can make them; Spark reads another key in their place."""
    if not store_uri.startswith("s3"):
        return
    bucket, prefix = store_uri.removeprefix("s3://").split("/", 1)
    s3_client(s3_settings()).put_object(Bucket=bucket, Key=f"{prefix}/{key}", Body=b"x")
    stored = s3_client(s3_settings()).list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/in")
    if [one["Key"] for one in stored["Contents"]] != [f"{prefix}/{key}"]:
        return  # a server over a disk, which keeps the object under another key
    with pytest.raises(SourcePathError, match="so that Spark cannot name it") as error:
        names(source(f"{store_uri}/in"))
    assert f"{prefix}/{key}" in error.value.message


def test_files_are_of_the_day_in_whose_folder_they_lie(store_uri: str, tmp_path: Path) -> None:
    """Copies, too; and where a folder has the rows of several days, nobody knows."""
    store, last = open_store(f"{store_uri}/state"), Trailing(days_back=2)
    put(store_uri, "in/2026-02-28/hour=1/a.parquet")
    put(store_uri, "in/2026-03-01/b.parquet")
    put(store_uri, "in/2026-03-02/c.parquet")
    put(store_uri, "text/2026-02-28/a.csv", data=b"k,v\n1,2\n")
    for path, days in (("in/{ds}", ["2026-02-28", "2026-03-01"]), ("in", [""] * 3)):
        spec = replace(source(f"{store_uri}/{path}"), over=last)
        assert [file.day for file in pin_source(store, spec, DAY, NOW)[1].files] == days
    text = replace(source(f"{store_uri}/text/{{ds}}"), over=last, format="csv")
    assert [file.day for file in pin_source(store, text, DAY, NOW)[1].files] == ["2026-02-28"]
    for path in ("/in/{yyyy}/{mm}", "/in/{yyyy}"):
        assert replace(source(path), over=last).places_of_days(DAY) == {}
    assert len(replace(source("/in/{dd}"), over=last).places_of_days(DAY)) == 2
    assert replace(source("/in/{dd}"), over=Trailing(days_back=32)).places_of_days(DAY) == {}
    assert source("/in/{ds}").places_of_days(DAY) == {}
