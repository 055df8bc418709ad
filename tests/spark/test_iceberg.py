"""Iceberg tables by a catalog: what a snapshot holds is pinned, and days are those of the rows."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update.snapshot import _FastAppendFiles, _OverwriteFiles
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestamptzType,
)

from forerun.include.reports.spec import ClockTime, SourceSpec, SpecError
from forerun.include.sources.delivery import SourceChangedError, delivery, verify_pin
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.pins import SchemaDriftError, arrived_rows
from forerun.include.sources.table_formats import TableFormatError
from forerun.include.sources.tables.iceberg_deletes import DeleteFiles
from forerun.include.sources.tables.iceberg_files import data_files
from forerun.include.sources.unread import SourceFileError
from forerun.spark_jobs.engines.sail import start_sail
from tests.oracles.values import Row
from tests.spark.lake import COLUMNS, DAY, ENGINES, pinned, read, read_environment
from tests.spark.places import FIRST, RETURNS, SALES, Place

SCHEMA = pa.schema([("k", pa.int64()), ("c", pa.string()), ("dt", pa.date32())])


def test_a_catalog_may_be_an_airflow_connection(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(catalog, "t", SCHEMA)
    table.append(pa.table([[1], ["a"], [DAY]], schema=SCHEMA))
    said = {"conn_type": "iceberg", "host": f"sqlite:///{tmp_path}/catalog.db", "extra": {
        "type": "sql", "warehouse": f"file://{tmp_path}/lake"}}  # fmt: skip
    for name in ("TYPE", "URI", "WAREHOUSE"):
        monkeypatch.delenv(f"PYICEBERG_CATALOG__LAKE__{name}")
    read_environment(monkeypatch)
    monkeypatch.setattr("forerun.include.machine.connections._KNOWN", {})
    with pytest.raises(SourcePathError, match="the catalog lake did not answer") as caught:
        pinned(tmp_path, source(tmp_path))
    assert "Airflow connection lake of type iceberg" in caught.value.hint
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(said))
    assert pinned(tmp_path, source(tmp_path)).rows == 1


def create(catalog: Catalog, name: str, schema: pa.Schema, *by: str) -> Table:
    table = catalog.create_table(f"shop.{name}", schema=schema)
    with table.update_spec() as spec:
        for column in by:
            spec.add_identity(column)
    return table


def source(tmp_path: Path, path: str = "", **more: Any) -> SourceSpec:
    given: dict[str, Any] = {"columns": COLUMNS, "catalog": "lake.shop.t", **more}
    return SourceSpec(
        name="t", path=f"{tmp_path}/lake/shop/t{path}", format="iceberg", complete_when=ClockTime(),
        **given,
    )  # fmt: skip


def rows(*values: Row) -> pa.Table:
    return pa.table([list(column) for column in zip(*values, strict=True)], schema=SCHEMA)


class Rewrite(_OverwriteFiles):
    """What pyiceberg cannot do by itself: an overwrite that says that it moves no rows."""

    def _summary(self, snapshot_properties: dict[str, str]) -> Summary:
        done = super()._summary(snapshot_properties)
        return Summary(Operation.REPLACE, **done.additional_properties)


def compact(table: Table, engine: Any = None) -> None:
    """Write all rows into one file, as rewrite_data_files does."""
    whole, old = held(table, engine), [task.file for task in data_files(table, newest(table))]
    with (
        table.transaction() as transaction,
        Rewrite(operation=Operation.OVERWRITE, transaction=transaction, io=table.io) as done,
    ):
        for file in old:
            done.delete_data_file(file)
        for file in _dataframe_to_data_files(table.metadata, whole, table.io):
            done.append_data_file(file)


class DeleteWriter(ManifestWriterV2):
    """What pyiceberg cannot write: a manifest of delete files."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class Marks(_FastAppendFiles):
    """Adds delete files to a table, and new data files beside them."""

    marks: tuple[DataFile, ...] = ()

    def _existing_manifests(self) -> list[ManifestFile]:
        metadata, found = self._transaction.table_metadata, super()._existing_manifests()
        output, kind = self.new_manifest_output(), self._compression
        if not self.marks:
            return found
        with DeleteWriter(
            metadata.spec(), metadata.schema(), output, self._snapshot_id, kind
        ) as writer:
            for mark in self.marks:
                entry = ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=self._snapshot_id,
                    sequence_number=None, file_sequence_number=None, data_file=mark,
                )  # fmt: skip
                writer.add(entry)
        return [*found, writer.to_manifest_file()]


