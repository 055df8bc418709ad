"""Iceberg tables by a catalog: what a snapshot holds is pinned, and days are those of the rows."""

from __future__ import annotations

import datetime as dt
import json
import random
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog, load_catalog
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
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _FastAppendFiles, _OverwriteFiles
from pyiceberg.types import StringType
from pyiceberg.utils.config import Config

from forerun.include.reports.spec import ClockTime, SourceSpec, SpecError
from forerun.include.sources.delivery import SourceChangedError, delivery, verify_pin
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.table_formats import TableFormatError
from forerun.include.sources.tables.iceberg_deletes import DeleteFiles
from tests.oracles.values import Row
from tests.spark.lake import COLUMNS, DAY, ENGINES, pinned, read
from tests.spark.places import FIRST, RETURNS, SALES, Place

SCHEMA = pa.schema([("k", pa.int64()), ("c", pa.string()), ("dt", pa.date32())])


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog in a file of SQLite, named by the environment as a deployment does."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}/lake")
    read_environment(monkeypatch)
    made = load_catalog("lake")
    made.create_namespace("shop")
    return made


def read_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pyiceberg read the environment, as it does once in a process."""
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())


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


def compact(table: Table) -> None:
    """Write all rows into one file, as rewrite_data_files does."""
    whole, old = table.scan().to_arrow(), [task.file for task in table.scan().plan_files()]
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
    marks, deletes = [], DeleteFiles(table.io)
    for task in table.scan().plan_files():
        rows = pq.ParquetFile(task.file.file_path.removeprefix("file://")).read().to_pylist()
        before = deletes.of(task)
        gone = set() if before is None else set(before.to_pylist())
        positions = [at for at, row in enumerate(rows) if goes(row) and at not in gone]
        if positions:
            marks.append(_position_deletes(table, task.file, positions))
    if not marks and new is None:
        return
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
    with table.update_schema() as change:
        change.rename_column("c", "d")
    with pytest.raises(TableFormatError, match="the column c of an older schema is called d"):
        pinned(tmp_path, source(tmp_path))
    with table.update_schema() as change:
        change.add_column("c", StringType())
    with pytest.raises(TableFormatError, match="of an older schema"):
        pinned(tmp_path, source(tmp_path))
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
            held = self.table(name).scan().to_arrow()
            values = (held.column(column.name).to_pylist() for column in columns)
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


def a_day(place: IcebergPlace, seed: int) -> None:
    """Three runs, and before each a commit and changes by chance."""
    chance = random.Random(seed)
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
            change(place, chance)
        commit = place.run(at, sql, run, method="progressive")
    place.check(commit, sql, least=0)


def place_of(folder: Path, engine: Any, catalog: Catalog) -> IcebergPlace:
    for name in catalog.list_tables("shop"):
        catalog.drop_table(name)
    place = IcebergPlace(folder, engine)
    place.catalog = catalog
    return place


def test_days_of_snapshots_equal_batch(tmp_path: Path, catalog: Catalog, sail: Any) -> None:
    for seed in range(8):
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
