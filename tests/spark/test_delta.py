"""Delta tables: what a version holds is pinned, and days over commits are those of the rows."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from forerun.include.reports.spec import (
    ClockTime,
    SourceSpec,
    SpecError,
    Trailing,
)
from forerun.include.sources.constants import PartitionError
from forerun.include.sources.corrections import find_corrections
from forerun.include.sources.delivery import SourceChangedError, delivery, verify_pin
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.pins import SchemaDriftError, pin_source
from forerun.include.sources.table_formats import TableFormatError
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from tests.oracles.values import Row
from tests.selection import few
from tests.spark.deletion_vectors import delete_by_vector, rows_of
from tests.spark.lake import COLUMNS, DAY, ENGINES, NOW, pinned, read
from tests.spark.places import (
    FIRST,
    RETURNS,
    SALES,
    Place,
    check_repaired,
    found_repair,
    published,
)

VECTORS = {"delta.enableDeletionVectors": "true"}
ODD = ["DE", "a b", "x/y", "it's", "50%", None, "ü=1"]
"""Values of a partition column that a path has to escape."""


def delta(folder: Path, rows: dict[str, list[Any]], **more: Any) -> None:
    write_deltalake(str(folder), pa.table(rows), **more)


def source(folder: Path, path: str = "", **more: Any) -> SourceSpec:
    given: dict[str, Any] = {"columns": COLUMNS, **more}
    return SourceSpec(
        name="t", path=f"{folder}{path}", format="delta", complete_when=ClockTime(), **given
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_partition_columns_are_read_though_no_file_holds_them(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table, days = tmp_path / "t", [DAY] * len(ODD)
    rows = {"k": list(range(len(ODD))), "c": ODD, "dt": days}
    delta(table, {**rows, "dt": pa.array(days, pa.date32())}, partition_by=["c", "dt"])
    spec = source(table)
    found = read(request.getfixturevalue(engine), spec, pinned(tmp_path, spec))
    assert found == sorted(zip(*rows.values(), strict=True), key=repr)


def test_a_table_in_a_bucket_is_read_as_one_on_a_disk(store_uri: str, tmp_path: Path) -> None:
    """Credentials and connections are those of the store: delta-rs is given a copy of the log."""
    delta(tmp_path / "t", {"k": [1, 2], "c": ["a", "b"]}, partition_by=["c"])
    DeltaTable(str(tmp_path / "t")).create_checkpoint()
    delta(tmp_path / "t", {"k": [3], "c": ["a"]}, mode="append")
    bucket = open_store(store_uri)
    for file in sorted((tmp_path / "t").rglob("*")):
        if file.is_file():
            bucket.put(str(file.relative_to(tmp_path)), file.read_bytes())
    spec = source(Path("/nowhere"), columns=COLUMNS[:2])
    at = SourceSpec(
        name="t", path=f"{store_uri}/t/c=a", columns=spec.columns, format="delta",
        complete_when=ClockTime(),
    )  # fmt: skip
    pin = pin_source(bucket, at, DAY, NOW)[1]
    assert (pin.rows, pin.version) == (2, 1)
    verify_pin(pin)


def test_a_path_names_partitions_of_the_table(tmp_path: Path) -> None:
    days = pa.array([DAY, DAY, dt.date(2026, 3, 2)], pa.date32())
    delta(tmp_path / "t", {"k": [1, 2, 3], "c": ["a", "b", "a"], "dt": days},
          partition_by=["dt", "c"])  # fmt: skip
    assert pinned(tmp_path, source(tmp_path / "t", "/dt={ds}")).rows == 2
    before = {"k": [9], "c": ["a"], "dt": pa.array([DAY - dt.timedelta(days=1)], pa.date32())}
    delta(tmp_path / "t", before, mode="append")
    two_days = source(tmp_path / "t", "/dt={ds}", over=Trailing(days_back=2))
    assert pinned(tmp_path, two_days).rows == 3
    (file,) = pinned(tmp_path, source(tmp_path / "t", "/DT={ds}/c=b")).files
    known = {c.name: (c.minimum, c.maximum, c.nulls) for c in file.columns}
    assert known == {"k": ("2", "2", 0), "c": ("b", "b", 0), "dt": ("2026-03-01", "2026-03-01", 0)}
    with pytest.raises(SourcePathError, match=r"t is not partitioned by day"):
        pinned(tmp_path, source(tmp_path / "t", "/day={ds}"))


def test_files_that_were_removed_are_not_read_and_a_compaction_is_no_change(
    tmp_path: Path,
) -> None:
    table, spec = tmp_path / "t", source(tmp_path / "t", columns=COLUMNS[:1])
    for number in range(3):
        delta(table, {"k": [number, number + 10]}, mode="append")
    DeltaTable(str(table)).delete("k = 1")
    before = pinned(tmp_path, spec)
    assert before.rows == 5
    DeltaTable(str(table)).optimize.compact()
    assert len(DeltaTable(str(table)).file_uris()) == 1
    assert pinned(tmp_path, spec) == before
    delta(table, {"k": [5]}, mode="append")
    grown = pinned(tmp_path, spec)
    assert {f.uri for f in before.files} < {f.uri for f in grown.files}
    assert (grown.rows, grown.version, grown.table) == (6, 5, before.table)
    DeltaTable(str(table)).create_checkpoint()
    delta(table, {"k": [6]}, mode="append")
    assert pinned(tmp_path, spec).rows == 7
    # What only the compaction has written was written again: the table is read as it is now.
    DeltaTable(str(table)).delete("k = 11")
    assert pinned(tmp_path, spec).rows == 6


def test_what_a_table_is_not_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourcePathError, match="is no Delta table"):
        pinned(tmp_path, source(tmp_path / "t"))
    table = tmp_path / "t"
    delta(table, {"k": [1]}, mode="append")
    with pytest.raises(SchemaDriftError, match="column c: expected STRING, found no such column"):
        pinned(tmp_path, source(table))
    one = source(table, columns=COLUMNS[:1])
    log = table / "_delta_log" / f"{0:020d}.json"
    text = log.read_text()
    log.write_text("{")
    with pytest.raises(TableFormatError, match="cannot be read as a Delta table"):
        pinned(tmp_path, one)
    log.write_text(text)
    Path(DeltaTable(str(table)).file_uris()[0]).unlink()
    with pytest.raises(SourcePathError, match=r"is in the log of .* and not in its folder"):
        pinned(tmp_path, one)
    with pytest.raises(SpecError, match="whose log says it by itself"):
        source(table, partitioned_by=("c",))


def mapped_field(number: int, name: str, inside: str, kind: object = "long") -> dict[str, Any]:
    said = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": inside}
    return {"name": name, "type": kind, "nullable": True, "metadata": said}


def mapped(table: Path) -> None:
    """Write a table with column mapping, as Spark does and delta-rs cannot."""
    (table / "_delta_log").mkdir(parents=True)
    inner = [{"type": "struct", "fields": [mapped_field(n, "x", "c-5")]} for n in (6, 7, 8)]
    lists = {"type": "array", "elementType": inner[1], "containsNull": True}
    maps = {"type": "map", "keyType": "string", "valueType": inner[2], "valueContainsNull": True}
    kinds = {"k": "long", "dt": "date", "s": inner[0], "l": lists, "m": maps}
    fields = [
        mapped_field(number, name, f"c-{name}", kind)
        for number, (name, kind) in enumerate(kinds.items(), 1)
    ]
    one, two, of_map = {"c-5": 1}, {"c-5": None}, pa.struct([("c-5", pa.int64())])
    rows = {
        "c-k": [1, 2], "c-s": [one, None], "c-l": [[one, None, two], []],
        "c-m": pa.array([[("a", two)], None], pa.map_(pa.string(), of_map)),
    }  # fmt: skip
    pq.write_table(pa.table(rows), table / "x.parquet")
    meta = {
        "id": "t", "format": {"provider": "parquet", "options": {}}, "partitionColumns": ["dt"],
        "schemaString": json.dumps({"type": "struct", "fields": fields}), "createdTime": 1,
        "configuration": {
            "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "8"
        },
    }  # fmt: skip
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    write_commit(table, [{"protocol": protocol}, {"metaData": meta}, done(table, "add", "x")])


def done(table: Path, what: str, name: str, *, moves: bool = True) -> dict[str, Any]:
    file = {
        "path": f"{name}.parquet", "partitionValues": {"c-dt": "2026-03-01"}, "dataChange": moves,
        "size": (table / f"{name}.parquet").stat().st_size,
        "modificationTime" if what == "add" else "deletionTimestamp": 1,
    }  # fmt: skip
    return {what: file}


def write_commit(table: Path, actions: list[dict[str, Any]]) -> None:
    log = table / "_delta_log"
    text = "".join(f"{json.dumps(action)}\n" for action in actions)
    (log / f"{len(list(log.glob('*.json'))):020d}.json").write_text(text)


@pytest.mark.parametrize("change", ["append_only", "changelog"])
def test_a_table_with_column_mapping_may_be_compacted(
    change: str, tmp_path: Path, sail: Any
) -> None:
    """What was copied stays; a file that was compacted before it was pinned is copied by itself."""
    mapped(table := tmp_path / "t")
    spec = source(table, "/dt={ds}", columns=COLUMNS[:1], extra_columns="ignore", change=change)
    before = pinned(tmp_path, spec)
    pq.write_table(pa.table({"c-k": [3]}), table / "y.parquet")
    write_commit(table, [done(table, "add", "y")])
    pq.write_table(pa.table({"c-k": [1, 2, 3]}), table / "z.parquet")
    files = [done(table, "remove", name, moves=False) for name in ("x", "y")]
    write_commit(table, [*files, done(table, "add", "z", moves=False)])
    after = pinned(tmp_path, spec)
    (new,) = delivery(after, before)
    assert (new.origin.rpartition("/")[2], new.rows) == ("y.parquet", 1)
    assert read(sail, spec, after) == [(1,), (2,), (3,)]


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_a_table_with_column_mapping_are_read_by_the_names_of_the_table(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    mapped(tmp_path / "t")
    x = "STRUCT<x: BIGINT>"
    columns = {"k": "BIGINT", "dt": "DATE", "s": x, "l": f"ARRAY<{x}>", "m": f"MAP<STRING, {x}>"}
    spec = source(tmp_path / "t", "/dt={ds}", columns=columns)
    pin = pinned(tmp_path, spec)
    verify_pin(pin)
    assert read(request.getfixturevalue(engine), spec, pin) == [
        (1, DAY, (1,), [(1,), None, (None,)], {"a": (None,)}), (2, DAY, None, [], None)
    ]  # fmt: skip
    assert pinned(tmp_path, spec) == pin


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("inline", [True, False])
def test_rows_that_a_deletion_vector_names_are_not_read(
    engine: str, inline: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table, spec = tmp_path / "t", source(tmp_path / "t", columns=COLUMNS[:2])
    rows = {"k": list(range(2 * len(ODD))), "c": 2 * ODD}
    delta(table, rows, partition_by=["c"], configuration=VECTORS)
    before = pinned(tmp_path, spec)
    delete_by_vector(str(table), lambda row: row["k"] < len(ODD), inline=inline)
    pin = pinned(tmp_path, spec)
    found = read(request.getfixturevalue(engine), spec, pin)
    assert found == sorted(zip(range(len(ODD), 2 * len(ODD)), ODD, strict=True), key=repr)
    verify_pin(pin)
    assert {file.origin for file in pin.files} == {file.uri for file in before.files}
    assert pinned(tmp_path, spec) == pin
    with pytest.raises(SourceChangedError, match=r"c=.* is gone"):
        delivery(pin, before)
    Path(pin.files[0].uri.removeprefix("file://")).unlink()
    with pytest.raises(SourceChangedError, match=r"spools/.* vanished after it was pinned"):
        verify_pin(pin)


def test_deleted_rows_outlive_a_compaction_and_are_copied_once(tmp_path: Path) -> None:
    """The rows that are gone are taken back, no others; and what was compacted is not read anew."""
    table, path = tmp_path / "t", str(tmp_path / "t")
    for number in range(3):
        delta(table, {"k": list(range(number, 30, 3))}, mode="append", configuration=VECTORS)
    for change in ("append_only", "changelog"):
        spec = source(table, columns=COLUMNS[:1], change=change)
        whole = pinned(tmp_path, spec)
        delete_by_vector(path, lambda row: row["k"] == 4, inline=False)
        before = pinned(tmp_path, spec)
        gone = [file for file in before.files if file not in whole.files]
        assert [(f.rows, f.constants) for f in gone] == (
            [(9, ())] if change == "append_only" else [(1, (("__w", "-1"),))]
        )
        DeltaTable(path).optimize.compact()
        assert pinned(tmp_path, spec) == before
        delta(table, {"k": [77]}, mode="append")
        grown = pinned(tmp_path, spec)
        assert delivery(grown, before) == tuple(f for f in grown.files if f not in before.files)
        assert grown.rows == before.rows + 1
        DeltaTable(path).restore(2)
    spools = list((tmp_path / "store" / "spools").rglob("*.parquet"))
    assert len(spools) == 2


@pytest.mark.parametrize("change", ["append_only", "changelog"])
def test_a_table_that_was_compacted_and_cleaned_up_has_not_changed(
    change: str, tmp_path: Path, sail: Any
) -> None:
    """Whoever looks at a published day again finds other files, with the same rows."""
    table, spec = tmp_path / "t", source(tmp_path / "t", columns=COLUMNS[:1], change=change)
    for number in range(3):
        delta(table, {"k": list(range(number, 30, 3))}, mode="append", configuration=VECTORS)
    first = pinned(tmp_path, spec)
    delta(table, {"k": [77]}, mode="append")
    before = pinned(tmp_path, spec)
    DeltaTable(str(table)).optimize.compact()
    vacuum(str(table))
    now = pinned(tmp_path, spec)
    assert len(now.files) == 1
    assert now.rows == before.rows
    assert find_corrections(before, now) == ()
    assert delivery(now, before) == ()
    assert find_corrections(first, now), "then it had less rows"
    verify_pin(now)
    delta(table, {"k": [78]}, mode="append")
    grown = pinned(tmp_path, spec)
    assert [one.kind for one in find_corrections(before, grown)] == ["new"]
    assert [file.rows for file in delivery(grown, before)] == [1]


def vacuum(table: str) -> None:
    """Remove what the table has dropped, at once."""
    DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


def test_a_vector_of_rows_that_a_compacted_file_had_is_read_as_the_table_is(tmp_path: Path) -> None:
    table, spec = tmp_path / "t", source(tmp_path / "t", columns=COLUMNS[:1], change="changelog")
    for number in range(3):
        delta(table, {"k": [number, number + 10]}, mode="append", configuration=VECTORS)
    before = pinned(tmp_path, spec)
    delete_by_vector(str(table), lambda row: row["k"] == 1, inline=True)
    DeltaTable(str(table)).optimize.compact()
    now = pinned(tmp_path, spec)
    assert now.rows == 5
    assert not {file.uri for file in now.files} & {file.uri for file in before.files}


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_count_of_which_no_file_holds_a_declared_column(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table, columns = tmp_path / "t", (COLUMNS[1], ColumnSpec(name="w", type="STRING"))
    delta(table, {"k": [1, 2, 3], "c": ["a", "b", "b"]}, partition_by=["c"])
    delta(table, {"k": [4], "c": ["a"], "w": ["x"]}, mode="append", schema_mode="merge")
    spec = source(table, columns=columns, extra_columns="ignore")
    rows = read(request.getfixturevalue(engine), spec, pinned(tmp_path, spec))
    assert rows == [("a", "x"), ("a", None), ("b", None), ("b", None)]
    alone = source(table, columns=columns[:1], extra_columns="ignore")
    rows = read(request.getfixturevalue(engine), alone, pinned(tmp_path / "alone", alone))
    assert rows == [("a",), ("a",), ("b",), ("b",)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_came_later_is_null_in_older_files(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table, spec = tmp_path / "t", source(tmp_path / "t", columns=COLUMNS[:2])
    delta(table, {"k": [1]}, mode="append")
    delta(table, {"k": [2], "c": ["x"]}, mode="append", schema_mode="merge")
    rows = read(request.getfixturevalue(engine), spec, pinned(tmp_path, spec))
    assert rows == [(1, None), (2, "x")]


def test_values_that_are_none_of_their_type_are_refused(tmp_path: Path) -> None:
    delta(tmp_path / "t", {"k": [1], "c": ["2026-02-30"]}, partition_by=["c"])
    columns = (COLUMNS[0], ColumnSpec(name="c", type="DATE"))
    with pytest.raises(PartitionError, match="'2026-02-30' is no DATE"):
        pinned(tmp_path, source(tmp_path / "t", columns=columns))


class DeltaPlace(Place):
    """Deliveries as commits of Delta tables; ``rewrites`` are done to sales after each."""

    def deliver(self, number: int, sales: list[Row], returns: list[Row]) -> None:
        for name, columns, rows in (("sales", SALES, sales), ("returns", RETURNS, returns)):
            kinds = {"BIGINT": pa.int64(), "STRING": pa.string()}
            schema = pa.schema([(c.name, kinds[c.type]) for c in columns])
            values = [list(c) for c in zip(*rows, strict=True)] or [[] for _ in columns]
            by = ["cat"] if name == "sales" else None
            rows_to_add = pa.table(values, schema=schema)
            write_deltalake(
                self.delivery(name), rows_to_add, mode="append", partition_by=by,
                configuration=VECTORS,
            )  # fmt: skip
        self.look()

    def look(self) -> None:
        """What the tables hold now is what a result is held against."""
        for name, columns in (("sales", SALES), ("returns", RETURNS)):
            rows = rows_of(self.delivery(name))
            self.delivered[name] = [tuple(row[c.name] for c in columns) for row in rows]


def change(place: DeltaPlace, chance: random.Random) -> None:
    """Do something to the table of sales that takes rows away, or moves them into other files."""
    path = place.delivery("sales")
    table, price = DeltaTable(path), chance.randrange(-2, 9)
    match chance.randrange(9):
        case 0:
            table.delete(f"price > {price}")
        case 1:
            table.update(predicate=f"price < {price}", updates={"price": "price + 1"})
        case 2:
            table.optimize.compact()
        case 3:
            if table.version():
                table.restore(max(0, table.version() - chance.randrange(1, 4)))
        case 4:
            rows = {"o": [1, 2], "cat": ["a", "a"], "price": [price, 3]}
            write_deltalake(path, pa.table(rows), mode="overwrite", predicate="cat = 'a'")
        case 5:
            new = pa.table({"o": [1, 4], "cat": ["b", "c"], "price": [price, 6]})
            merged = table.merge(new, "t.o = s.o AND t.cat = s.cat", "s", "t")
            merged.when_matched_update({"price": "s.price"}).when_not_matched_insert_all().execute()
        case 6 | 7:
            inline = chance.random() < 0.5
            delete_by_vector(path, lambda row: row["price"] == price, inline=inline)
        case _:
            table.create_checkpoint()
    place.look()


def a_day(place: DeltaPlace, seed: int) -> None:
    """Three runs, and before each a commit and changes by chance."""
    chance = random.Random(seed)
    place.arrived = (0.4, 0.8, 1.0)
    place.changes = {
        "sold.sales": {"format": "delta", "change": "changelog", "allow_empty": True},
        "sold.returns": {"format": "delta"},
    }
    sql = FIRST if chance.random() < 0.6 else "SELECT cat, sum(price) AS p FROM sales GROUP BY cat"
    at = place.open("sold", sql)
    for run in (1, 2, 3):
        number = chance.randrange(6)
        sales = [
            (
                chance.randrange(9),
                chance.choice(["a", "b", "it's c", None]),
                chance.randrange(-1, 9),
            )
            for _ in range(number)
        ]
        sales += [(1, "a", 1), (2, "b", 2)] if run == 1 else []
        place.deliver(run, sales, [(chance.randrange(9), chance.randrange(9)), (1, run), (2, run)])
        for _ in range(chance.randrange(3)):
            change(place, chance)
        commit = place.run(at, sql, run, method="progressive")
    place.check(commit, sql, least=0)


@pytest.mark.parametrize("seed", few(range(20), 8))
def test_days_of_commits_equal_batch(seed: int, sail: Any, tmp_path: Path) -> None:
    a_day(DeltaPlace(tmp_path, sail), 90_000 + seed)


@pytest.mark.spark
def test_a_day_of_commits_equals_batch_on_spark(spark: Any, tmp_path: Path) -> None:
    for seed in range(4):
        a_day(DeltaPlace(tmp_path / str(seed), spark), 91_000 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 500, 25))
def test_many_days_of_commits_equal_batch(seed: int, sail: Any, tmp_path: Path) -> None:
    for each in range(seed, seed + 25):
        a_day(DeltaPlace(tmp_path / str(each), sail), 92_000 + each)


@pytest.mark.parametrize("change_kind", ["append_only", "changelog"])
@pytest.mark.parametrize("what", ["delete", "append", "update", "compact"])
def test_a_published_day_is_repaired_from_what_it_kept(
    what: str, change_kind: str, sail: Any, tmp_path: Path
) -> None:
    """Files that a commit has dropped lie there until a vacuum: their rows are taken back."""
    place = DeltaPlace(tmp_path, sail)
    published(place, format="delta", change=change_kind)
    table = DeltaTable(place.delivery("sales"))
    match what:
        case "delete":
            table.delete("o = 2 AND cat = 'b'")
        case "append":
            place.deliver(3, [(1, "b", 9)], [(2, 3)])
        case "update":
            table.update(updates={"price": "price + 1"})
        case _:
            table.optimize.compact()
    place.look()
    repair = found_repair(place)
    assert repair.is_needed == (what != "compact")
    if repair.is_needed:
        check_repaired(place, repair)


def run_twice(place: DeltaPlace, between: Any, **declared: Any) -> None:
    place.changes = {
        f"sold.{name}": {"format": "delta", **declared} for name in ("sales", "returns")
    }
    at = place.open("sold", FIRST)
    place.deliver(1, [(1, "a", 5), (2, "b", 7)], [(1, 10), (2, 20)])
    place.run(at, FIRST, 1, method="progressive")
    between()
    place.run(at, FIRST, 2, method="progressive")


def test_a_table_that_is_said_to_grow_and_loses_rows_is_refused(sail: Any, tmp_path: Path) -> None:
    place = DeltaPlace(tmp_path, sail)
    path = place.delivery("sales")
    with pytest.raises(SourceChangedError, match="is gone") as caught:
        run_twice(place, lambda: DeltaTable(path).delete("o = 1"))
    assert "rows that go are taken back" in caught.value.hint


def test_a_table_that_is_created_anew_is_refused(sail: Any, tmp_path: Path) -> None:
    place = DeltaPlace(tmp_path, sail)

    def anew() -> None:
        shutil.rmtree(place.delivery("sales"))
        place.deliver(1, [(1, "a", 5)], [])

    with pytest.raises(SourceChangedError, match="another one than that which the last"):
        run_twice(place, anew, change="changelog")


def test_a_vacuum_of_rows_that_have_to_be_taken_back_is_said(sail: Any, tmp_path: Path) -> None:
    place = DeltaPlace(tmp_path, sail)

    def cleaned() -> None:
        DeltaTable(place.delivery("sales")).delete("o = 1")
        vacuum(place.delivery("sales"))

    with pytest.raises(SourceChangedError, match="vanished after it was pinned"):
        run_twice(place, cleaned, change="changelog")