def mark(table: Table, goes: Callable[[dict[str, Any]], bool], new: pa.Table | None = None) -> None:
    """Delete rows by position delete files, as merge-on-read does, and append ``new`` ones."""
    marks, deletes = [], DeleteFiles(table)
    for task in data_files(table, newest(table)):
        rows = pq.ParquetFile(task.file.file_path.removeprefix("file://")).read().to_pylist()
        before = deletes.of(task)
        gone = set() if before is None else set(before.to_pylist())
        positions = [at for at, row in enumerate(rows) if goes(row) and at not in gone]
        if positions:
            marks.append(_position_deletes(table, task.file, positions))
    if marks or new is not None:
        commit(table, marks, new)


def commit(table: Table, marks: Sequence[DataFile], new: pa.Table | None = None) -> None:
    """Add delete files to a table, and new rows beside them."""
    with (
        table.transaction() as transaction,
        Marks(operation=Operation.OVERWRITE, transaction=transaction, io=table.io) as done,
    ):
        done.marks = tuple(marks)
        for file in _dataframe_to_data_files(table.metadata, new, table.io) if new else ():
            done.append_data_file(file)


def _position_deletes(table: Table, of: DataFile, positions: list[int]) -> DataFile:
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"}),
        ]
    )
    rows = pa.table([[of.file_path] * len(positions), positions], schema=schema)
    path = f"{table.location()}/data/{uuid.uuid4()}-deletes.parquet"
    place = Path(path.removeprefix("file://"))
    pq.write_table(rows, place)
    made = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=path, file_format=FileFormat.PARQUET,
        partition=of.partition, record_count=len(positions),
        file_size_in_bytes=place.stat().st_size,
    )  # fmt: skip
    made.spec_id = of.spec_id
    return made


def newest(table: Table) -> Snapshot:
    found = table.refresh().current_snapshot()
    assert found is not None
    return found


def held(table: Table, engine: Any = None) -> pa.Table:
    """The rows of the newest snapshot, by pyiceberg; where it does not read them, by Sail."""
    try:
        return table.refresh().scan().to_arrow()
    except ValueError:
        own = engine or start_sail()
        frame = own.session.read.format("iceberg").option("snapshotId", newest(table).snapshot_id)
        found = frame.load(table.location()).toArrow()
        if engine is None:
            own.stop()
        return found.select(table.schema().column_names)


def delete_by_values(
    table: Table, gone: pa.Table, at: DataFile | None = None, by: Sequence[str] = ()
) -> DataFile:
    """Return a file that says that rows with these values are deleted, in the partition of a data
    file if there is one, as Flink writes it. ``by``: the columns that are compared, if others."""
    named = [table.schema().find_field(name).field_id for name in by]
    ids = [table.schema().find_field(name).field_id for name in gone.column_names]
    fields = [
        field.with_metadata({"PARQUET:field_id": str(number)})
        for field, number in zip(gone.schema, ids, strict=True)
    ]
    path = f"{table.location()}/data/{uuid.uuid4()}-values.parquet"
    place = Path(path.removeprefix("file://"))
    pq.write_table(gone.cast(pa.schema(fields)), place)
    made = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES, file_path=path, file_format=FileFormat.PARQUET,
        partition=at.partition if at else Record(), record_count=gone.num_rows,
        file_size_in_bytes=place.stat().st_size, equality_ids=named or ids,
    )  # fmt: skip
    made.spec_id = at.spec_id if at else table.spec().spec_id
    return made


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("change", ["append_only", "changelog"])
def test_rows_that_are_deleted_by_their_values_are_not_read(
    engine: str, change: str, tmp_path: Path, catalog: Catalog, request: pytest.FixtureRequest
) -> None:
    """Only rows that were there before, NULL being a value; a row may come back."""
    table = create(catalog, "t", SCHEMA)
    table.append(rows((1, "a", DAY), (2, None, DAY), (2, "b", DAY), (3, "c", None), (4, "d", DAY)))
    before = pinned(tmp_path, spec := source(tmp_path, change=change))
    pairs = pa.table({"k": [2, 4, 9, 3], "c": pa.array([None, "b", "c", "d"])})
    again = rows((4, "d", DAY))
    commit(table, [delete_by_values(table, pairs)])
    commit(table, [delete_by_values(table, pa.table({"k": [4, 1]}))], again)
    commit(table, [delete_by_values(table, pa.table({"dt": pa.array([None], pa.date32())}))])
    pin = pinned(tmp_path, spec)
    verify_pin(pin)
    assert held(table).sort_by("k").to_pylist() == [
        {"k": 2, "c": "b", "dt": DAY}, {"k": 4, "c": "d", "dt": DAY}
    ]  # fmt: skip
    assert read(request.getfixturevalue(engine), spec, pin) == [(2, "b", DAY), (4, "d", DAY)]
    if change == "changelog":
        new = [(f.rows, dict(f.constants)["__w"]) for f in delivery(pin, before)]
        assert sorted(new) == [(1, "1"), (4, "-1")]
    compact(table)
    assert pinned(tmp_path, spec).files == pin.files


