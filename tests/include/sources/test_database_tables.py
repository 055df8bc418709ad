"""Tables of PostgreSQL: a pin is one state of it, a delivery the difference of two."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections import Counter
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from forerun.include.reports.period import Monthly, Trailing
from forerun.include.reports.sources.complete_when import ClockTime, MarkerFile
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.values.fields import SpecError
from forerun.include.sources.delivery import delivery, same_table, verify_pin
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.pins import pin_source
from forerun.include.sources.services.service_error import ServiceError
from forerun.include.sources.unread import SourceChangedError, SourceFileError
from forerun.include.state.records import Pin, PinnedFile
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from tests.postgresql_server import Database

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
AT = {"k": "BIGINT", "at": "TIMESTAMP"}
KV = {"k": "BIGINT", "v": "STRING"}
_NAMES = itertools.count(1)


def table(database: Database, columns: str = "k bigint, v text") -> str:
    name = f"t{next(_NAMES)}"
    database.do(f"CREATE TABLE {name} ({columns})")
    return name


def source(name: str, **more: Any) -> SourceSpec:
    path = f"postgresql://warehouse/public.{name}"
    wanted = {"columns": KV, "complete_when": ClockTime(), "allow_empty": True}
    return SourceSpec(name="t", path=path, format="postgresql", **wanted | more)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"))


def pin(store: Store, spec: SourceSpec, day: dt.date = DAY) -> Pin:
    return pin_source(store, spec, day, NOW)[1]


def rows(files: Pin | tuple[PinnedFile, ...]) -> Counter[tuple[Any, ...]]:
    """The rows of the copies, each as often as it comes."""
    found = files.files if isinstance(files, Pin) else files
    counts = Counter[tuple[Any, ...]]()
    for file in found:
        for row in pq.read_table(file.uri.removeprefix("file://")).to_pylist():
            weight = row.pop("__w", 1)
            counts[tuple(row.values())] += weight
    return counts


def test_each_pin_has_the_rows_that_came_since(warehouse: Database, store: Store) -> None:
    name = table(warehouse)
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a'), (1, 'a'), (2, NULL)")
    first = pin(store, source(name))
    assert rows(first) == {(1, "a"): 2, (2, None): 1}
    assert pin(store, source(name)) == first, "nothing has come"
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a'), (3, 'c'), (3, 'c')", f"VACUUM FULL {name}")
    second = pin(store, source(name))
    assert rows(delivery(second, first)) == {(1, "a"): 1, (3, "c"): 2}
    assert rows(second) == {(1, "a"): 3, (2, None): 1, (3, "c"): 2}
    verify_pin(second)
    assert pin(store, source(name)) == second


@pytest.mark.parametrize("change", ["UPDATE {} SET v = 'b'", "DELETE FROM {}", "TRUNCATE {}"])
def test_rows_that_go_from_a_source_that_only_grows_are_an_error(
    change: str, warehouse: Database, store: Store
) -> None:
    name = table(warehouse)
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'secret'), (1, 'secret')")
    before = pin(store, source(name))
    warehouse.do(change.format(name), f"INSERT INTO {name} VALUES (5, 'e')")
    again = pin(store, source(name))
    with pytest.raises(
        SourceChangedError, match=r"rows of postgresql://.* no longer there"
    ) as caught:
        delivery(again, before)
    assert "changelog" in caught.value.hint
    assert "secret" not in str(caught.value)
    with closing(warehouse.session()) as session, session.cursor() as cursor:
        cursor.execute(f"SELECT k, v FROM {name}")
        assert rows(again) == Counter(cursor.fetchall())
    assert pin(store, source(name)) == again, "a new generation reads what there is"


def test_a_static_table_is_the_same_all_day(warehouse: Database, store: Store) -> None:
    name = table(warehouse)
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a')")
    fixed = source(name, arrival="static", complete_when=None)
    first = pin(store, fixed)
    warehouse.do(f"INSERT INTO {name} VALUES (2, 'b')")
    with pytest.raises(SourceChangedError, match="declared static"):
        delivery(pin(store, fixed), first, growing=False)


def test_a_changelog_takes_back_what_was_updated_and_deleted(
    warehouse: Database, store: Store
) -> None:
    """Whatever is done to the table, what all copies add up to is what it holds."""
    chance, name = random.Random(8), table(warehouse)
    changing = source(name, change="changelog")
    for _ in range(12):
        for _ in range(chance.randrange(4)):
            k = chance.randrange(5)
            warehouse.do(chance.choice([
                f"INSERT INTO {name} VALUES ({k}, 'a'), ({k}, NULL), (NULL, NULL)",
                f"UPDATE {name} SET v = coalesce(v, '') || 'x' WHERE k = {k}",
                f"UPDATE {name} SET v = 'a' WHERE k = {k}",
                f"DELETE FROM {name} WHERE k = {k} OR k IS NULL",
                f"VACUUM FULL {name}",
            ]))  # fmt: skip
        now = pin(store, changing)
        with warehouse.session() as session, session.cursor() as cursor:
            cursor.execute(f"SELECT k, v FROM {name}")
            assert +rows(now) == Counter(cursor.fetchall())
    files = len(now.files)
    assert files > 4
    assert len(pin(store, changing).files) == files


def test_a_pin_sees_one_state(warehouse: Database, store: Store) -> None:
    name = table(warehouse, "k bigint, v numeric(10,2)")
    spec = source(name, columns={"k": "BIGINT", "v": "DECIMAL(10,2)"}, change="changelog")
    money_moves(warehouse, store, name, spec)


def money_moves(warehouse: Database, store: Store, name: str, spec: SourceSpec) -> None:
    """Money goes from one row to the other all the time: the sum is the same in every pin."""
    warehouse.do(f"INSERT INTO {name} VALUES (1, 50), (2, 50)")
    with warehouse.session() as writer:
        writer.autocommit = False
        for amount in range(1, 6):
            writer.cursor().execute(f"UPDATE {name} SET v = v - {amount} WHERE k = 1")
            before = +rows(pin(store, spec))
            writer.cursor().execute(f"UPDATE {name} SET v = v + {amount} WHERE k = 2")
            writer.commit()
            assert sum(v * n for (_, v), n in before.items()) == 100
            assert +rows(pin(store, spec)) != before


def test_every_type_is_read_as_it_is(warehouse: Database, store: Store) -> None:
    columns = {
        "a": ("smallint", "SMALLINT", "1, -32768"), "b": ("integer", "BIGINT", "7, NULL"),
        "c": ("real", "FLOAT", "1.5, 'NaN'"),
        "d": ("double precision", "DOUBLE", "0.1, '-Infinity'"),
        "e": ("numeric(12,3)", "DECIMAL(12,3)", "1.005, -999999999.999"),
        "f": ("numeric", "DECIMAL(38,10)", "1e-10, NULL"),
        "g": ("boolean", "BOOLEAN", "true, NULL"),
        "h": ("varchar(9)", "STRING", "'ü''\"', ''"),
        "j": ("date", "DATE", "'0001-01-01', '9999-12-31'"),
        "l": ("timestamp", "TIMESTAMP_NTZ", "'2026-03-29 02:30:00.123456', NULL"),
        "m": ("timestamptz", "TIMESTAMP", "'2026-03-29 02:30+02', '1700-01-01 00:00Z'"),
        "n": ("uuid", "STRING", "'8a6e0804-2bd0-4672-b79d-d97027f9071a', NULL"),
        "o": ("bytea", "BINARY", "'\\x00ff', ''"), "Q \"x\"": ("bigint", "BIGINT", "9, -9"),
    }  # fmt: skip
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in columns}
    name = table(warehouse, ", ".join(f"{quoted[n]} {kind}" for n, (kind, *_) in columns.items()))
    for each in zip(*(values.split(", ") for _, _, values in columns.values()), strict=True):
        warehouse.do(f"INSERT INTO {name} VALUES ({', '.join(each)})")
    found = pin(store, source(name, columns={n: kind for n, (_, kind, _) in columns.items()}))
    (file,) = found.files
    first, second = pq.read_table(file.uri.removeprefix("file://")).to_pylist()
    assert list(first.values()) == [
        1, 7, 1.5, 0.1, Decimal("1.005"), Decimal("1E-10"), True, "ü'\"", dt.date(1, 1, 1),
        dt.datetime(2026, 3, 29, 2, 30, 0, 123456), dt.datetime(2026, 3, 29, 0, 30, tzinfo=dt.UTC),
        "8a6e0804-2bd0-4672-b79d-d97027f9071a", b"\0\xff", 9,
    ]  # fmt: skip
    assert second["j"] == dt.date(9999, 12, 31)
    assert second["m"] == dt.datetime(1700, 1, 1, tzinfo=dt.UTC)
    assert second["c"] != second["c"]
    assert pin(store, source(name, columns={n: k for n, (_, k, _) in columns.items()})) == found


@pytest.mark.parametrize(
    ("kind", "value", "declared", "match"),
    [
        ("numeric", "1.005", "DECIMAL(10,2)", r"column v DECIMAL\(10,2\)"),
        ("numeric", "'NaN'", "DECIMAL(10,2)", r"column v DECIMAL\(10,2\)"),
        ("date", "'infinity'", "DATE", "column v has infinity"),
        ("timestamptz", "'-infinity'", "TIMESTAMP", "column v has infinity"),
        ("bigint", "1", "INT", "column v is bigint, and declared INT"),
        ("timestamp", "'2026-01-01'", "TIMESTAMP", "timestamp without time zone, and declared"),
        ("char(3)", "'a'", "STRING", "column v is character, and declared"),
        ("int[]", "'{1}'", "ARRAY<INT>", "nothing of PostgreSQL is read as"),
        ("text", "NULL", "STRING NOT NULL", "without NULL"),
    ],
)
def test_what_is_not_as_declared_is_named(
    kind: str, value: str, declared: str, match: str, warehouse: Database, store: Store
) -> None:
    name = table(warehouse, f"v {kind}")
    warehouse.do(f"INSERT INTO {name} VALUES ({value})")
    with pytest.raises(Exception, match=match) as caught:
        pin(store, source(name, columns={"v": declared}))
    assert caught.value.code in ("source-file", "schema-drift")


def test_a_predicate_says_which_rows_are_a_day_s(warehouse: Database, store: Store) -> None:
    name = table(warehouse, "k bigint, v text, d date")
    warehouse.do(
        f"INSERT INTO {name} SELECT n, 'a', DATE '2026-02-27' + n FROM generate_series(0, 5) n"
    )
    one = source(name, where="d = '{ds}'")
    assert rows(pin(store, one)) == {(2, "a"): 1}
    assert rows(pin(store, one, DAY + dt.timedelta(days=1))) == {(3, "a"): 1}
    month = source(name, where="d BETWEEN '{first}' AND '{ds}'", over=Monthly())
    assert rows(pin(store, month, DAY + dt.timedelta(days=2))) == {
        (2, "a"): 1,
        (3, "a"): 1,
        (4, "a"): 1,
    }
    with pytest.raises(ServiceError, match="syntax error"):
        pin(store, source(name, where="d ="))


def test_a_range_of_days_goes_on_from_the_copies_of_the_day_before(
    warehouse: Database, store: Store
) -> None:
    """What lies in the range is copied once; where rows of a day have gone, that day is anew."""
    name = table(warehouse, 'k bigint, v text, "At" timestamptz')
    columns = {**KV, "At": "TIMESTAMP"}
    ranged = source(
        name, columns=columns, day_by="At", timezone="Asia/Tokyo", over=Trailing(days_back=3)
    )
    warehouse.do(
        f"INSERT INTO {name} SELECT d, v, TIMESTAMPTZ '2026-02-25 15:00+00' + d * INTERVAL '1 day' "
        f"FROM generate_series(0, 6) d, unnest(ARRAY['a', 'b']) v",
        f"INSERT INTO {name} VALUES (90, 'x', NULL), (91, 'x', '2026-03-01 14:59:59.999999+00'), "
        f"(92, 'x', '2026-02-26 14:59:59.999999+00'), (93, 'x', 'infinity')",
    )

    def days(found: Pin) -> dict[str, list[int]]:
        return {
            day: sorted(k for k, _, _ in rows(tuple(f for f in found.files if f.day == day)))
            for day in sorted({file.day for file in found.files})
        }

    first = pin(store, ranged)
    assert days(first) == {
        "2026-02-27": [1, 1], "2026-02-28": [2, 2], "2026-03-01": [3, 3, 91],
    }  # fmt: skip
    next_day = DAY + dt.timedelta(days=1)
    second = pin(store, ranged, next_day)
    assert days(second) == {
        "2026-02-28": [2, 2], "2026-03-01": [3, 3, 91], "2026-03-02": [4, 4],
    }  # fmt: skip
    assert {f for f in first.files if f.day > "2026-02-27"} < set(second.files)
    warehouse.do(
        f"DELETE FROM {name} WHERE k = 3 AND v = 'a'",
        f"INSERT INTO {name} VALUES (94, 'x', '2026-02-28 09:00+00')",
    )
    third = pin(store, ranged, next_day)
    assert days(third) == {
        "2026-02-28": [2, 2, 94], "2026-03-01": [3, 91], "2026-03-02": [4, 4],
    }  # fmt: skip
    assert {file.day for file in set(second.files) & set(third.files)} == {
        "2026-02-28", "2026-03-02",
    }  # fmt: skip
    with pytest.raises(SourceChangedError, match="no longer there"):
        delivery(third, second)
    signed = replace(ranged, change="changelog")
    before = pin(store, signed)
    warehouse.do(f"DELETE FROM {name} WHERE k = 2 AND v = 'a'")
    after = pin(store, signed, next_day)
    assert {f for f in before.files if f.day > "2026-02-27"} < set(after.files)
    assert min(file.day for file in after.files) == "2026-02-28"
    gone = {file.day: rows((file,)) for file in set(after.files) - set(before.files)}
    assert [sum(counts.values()) for _, counts in sorted(gone.items())] == [-1, 2]


@pytest.mark.parametrize("slot", [False, True])
def test_rows_that_were_there_before_their_day_are_read(
    slot: bool, warehouse: Database, store: Store
) -> None:
    """A slot has told of them when they were none of a day that is read."""
    name = table(warehouse, "k bigint PRIMARY KEY, d date")
    more = {"slot": name, "key": ("k",)} if slot else {}
    ranged = source(
        name, columns={"k": "BIGINT", "d": "DATE"}, day_by="d", timezone="UTC",
        over=Trailing(days_back=2), change="changelog", **more,
    )  # fmt: skip
    if slot:
        warehouse.do(f"SELECT pg_create_logical_replication_slot('{name}', 'test_decoding')")
    try:
        warehouse.do(f"INSERT INTO {name} VALUES (1, '2026-03-01'), (2, '2026-03-02')")
        assert [k for k, _ in rows(pin(store, ranged))] == [1]
        warehouse.do(f"INSERT INTO {name} VALUES (3, '2026-03-02'), (4, '2026-03-03')")
        assert [k for k, _ in rows(pin(store, ranged))] == [1]
        next_day = DAY + dt.timedelta(days=1)
        assert sorted(k for k, _ in rows(pin(store, ranged, next_day))) == [1, 2, 3]
        warehouse.do(f"UPDATE {name} SET d = '2026-03-02' WHERE k = 4")
        assert sorted(k for k, _ in rows(pin(store, ranged, next_day))) == [1, 2, 3, 4]
    finally:
        if slot:
            warehouse.do(f"SELECT pg_drop_replication_slot('{name}')")


def test_views_and_names_that_want_quotes_are_read(warehouse: Database, store: Store) -> None:
    odd = '"Odd ""one"'
    warehouse.do(f"CREATE TABLE {odd} (k bigint, v text)", f"INSERT INTO {odd} VALUES (1, 'a')")
    warehouse.do(f"CREATE VIEW seen AS SELECT k * 2 AS k, v FROM {odd}")
    assert rows(pin(store, source("seen"))) == {(2, "a"): 1}
    with pytest.raises(SpecError):
        source('Odd "one')
    assert rows(pin(store, source('Odd%20"one'))) == {(1, "a"): 1}


def test_a_table_that_is_created_anew_is_another_one(warehouse: Database, store: Store) -> None:
    name = table(warehouse)
    before = pin(store, source(name))
    warehouse.do(f"DROP TABLE {name}", f"CREATE TABLE {name} (k bigint, v text)")
    with pytest.raises(SourceChangedError, match="another one"):
        same_table(pin(store, source(name)), before)


def test_what_is_not_there_is_said(
    warehouse: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourcePathError, match="there is no such table"):
        pin(store, source("nowhere"))
    with pytest.raises(SourceFileError, match="has no column x"):
        pin(store, source(table(warehouse), columns={"x": "INT"}))
    monkeypatch.setattr("forerun.include.machine.connections._KEPT_S", -1)
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", "postgres://" + "me:hidden@127.0.0.1:1/db")
    with pytest.raises(ServiceError, match="refused") as caught:
        pin(store, source("orders"))
    assert "hidden" not in f"{caught.value} {caught.value.hint}"
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", "mysql://host")
    with pytest.raises(ServiceError, match="of type mysql"):
        pin(store, source("orders"))


def test_what_has_no_meaning_for_a_table_is_refused() -> None:
    for more in (
        {"partitioned_by": ("v",)},
        {"complete_when": MarkerFile(name="done")},
        {"path": "postgresql://warehouse/public.t_{ds}"},
        {"where": "d = '{day}'"},
        {"lost_rows": "accept"},
        {"timezone": "UTC"},
        {"day_by": "v"},
        {"day_by": "d"},
        {"day_by": "at", "columns": AT, "format": "parquet", "path": "/lake/t"},
        {"day_by": "at", "columns": AT, "format": "delta", "path": "/lake/t/at={ds}"},
        {
            "day_by": "at",
            "columns": AT,
            "format": "delta",
            "path": "/lake/t",
            "complete_when": MarkerFile(name="done"),
        },
        {"day_by": "at", "columns": AT, "arrival": "static", "over": Monthly()},
        {"format": "parquet", "path": "/lake/t", "where": "k > 1"},
    ):
        named = {"name": "t", "path": "postgresql://warehouse/public.t", "format": "postgresql"}
        with pytest.raises(SpecError):
            SourceSpec(**named | {"columns": KV, "complete_when": ClockTime()} | more)
