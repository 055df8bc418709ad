"""A source format is one entry: ORC, which the product has not, added as the recipe says."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from forerun.include.reports.sources import source as specs
from forerun.include.reports.spec import ClockTime, SourceSpec, SpecError
from forerun.include.sources import formats
from forerun.include.sources.delivery import SourceChangedError, verify_pin
from forerun.include.sources.files import listed_below
from forerun.include.sources.formats import SourceFormatError, format_of
from forerun.include.sources.pins import SchemaDriftError, pin_source
from forerun.include.sources.samples import draw
from forerun.include.state.records import ColumnFooter, PinnedFile
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)


SPARK = {pa.int64(): "BIGINT", pa.string(): "STRING"}


class OrcFormat:
    """Files of ORC: rows and types, no statistics, and stripes to sample."""

    name = "orc"
    suffix = ".orc"
    engine_format = "orc"
    engine_options: ClassVar[dict[str, str]] = {}
    has_files = True
    has_log = False

    def listed(self, asked):
        return listed_below(asked.locations, self.suffix)

    def stored(self, locations):
        return listed_below(locations, self.suffix).files

    def describe(self, location, files, declared):
        found = []
        for file in files:
            with location.store.open(file.key) as handle:
                read = orc.ORCFile(handle)
                columns = tuple(ColumnFooter(name=f.name, type=SPARK[f.type]) for f in read.schema)
                found.append(
                    PinnedFile(
                        uri=location.store.uri(file.key),
                        size=file.size,
                        identity=file.identity,
                        rows=read.nrows,
                        columns=columns,
                    )
                )
        return found

    def digest(self, handle, size):
        handle.seek(0)
        return hashlib.blake2b(handle.read(), digest_size=16).hexdigest()

    def blocks(self, file, columns, places):
        return [
            (orc.read_table(file.uri.removeprefix("file://"), columns=list(columns)), len(places))
        ]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceSpec:
    monkeypatch.setitem(formats.FORMATS, "orc", OrcFormat())
    monkeypatch.setattr(specs, "FORMATS", (*specs.FORMATS, "orc"))
    (tmp_path / "in").mkdir()
    orc.write_table(pa.table({"k": [1, 2, None], "t": ["a", "b", "c"]}), tmp_path / "in" / "1.orc")
    (tmp_path / "in" / "_2.orc").write_bytes(b"none of this source")
    return SourceSpec(
        name="t",
        path=str(tmp_path / "in"),
        columns=(ColumnSpec(name="k", type="BIGINT"), ColumnSpec(name="t", type="STRING")),
        format="orc",
        complete_when=ClockTime(),
    )


def test_a_report_may_name_exactly_the_formats_that_there_are() -> None:
    assert sorted(specs.FORMATS) == sorted(formats.FORMATS)
    assert list(specs.LOGGED) == [name for name, form in formats.FORMATS.items() if form.has_log]
    with pytest.raises(SpecError, match=r"no format 'avro'[\s\S]*Use one of parquet"):
        SourceSpec(name="t", path="/d", columns=(ColumnSpec(name="k", type="INT"),), format="avro")
    with pytest.raises(SourceFormatError, match="no source format 'avro'"):
        format_of("avro")


def test_another_format_is_pinned_verified_and_sampled(source: SourceSpec, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    _, pin = pin_source(store, source, DAY, NOW)
    assert [(Path(f.uri).name, f.rows) for f in pin.files] == [("1.orc", 3)]
    verify_pin(pin)
    assert dict(draw(pin.files, ["t"], 24, source_format="orc").values) == {"t": ("a", "b", "c")}
    path = tmp_path / "in" / "1.orc"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"abc", b"abd"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SourceChangedError, match=r"1\.orc was changed after it was pinned"):
        verify_pin(pin)
    orc.write_table(pa.table({"k": ["x"], "t": ["a"]}), tmp_path / "in" / "3.orc")
    with pytest.raises(SchemaDriftError, match=r"3\.orc, column k: expected BIGINT, found STRING"):
        pin_source(store, source, DAY, NOW)


@pytest.mark.spark
def test_spark_reads_another_format(spark, source: SourceSpec, tmp_path: Path) -> None:
    _, pin = pin_source(open_store(str(tmp_path / "store")), source, DAY, NOW)
    rows = spark.read([file.uri for file in pin.files], source.columns, source.format)
    assert sorted((tuple(row) for row in rows.collect()), key=repr) == [
        (1, "a"), (2, "b"), (None, "c"),
    ]  # fmt: skip