@pytest.mark.parametrize("change", ["append_only", "changelog"])
@pytest.mark.parametrize(
    ("transform", "name", "path"),
    [("day", "at_day", "at_day={ds}"), ("month", "at_month", "at_month={yyyy}-{mm}"),
     ("year", "at_year", "at_year={yyyy}"), ("day", "dd", "dd={ds}")],
)  # fmt: skip
def test_a_path_names_a_partition_that_is_made_of_a_column(
    transform: str, name: str, path: str, change: str, tmp_path: Path, catalog: Catalog, sail: Any
) -> None:
    schema = pa.schema([("k", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    table = create(catalog, "t", schema)
    with table.update_spec() as spec:
        spec.add_field("at", transform, name)
    table = catalog.load_table("shop.t")
    moments = [dt.datetime(2026, 3, 1), dt.datetime(2026, 3, 1, 23, 59, 59, 999999),
               dt.datetime(2026, 2, 28, 23), dt.datetime(2026, 3, 2), dt.datetime(2025, 3, 1),
               dt.datetime(1969, 12, 31, 23), None]  # fmt: skip
    whole = pa.table([list(range(7)), moments], schema=schema)
    table.append(whole)
    columns = {"k": "BIGINT", "at": "TIMESTAMP"}
    declared = source(tmp_path, f"/{path}", columns=columns, change=change)
    first = pinned(tmp_path, declared)
    wanted = {"day": [0, 1], "month": [0, 1, 3], "year": [0, 1, 2, 3]}[transform]
    assert [k for k, _ in read(sail, declared, first)] == wanted
    table.append(pa.table([[8, 9], [moments[1], moments[4]]], schema=schema))
    second = pinned(tmp_path, declared)
    assert [k for k, _ in read(sail, declared, second)] == [*wanted, 8]
    compact(catalog.load_table("shop.t"))
    assert pinned(tmp_path, declared).files == second.files
    made = source(tmp_path, f"/{path}", columns={**columns, name: "STRING"})
    with pytest.raises(SchemaDriftError, match=name):
        pinned(tmp_path / "other", made)


def test_values_are_deleted_in_their_partition(tmp_path: Path, catalog: Catalog, sail: Any) -> None:
    table = create(catalog, "t", SCHEMA, "c")
    table.append(rows((1, "a", DAY), (1, "b", DAY), (2, "b", DAY)))
    of_b = next(t.file for t in data_files(table, newest(table)) if t.file.partition[0] == "b")
    gone = pa.table({"k": [1, 1, None]})
    commit(table, [delete_by_values(table, gone, of_b)])
    spec = source(tmp_path)
    assert read(sail, spec, pinned(tmp_path, spec)) == [(1, "a", DAY), (2, "b", DAY)]


def test_values_of_columns_that_came_later_are_deleted(
    tmp_path: Path, catalog: Catalog, sail: Any
) -> None:
    """A file that is older than a column has NULL in it; a type may have become a wider one."""
    table = create(catalog, "t", pa.schema([("k", pa.int32()), ("c", pa.string())]))
    table.append(pa.table({"k": pa.array([1, 2], pa.int32()), "c": ["a", "b"]}))
    with table.update_schema() as change:
        change.add_column("d", LongType())
        change.update_column("k", LongType())
    table.append(pa.table({"k": [1, 3], "c": ["a", "c"], "d": [5, None]}))
    gone = pa.table({"k": pa.array([1, 3]), "d": pa.array([None, None], pa.int64())})
    commit(table, [delete_by_values(table, gone)])
    columns = {"k": "BIGINT", "c": "STRING", "d": "BIGINT"}
    spec = source(tmp_path, columns=columns, narrower_types="widen")
    assert read(sail, spec, pinned(tmp_path, spec)) == [(1, "a", 5), (2, "b", None)]


def test_rows_that_are_deleted_by_a_value_inside_of_a_column_are_refused(
    tmp_path: Path, catalog: Catalog
) -> None:
    table = create(catalog, "t", pa.schema([("s", pa.struct([("x", pa.int64())]))]))
    table.append(pa.table({"s": [{"x": 1}]}))
    commit(table, [delete_by_values(table, pa.table({"s": [{"x": 1}]}), by=["s.x"])])
    with pytest.raises(
        TableFormatError, match=r"shop\.t has rows that are deleted by values inside"
    ):
        pinned(tmp_path, source(tmp_path, columns={"s": "STRUCT<x: BIGINT>"}))


@pytest.mark.parametrize("change", ["append_only", "changelog"])
@pytest.mark.parametrize("engine", ENGINES)
def test_older_files_are_read_by_the_names_that_columns_have_now(
    engine: str, change: str, tmp_path: Path, catalog: Catalog, request: pytest.FixtureRequest
) -> None:
    """A column that was renamed, one that took its name, and one inside of a column."""
    inner = pa.struct([("x", pa.int64()), ("y", pa.string())])
    schema = pa.schema([("k", pa.int64()), ("c", pa.string()), ("s", inner)])
    table = create(catalog, "t", schema)
    table.append(pa.table([[1, 2], ["a", None], [{"x": 1, "y": "p"}, None]], schema=schema))
    with table.update_schema() as made:
        made.rename_column("c", "name")
        made.rename_column("s.y", "z")
    with table.update_schema() as made:
        made.add_column("c", LongType())
    later = pa.struct([("x", pa.int64()), ("z", pa.string())])
    new = [("k", pa.int64()), ("name", pa.string()), ("s", later), ("c", pa.int64())]
    table.append(pa.table([[3], ["n"], [{"x": 2, "z": "q"}], [7]], schema=pa.schema(new)))
    mark(table, lambda row: row["k"] == 2)
    columns = {"k": "BIGINT", "name": "STRING", "s": "STRUCT<x: BIGINT, z: STRING>", "c": "BIGINT"}
    spec = source(tmp_path, columns=columns, change=change)
    pin = pinned(tmp_path, spec)
    verify_pin(pin)
    assert read(request.getfixturevalue(engine), spec, pin) == [
        (1, "a", (1, "p"), None), (3, "n", (2, "q"), 7)
    ]  # fmt: skip
    assert sum("/spools/" in file.uri for file in pin.files) == (2 if change == "changelog" else 1)
    assert pinned(tmp_path, spec) == pin
    assert arrived_rows(spec, DAY) == pin.rows  # by the footers
    compact(table)
    assert pinned(tmp_path, spec).files == pin.files


MOMENT = dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)
DEFAULTS: dict[str, tuple[Any, Any, str]] = {
    "i": (IntegerType(), 5, "INT"),
    "s": (StringType(), "it's", "STRING"),
    "d": (DateType(), dt.date(2020, 1, 2), "DATE"),
    "m": (DecimalType(9, 2), Decimal("1.50"), "DECIMAL(9,2)"),
    "b": (BooleanType(), True, "BOOLEAN"),
    "t": (TimestamptzType(), MOMENT, "TIMESTAMP"),
}


@pytest.mark.parametrize("change", ["append_only", "changelog"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_with_a_default_has_it_in_files_that_are_older(
    engine: str, change: str, tmp_path: Path, catalog: Catalog, request: pytest.FixtureRequest
) -> None:
    table = create(catalog, "t", pa.schema([("k", pa.int64()), ("c", pa.string())]))
    table.append(pa.table({"k": [1, 2, 3], "c": ["a", None, "b"]}))
    plain = source(tmp_path, columns={"k": "BIGINT", "c": "STRING"}, extra_columns="ignore")
    before = pinned(tmp_path, plain)
    with table.update_schema() as made:
        for name, (kind, value, _) in DEFAULTS.items():
            made.add_column(name, kind, default_value=value)
        made.rename_column("c", "name")
    large, text = pa.large_string(), pa.string()
    new = pa.schema(
        [f.with_type(text) if f.type == large else f for f in table.schema().as_arrow()]
    )
    table.append(pa.table({"k": [4], "name": ["z"], **{n: [None] for n in DEFAULTS}}).cast(new))
    mark(table, lambda row: row["k"] == 2)
    columns = {"k": "BIGINT", "name": "STRING", **{n: one[2] for n, one in DEFAULTS.items()}}
    spec = source(tmp_path, columns=columns, change=change)
    pin = pinned(tmp_path, spec)
    verify_pin(pin)
    values = [value for _, value, _ in DEFAULTS.values()]
    values[-1] = MOMENT.replace(tzinfo=None)  # as engines give it, at UTC
    wanted = [(1, "a", *values), (3, "b", *values), (4, "z", *[None] * len(values))]
    assert read(request.getfixturevalue(engine), spec, pin) == wanted
    scanned = table.scan().to_arrow().to_pylist()
    by_another = [(*row.values(),)[:-1] for row in scanned]
    assert sorted(by_another) == [row[:-1] for row in wanted], "as another reader has it"
    assert pinned(tmp_path, spec) == pin
    assert before.rows == 3


def test_columns_with_defaults_that_are_not_read_change_nothing(
    tmp_path: Path, catalog: Catalog
) -> None:
    table = create(catalog, "t", SCHEMA)
    table.append(rows((1, "a", DAY)))
    spec = source(tmp_path, columns=COLUMNS[:1], extra_columns="ignore")
    before = pinned(tmp_path, spec)
    with table.update_schema() as change:
        change.add_column("n", LongType(), default_value=7)
    assert pinned(tmp_path, spec) == before


def test_rows_are_deleted_by_the_value_that_an_older_file_has(
    tmp_path: Path, catalog: Catalog, sail: Any
) -> None:
    table = create(catalog, "t", pa.schema([("k", pa.int64())]))
    table.append(pa.table({"k": [1, 2]}))
    with table.update_schema() as change:
        change.add_column("n", LongType(), default_value=7)
    table.append(pa.table({"k": [1, 3], "n": [7, None]}))
    gone = pa.table({"k": [1, 2], "n": pa.array([7, None], pa.int64())})
    commit(table, [delete_by_values(table, gone)])
    spec = source(tmp_path, columns={"k": "BIGINT", "n": "BIGINT"})
    assert read(sail, spec, pinned(tmp_path, spec)) == [(2, 7), (3, None)]


def test_a_default_inside_of_a_column_is_refused(tmp_path: Path, catalog: Catalog) -> None:
    table = create(catalog, "t", pa.schema([("s", pa.struct([("x", pa.int64())]))]))
    table.append(pa.table({"s": [{"x": 1}]}))
    with table.update_schema() as change:
        change.add_column(("s", "y"), LongType(), default_value=7)
    with pytest.raises(TableFormatError, match=r"the field s\.y has a default"):
        pinned(tmp_path, source(tmp_path, columns={"s": "STRUCT<x: BIGINT, y: BIGINT>"}))


def test_a_column_that_is_not_read_may_be_renamed(tmp_path: Path, catalog: Catalog) -> None:
    table = create(catalog, "t", SCHEMA)
    table.append(rows((1, "a", DAY)))
    spec = source(tmp_path, columns=COLUMNS[:1], extra_columns="ignore")
    before = pinned(tmp_path, spec)
    with table.update_schema() as change:
        change.rename_column("c", "d")
    assert pinned(tmp_path, spec) == before


def test_a_file_that_does_not_number_its_columns_is_read_by_a_mapping_of_names(
    tmp_path: Path, catalog: Catalog, sail: Any
) -> None:
    table = create(catalog, "t", SCHEMA)
    path = Path(table.location().removeprefix("file://")) / "data" / "x.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(rows((2, "b", DAY)), path)
    table.add_files([f"file://{path}"])
    assert pinned(tmp_path, source(tmp_path)).rows == 1
    with table.update_schema() as change:
        change.rename_column("c", "d")
    columns = {"k": "BIGINT", "d": "STRING", "dt": "DATE"}
    spec = source(tmp_path, columns=columns)
    assert read(sail, spec, pinned(tmp_path, spec)) == [(2, "b", DAY)]
    with table.transaction() as transaction:
        transaction.remove_properties("schema.name-mapping.default")
    with pytest.raises(SourceFileError, match=r"x\.parquet .* tells them by other names"):
        pinned(tmp_path / "anew", spec)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("change", ["append_only", "changelog"])
def test_rows_that_delete_files_name_are_not_read(
    engine: str, change: str, tmp_path: Path, catalog: Catalog, request: pytest.FixtureRequest
) -> None:
    table = create(catalog, "t", SCHEMA, "dt", "c")
    table.append(rows((1, "it's", DAY), (2, None, DAY), (3, "a b", DAY), (5, "a b", DAY)))
    table.append(rows((4, "x/y", DAY), (6, "x/y", DAY)))
    spec = source(tmp_path, "/dt={ds}", change=change)
    before = pinned(tmp_path, spec)
    mark(table, lambda row: row["k"] in (1, 3, 4), rows((9, "n", DAY)))
    table.refresh()
    mark(table, lambda row: row["k"] == 6)
    pin = pinned(tmp_path, spec)
    verify_pin(pin)
    assert read(request.getfixturevalue(engine), spec, pin) == [
        (2, None, DAY), (5, "a b", DAY), (9, "n", DAY)
    ]  # fmt: skip
    if change == "changelog":
        new = [(f.rows, dict(f.constants)["__w"]) for f in delivery(pin, before)]
        assert sorted(new) == [(1, "-1"), (1, "-1"), (1, "1"), (2, "-1")]
    compact(table.refresh())
    assert pinned(tmp_path, spec).files == pin.files


@pytest.mark.parametrize("engine", ENGINES)
def test_the_rows_of_a_snapshot_are_read(
    engine: str, tmp_path: Path, catalog: Catalog, request: pytest.FixtureRequest
) -> None:
    table, other = create(catalog, "t", SCHEMA, "dt", "c"), dt.date(2026, 3, 2)
    table.append(rows((1, "it's", DAY), (2, None, DAY), (3, "a b", other)))
    table.append(rows((4, "x/y", DAY)))
    table.delete("k = 1")
    spec = source(tmp_path, "/dt={ds}")
    pin = pinned(tmp_path, spec)
    verify_pin(pin)
    assert read(request.getfixturevalue(engine), spec, pin) == [(2, None, DAY), (4, "x/y", DAY)]
    assert pin.version == table.refresh().current_snapshot().snapshot_id


def test_a_compaction_is_no_change(tmp_path: Path, catalog: Catalog) -> None:
    table = create(catalog, "t", SCHEMA)
    for number in range(3):
        table.append(rows((number, "a", DAY)))
    before = pinned(tmp_path, source(tmp_path))
    compact(table)
    assert table.current_snapshot().summary.operation == Operation.REPLACE
    assert pinned(tmp_path, source(tmp_path)) == before
    table.append(rows((7, "b", DAY)))
    assert {f.uri for f in before.files} < {f.uri for f in pinned(tmp_path, source(tmp_path)).files}
    table.delete("k = 1")
    assert pinned(tmp_path, source(tmp_path)).rows == 3


def test_what_a_table_is_not_is_said(
    tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourcePathError, match=r"the catalog lake has no table shop\.t"):
        pinned(tmp_path, source(tmp_path))
    table = create(catalog, "t", SCHEMA)
    table.append(rows((1, "a", DAY)))
    with pytest.raises(SourcePathError, match=r"lies in file://.*/lake/shop/t, and its path is"):
        pinned(tmp_path, source(tmp_path / "other"))
    with pytest.raises(SourcePathError, match="is not partitioned by c"):
        pinned(tmp_path, source(tmp_path, "/c=a"))
    with pytest.raises(SpecError, match="the format iceberg with the catalog ''"):
        source(tmp_path, catalog="")
    with pytest.raises(SpecError, match="the format parquet with the catalog 'lake'"):
        SourceSpec(name="t", path="/in", columns=COLUMNS, catalog="lake")
    monkeypatch.setenv(
        "PYICEBERG_CATALOG__LAKE__URI", f"postgresql+psycopg2://me:{'secret'}@127.0.0.1:1/x"
    )
    read_environment(monkeypatch)
    with pytest.raises(SourcePathError, match="the catalog lake did not answer") as caught:
        pinned(tmp_path, source(tmp_path))
    assert "secret" not in str(caught.value)


def test_a_file_outside_of_the_folder_is_refused(tmp_path: Path, catalog: Catalog) -> None:
    """Of another folder or bucket, even where a file of the same name lies in the table's."""
    table = create(catalog, "t", SCHEMA)
    table.append(rows((1, "a", DAY)))
    pq.write_table(rows((2, "b", DAY)), tmp_path / "elsewhere.parquet")
    table.add_files([f"file://{tmp_path}/elsewhere.parquet"])
    with pytest.raises(
        TableFormatError, match=r"shop\.t has a file outside of its folder: file://"
    ):
        pinned(tmp_path, source(tmp_path))


def test_a_column_that_came_later_is_null_in_older_files(
    tmp_path: Path, catalog: Catalog, sail: Any
) -> None:
    table = create(catalog, "t", pa.schema([("k", pa.int64())]))
    table.append(pa.table({"k": [1]}))
    with table.update_schema() as change:
        change.add_column("c", StringType())
    table.append(pa.table({"k": [2], "c": ["x"]}))
    spec = source(tmp_path, columns=COLUMNS[:2])
    assert read(sail, spec, pinned(tmp_path, spec)) == [(1, None), (2, "x")]


class IcebergPlace(Place):
    """Deliveries as snapshots of Iceberg tables."""

    catalog: Catalog

    def delivery(self, table: str) -> str:
        return self.catalog.load_table(f"shop.{table}").location().removeprefix("file://")

    def deliver(self, number: int, sales: list[Row], returns: list[Row]) -> None:
        for name, columns, given in (("sales", SALES, sales), ("returns", RETURNS, returns)):
            kinds = {"BIGINT": pa.int64(), "STRING": pa.string()}
            schema = pa.schema([(c.name, kinds[c.type]) for c in columns])
            values = [list(c) for c in zip(*given, strict=True)] or [[] for _ in columns]
            self.table(name, schema).append(pa.table(values, schema=schema))
        self.look()

    def table(self, name: str, schema: pa.Schema | None = None) -> Table:
        if schema is not None and not self.catalog.table_exists(f"shop.{name}"):
            create(self.catalog, name, schema, *(["cat"] if name == "sales" else []))
        return self.catalog.load_table(f"shop.{name}")

    def look(self) -> None:
        """What the tables hold now is what a result is held against."""
        for name, columns in (("sales", SALES), ("returns", RETURNS)):
            there = held(self.table(name), self.engine)
            values = (there.column(column.name).to_pylist() for column in columns)
            self.delivered[name] = list(zip(*values, strict=True))


def change(place: IcebergPlace, chance: random.Random) -> None:
    """Do something to the table of sales that takes rows away, or moves them into other files."""
    table, price = place.table("sales"), chance.randrange(-2, 9)
    new = pa.table({"o": [1, 2], "cat": ["a", "a"], "price": [price, 3]})
    match chance.randrange(6):
        case 0:
            table.delete(f"price > {price}")
        case 4:
            mark(table, lambda row: row["price"] == price)
        case 5:
            mark(table, lambda row: row["price"] < price, new)
        case 1:
            compact(table)
        case 2:
            before = table.snapshots()[-chance.randrange(1, 4) :][0]
            table.manage_snapshots().set_current_snapshot(before.snapshot_id).commit()
        case _:
            table.overwrite(new, overwrite_filter="cat = 'a'")
    place.look()


def change_by_values(place: IcebergPlace, chance: random.Random) -> None:
    """Do something to the table of sales as a writer that upserts does."""
    table, price = place.table("sales"), chance.randrange(-1, 9)
    files = [task.file for task in data_files(table, newest(table))]
    at = chance.choice(files) if files else None
    cat = at.partition[0] if at else None
    new = pa.table({"o": [1, 2], "cat": pa.array([cat, cat], pa.string()), "price": [price, 3]})
    match chance.randrange(5) if at else 4:
        case 0:
            commit(table, [delete_by_values(table, pa.table({"price": [price, 1]}), at)])
        case 1:
            commit(table, [delete_by_values(table, new, at)], new)
        case 2:
            keys = new.select(["o", "cat"])
            marks = [delete_by_values(table, keys, at), delete_by_values(table, keys[:1], at)]
            commit(table, marks, new[:1])
        case 3:
            mark(table, lambda row: row["price"] == price)
        case _:
            compact(table, place.engine)
    place.look()


def a_day(place: IcebergPlace, seed: int) -> None:
    """Three runs, and before each a commit and changes by chance."""
    chance = random.Random(seed)
    change_it = (
        change_by_values if chance.random() < 0.4 and place.engine.name == "sail" else change
    )
    place.arrived = (0.4, 0.8, 1.0)
    place.deliver(0, [(1, "a", 1), (2, "b", 2)], [(1, 1)])
    place.changes = {
        f"sold.{name}": {
            "format": "iceberg", "catalog": f"lake.shop.{name}", "allow_empty": True,
            "change": "changelog" if name == "sales" else "append_only",
        }
        for name in ("sales", "returns")
    }  # fmt: skip
    sql = FIRST if chance.random() < 0.6 else "SELECT cat, sum(price) AS p FROM sales GROUP BY cat"
    at = place.open("sold", sql)
    for run in (1, 2, 3):
        sales = [
            (
                chance.randrange(9),
                chance.choice(["a", "b", "it's c", None]),
                chance.randrange(-1, 9),
            )
            for _ in range(chance.randrange(1, 6))
        ]
        place.deliver(run, sales, [(chance.randrange(9), chance.randrange(9)), (1, run), (2, run)])
        for _ in range(chance.randrange(3)):
            change_it(place, chance)
        commit = place.run(at, sql, run, method="progressive")
    place.check(commit, sql, least=0)


def place_of(folder: Path, engine: Any, catalog: Catalog) -> IcebergPlace:
    for name in catalog.list_tables("shop"):
        shutil.rmtree(catalog.load_table(name).location().removeprefix("file://"))
        catalog.drop_table(name)
    place = IcebergPlace(folder, engine)
    place.catalog = catalog
    return place


def test_days_of_snapshots_equal_batch(tmp_path: Path, catalog: Catalog, sail: Any) -> None:
    for seed in range(5):
        a_day(place_of(tmp_path / str(seed), sail, catalog), 80_000 + seed)


@pytest.mark.spark
def test_a_day_of_snapshots_equals_batch_on_spark(
    tmp_path: Path, catalog: Catalog, spark: Any
) -> None:
    for seed in range(3):
        a_day(place_of(tmp_path / str(seed), spark, catalog), 81_000 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 500, 25))
def test_many_days_of_snapshots_equal_batch(
    seed: int, tmp_path: Path, catalog: Catalog, sail: Any
) -> None:
    for each in range(seed, seed + 25):
        a_day(place_of(tmp_path / str(each), sail, catalog), 82_000 + each)


def test_a_table_that_is_created_anew_is_refused(
    tmp_path: Path, catalog: Catalog, sail: Any
) -> None:
    place = place_of(tmp_path, sail, catalog)
    place.deliver(1, [(1, "a", 5), (2, "b", 7)], [(1, 10), (2, 20)])
    place.changes = {
        f"sold.{name}": {"format": "iceberg", "catalog": f"lake.shop.{name}", "change": "changelog"}
        for name in ("sales", "returns")
    }
    at = place.open("sold", FIRST)
    place.run(at, FIRST, 1, method="progressive")
    catalog.drop_table("shop.sales")
    place.deliver(1, [(1, "a", 5)], [(3, 3)])
    with pytest.raises(SourceChangedError, match="another one than that which the last"):
        place.run(at, FIRST, 2, method="progressive")
