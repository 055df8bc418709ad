"""Replication slots: pins are what they are without a slot, and only the rows that it names are
compared."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from forerun.include.reports.sources.complete_when import ClockTime
from forerun.include.reports.sources.row_predicate import is_of_row_alone
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.values.fields import SpecError
from forerun.include.sources.delivery import delivery
from forerun.include.sources.listing import data_files
from forerun.include.sources.pins import _last_pin
from forerun.include.sources.services import postgresql_format, postgresql_slot
from forerun.include.sources.services.postgresql_slot import Mark, mark_of
from forerun.include.sources.services.service_error import ServiceError
from forerun.include.sources.unread import SourceChangedError, SourceFileError
from forerun.include.state.layout import source_id
from forerun.include.state.records import Pin
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from tests.include.sources.test_database_tables import (
    DAY,
    KV,
    NOW,
    money_moves,
    pin,
    rows,
    source,
)
from tests.postgresql_server import Database

_NAMES = itertools.count(1)
DAYS = 6
CREATE = "SELECT pg_create_logical_replication_slot('{slot}', 'test_decoding')"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"))


class Told(list[pa.Table | None]):
    """The keys of each look at the slot; None where all rows were compared."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    found, plain = Told(), postgresql_slot.changed

    def changed(*given: Any) -> Any:
        answer = plain(*given)
        found.append(answer.keys)
        return answer

    monkeypatch.setattr(postgresql_format, "changed", changed)
    return found


@pytest.fixture
def slot(warehouse: Database) -> Iterator[str]:
    name = f"slot_{next(_NAMES)}"
    create(warehouse, name)
    yield name
    warehouse.do(
        f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
        f"WHERE slot_name = '{name}'"
    )


def create(warehouse: Database, name: str, plugin: str = "test_decoding") -> None:
    warehouse.do(CREATE.format(slot=name).replace("test_decoding", plugin))


def table(warehouse: Database, columns: str = "k bigint PRIMARY KEY, v text") -> str:
    name = f"s{next(_NAMES)}"
    warehouse.do(f"CREATE TABLE {name} ({columns})")
    return name


def sloted(name: str, slot: str, **more: Any) -> SourceSpec:
    return source(name, **{"slot": slot, "key": ("k",), "change": "changelog"} | more)


def held(warehouse: Database, name: str, columns: str = "k, v") -> Counter[tuple[Any, ...]]:
    with warehouse.session() as session, session.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {name}")
        return Counter(cursor.fetchall())


def counts(told: Told) -> list[int | None]:
    return [None if keys is None else keys.num_rows for keys in told]


def test_only_the_rows_that_have_changed_are_compared(
    warehouse: Database, slot: str, store: Store, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    name = table(warehouse)
    spec = sloted(name, slot)
    warehouse.do(f"INSERT INTO {name} SELECT n, 'a' FROM generate_series(1, 500) n")
    first = pin(store, spec)
    assert rows(first) == held(warehouse, name)
    assert pin(store, spec) == first, "nothing has changed"
    warehouse.do(
        f"UPDATE {name} SET v = 'b' WHERE k = 7", f"DELETE FROM {name} WHERE k = 8",
        f"UPDATE {name} SET k = 900 WHERE k = 9", f"INSERT INTO {name} VALUES (901, NULL)",
        f"UPDATE {name} SET v = v WHERE k < 4", f"INSERT INTO {name} VALUES (902, 'gone')",
        f"DELETE FROM {name} WHERE k = 902",
    )  # fmt: skip
    second = pin(store, spec)
    assert +rows(second) == held(warehouse, name)
    assert len(second.files) == 2
    assert pin(store, spec) == second
    assert counts(told) == [None, 0, 9, 0]
    assert not caplog.records


def test_of_a_source_that_only_grows_rows_that_go_are_an_error(
    warehouse: Database, slot: str, store: Store, told: Told
) -> None:
    name = table(warehouse)
    spec = sloted(name, slot, change="append_only")
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    pin(store, spec)
    warehouse.do(f"INSERT INTO {name} VALUES (3, 'c')")
    before = pin(store, spec)
    assert rows(before) == held(warehouse, name)
    warehouse.do(f"UPDATE {name} SET v = 'x' WHERE k = 2")
    again = pin(store, spec)
    with pytest.raises(SourceChangedError, match="no longer there"):
        delivery(again, before)
    assert rows(again) == held(warehouse, name)
    assert counts(told) == [None, 1, 1]
    warehouse.do(f"INSERT INTO {name} VALUES (4, 'd')")
    assert rows(delivery(pin(store, spec), again)) == {(4, "d"): 1}


@pytest.mark.parametrize("seed", range(DAYS))
def test_whatever_transactions_do_pins_are_the_table(
    warehouse: Database, slot: str, store: Store, told: Told, seed: int
) -> None:
    """Several transactions are open at a time, write to the same table, and end in any order."""
    chance, name = random.Random(seed), table(warehouse)
    spec = sloted(name, slot, where="v <> 'hidden' OR v IS NULL")
    open_ = [warehouse.session() for _ in range(3)]
    for session in open_:
        session.autocommit = False
    for _ in range(40):
        session = chance.choice(open_)
        k, v = chance.randrange(6) + 10 * open_.index(session), chance.choice(
            ("'a'", "NULL", "'it''s [x]:1 new-tuple: k[bigint]:5'", "'hidden'")
        )  # fmt: skip
        free = f"NOT EXISTS (SELECT 1 FROM {name} WHERE k = {k} + 100)"
        do = chance.choice(
            (f"INSERT INTO {name} VALUES ({k}, {v}) ON CONFLICT DO NOTHING",
             f"UPDATE {name} SET v = {v} WHERE k = {k}", f"DELETE FROM {name} WHERE k = {k}",
             f"UPDATE {name} SET k = k + 100 WHERE k = {k} AND {free}", "SAVEPOINT s",
             "COMMIT", "ROLLBACK", "PIN", "PIN")
        )  # fmt: skip
        if do == "PIN":
            seen = held(warehouse, f"{name} WHERE v <> 'hidden' OR v IS NULL")
            assert +rows(pin(store, spec)) == seen
        elif do == "COMMIT":
            session.commit()
        elif do == "ROLLBACK":
            session.rollback()
        else:
            session.cursor().execute(do)
    for session in open_:
        session.commit()
        session.close()
    assert +rows(pin(store, spec)) == held(warehouse, f"{name} WHERE v <> 'hidden' OR v IS NULL")
    assert None not in told[1:], "the slot told of all"


def test_a_pin_sees_one_state(warehouse: Database, slot: str, store: Store, told: Told) -> None:
    name = table(warehouse, "k bigint PRIMARY KEY, v numeric(10,2)")
    columns = {"k": "BIGINT", "v": "DECIMAL(10,2)"}
    money_moves(warehouse, store, name, sloted(name, slot, columns=columns))
    assert None not in told[1:]


def test_what_commits_between_the_look_and_the_copy_is_compared_again(
    warehouse: Database, slot: str, store: Store, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of the first pin are read after its mark was taken."""
    name = table(warehouse)
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a')")
    plain = postgresql_format.changed

    def late(*given: Any) -> Any:
        found = plain(*given)
        warehouse.do(f"INSERT INTO {name} VALUES (2, 'b') ON CONFLICT DO NOTHING")
        return found

    monkeypatch.setattr(postgresql_format, "changed", late)
    spec = sloted(name, slot)
    first = pin(store, spec)
    assert rows(first) == {(1, "a"): 1, (2, "b"): 1}
    assert pin(store, spec) == first
    warehouse.do(f"UPDATE {name} SET v = 'c' WHERE k = 2")
    assert +rows(pin(store, spec)) == {(1, "a"): 1, (2, "c"): 1}
    assert counts(told) == [None, 1, 1]


def test_what_commits_between_the_state_and_the_look_is_not_forgotten(
    warehouse: Database, slot: str, store: Store, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that the slot has by then, and the state has not seen."""
    name, plain, late = table(warehouse), postgresql_slot._flush, itertools.count()
    spec = sloted(name, slot)

    def flush(uri: str) -> None:
        if next(late) == 1:
            warehouse.do(f"INSERT INTO {name} VALUES (2, 'b')")
        plain(uri)

    monkeypatch.setattr(postgresql_slot, "_flush", flush)
    pin(store, spec)
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a')")
    assert rows(pin(store, spec)) == {(1, "a"): 1}
    assert data_files(spec, DAY, _pinned_last(store, spec, DAY), NOW).raw
    assert rows(pin(store, spec)) == {(1, "a"): 1, (2, "b"): 1}
    assert counts(told) == [None, 2, 1, 1]


@pytest.mark.parametrize(
    ("kind", "declared", "values"),
    [
        ("text", "STRING", ("a", "it's", "a b", 'new-tuple: k[text]:"', "", "null", "x\ny", "[")),
        ("varchar(9)", "STRING", ("a", "ä", " a ", "\\")),
        ("uuid", "STRING", ("0b9f7f6e-5f0c-4f5e-9a63-8a2f6f0a1c11",)),
        ("smallint", "INT", (-5, 3)),
    ],
)
def test_keys_of_each_type(
    warehouse: Database, slot: str, store: Store, told: Told, kind: str, declared: str,
    values: Sequence[Any],
) -> None:  # fmt: skip
    key = 'PRIMARY KEY ("K ""k", "a[b]")'
    name = table(warehouse, f'"a[b]" int, "K ""k" {kind}, v text, b bit(3), {key}')
    columns = {'K "k': declared, "a[b]": "INT", "v": "STRING"}
    spec = sloted(name, slot, columns=columns, key=("a[b]", 'K "k'))
    with closing(warehouse.session()) as session:
        cursor = session.cursor()
        pin(store, spec)
        for number, value in enumerate(values):
            cursor.execute(f"INSERT INTO {name} VALUES (%s, %s, 'x', B'101')", (number, value))
        assert rows(pin(store, spec)) == {(v, n, "x"): 1 for n, v in enumerate(values)}
        cursor.execute(f"UPDATE {name} SET v = 'y'")
        assert +rows(pin(store, spec)) == {(v, n, "y"): 1 for n, v in enumerate(values)}
        cursor.execute(f"DELETE FROM {name}")
        assert not +rows(pin(store, spec))
    assert counts(told) == [None, *(len(values),) * 3]


def test_rows_whose_key_the_database_takes_for_another_one(
    warehouse: Database, slot: str, store: Store
) -> None:
    """By a collation that knows no case, one key finds the rows of two."""
    warehouse.do(
        "CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level2',"
        " deterministic = false)"
    )
    name = table(warehouse, "k text COLLATE blind, v text")
    warehouse.do(
        f"ALTER TABLE {name} REPLICA IDENTITY FULL", f"INSERT INTO {name} VALUES ('A', 'x')"
    )
    spec = sloted(name, slot, columns={"k": "STRING", "v": "STRING"})
    pin(store, spec)
    warehouse.do(f"INSERT INTO {name} VALUES ('a', 'y')")
    assert +rows(pin(store, spec)) == held(warehouse, name)


def test_a_key_that_is_not_unique_only_says_where_to_look(
    warehouse: Database, slot: str, store: Store, told: Told
) -> None:
    name = table(warehouse, "k bigint, v text")
    warehouse.do(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a'), (1, 'a'), (1, 'b'), (2, 'a')")
    spec = sloted(name, slot)
    pin(store, spec)
    warehouse.do(f"DELETE FROM {name} WHERE v = 'b'", f"INSERT INTO {name} VALUES (2, 'a')")
    assert +rows(pin(store, spec)) == {(1, "a"): 2, (2, "a"): 2}
    assert counts(told) == [None, 2]


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("TRUNCATE {table}", "altered"),
        ("ALTER TABLE {table} ALTER v TYPE text USING v || '!'", "altered"),
        ("ALTER TABLE {table} RENAME v TO w; ALTER TABLE {table} RENAME w TO v", "altered"),
        ("VACUUM FULL {table}", "altered"),
        ("SELECT pg_replication_slot_advance('{slot}', pg_current_wal_flush_lsn())", "moved"),
        (f"SELECT pg_drop_replication_slot('{{slot}}'); {CREATE}", "made anew"),
    ],
)  # fmt: skip
def test_where_a_slot_may_have_missed_something_all_rows_are_compared(
    warehouse: Database, slot: str, store: Store, told: Told, caplog: pytest.LogCaptureFixture,
    does: str, says: str,
) -> None:  # fmt: skip
    name = table(warehouse)
    spec = sloted(name, slot)
    warehouse.do(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    pin(store, spec)
    warehouse.do("SET synchronous_commit = on", f"INSERT INTO {name} VALUES (3, 'c')")
    warehouse.do(*(one.format(table=name, slot=slot) for one in does.split("; ")))
    assert +rows(pin(store, spec)) == held(warehouse, name)
    assert says in caplog.text
    warehouse.do(f"INSERT INTO {name} VALUES (4, 'd')")
    assert +rows(pin(store, spec)) == held(warehouse, name)
    assert counts(told) == [None, None, 1], "and then it tells again"


def test_a_slot_that_is_lost_is_said_and_done_without(
    warehouse: Database, slot: str, store: Store, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    name = table(warehouse)
    spec = sloted(name, slot)
    pin(store, spec)
    setting = "max_slot_wal_keep_size"
    warehouse.do(f"ALTER SYSTEM SET {setting} = '1MB'", "SELECT pg_reload_conf()")
    for number in range(3):
        warehouse.do(f"INSERT INTO {name} VALUES ({number}, 'a')", "SELECT pg_switch_wal()")
    warehouse.do("CHECKPOINT", f"ALTER SYSTEM RESET {setting}", "SELECT pg_reload_conf()")
    assert rows(pin(store, spec)) == held(warehouse, name)
    assert f"it is lost; SELECT pg_drop_replication_slot('{slot}')" in caplog.text
    assert counts(told) == [None, None]
    warehouse.do(f"SELECT pg_drop_replication_slot('{slot}')", CREATE.format(slot=slot))
    for number in range(3, 5):
        warehouse.do(f"INSERT INTO {name} VALUES ({number}, 'a')")
        assert rows(pin(store, spec)) == held(warehouse, name)
    assert counts(told) == [None, None, None, 1]


def test_a_predicate_is_read_by_the_clock_of_the_session(
    warehouse: Database, slot: str, store: Store, told: Told
) -> None:
    """The day of a moment is another one in another time zone, and no row has changed."""
    name = table(warehouse, "k bigint PRIMARY KEY, at timestamptz")
    columns = {"k": "BIGINT", "at": "TIMESTAMP"}
    spec = sloted(name, slot, columns=columns, where="at::date = '2026-03-01'")
    warehouse.do(f"INSERT INTO {name} VALUES (1, '2026-03-01 12:00Z'), (2, '2026-03-01 23:30Z')")
    warehouse.do("ALTER DATABASE postgres SET timezone = 'UTC'")
    assert sum(rows(pin(store, spec)).values()) == 2
    warehouse.do("ALTER DATABASE postgres SET timezone = 'Europe/Berlin'")
    try:
        assert [k for k, _ in +rows(pin(store, spec))] == [1]
    finally:
        warehouse.do("ALTER DATABASE postgres RESET timezone")
    assert counts(told) == [None, None]


def test_more_changes_than_a_slot_is_asked_for(
    warehouse: Database, slot: str, store: Store, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_slot, "_MOST", 3)
    name = table(warehouse)
    spec = sloted(name, slot)
    pin(store, spec)
    warehouse.do(f"INSERT INTO {name} SELECT n, 'a' FROM generate_series(1, 4) n")
    assert rows(pin(store, spec)) == held(warehouse, name)
    assert counts(told) == [None, None]


def test_a_key_that_is_null_is_looked_for_among_all(
    warehouse: Database, slot: str, store: Store, told: Told
) -> None:
    name = table(warehouse, "k bigint, v text")
    warehouse.do(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
    spec = sloted(name, slot)
    pin(store, spec)
    warehouse.do(f"INSERT INTO {name} VALUES (NULL, 'a')")
    assert rows(pin(store, spec)) == {(None, "a"): 1}
    assert counts(told) == [None, None]


def test_a_key_that_is_too_long_to_be_told_is_looked_for_among_all(
    warehouse: Database, slot: str, store: Store, told: Told
) -> None:
    """Of a value that lies apart from its row, a change of others does not tell it."""
    name = table(warehouse, "k text, v text")
    warehouse.do(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
    warehouse.do(f"ALTER TABLE {name} ALTER k SET STORAGE EXTERNAL")
    spec = sloted(name, slot, columns={"k": "STRING", "v": "STRING"})
    warehouse.do(f"INSERT INTO {name} VALUES (repeat('ab', 5000), 'x')")
    pin(store, spec)
    warehouse.do(f"UPDATE {name} SET v = 'y'")
    assert +rows(pin(store, spec)) == held(warehouse, name)
    assert counts(told) == [None, None]


def test_a_slot_forgets_what_was_pinned(
    warehouse: Database, slot: str, store: Store, told: Told
) -> None:
    """So that a server does not keep its log from the first day on; what was only looked at stays,
    since nobody has it yet."""
    name = table(warehouse)
    spec = sloted(name, slot)
    for number in range(6):
        day = DAY + dt.timedelta(days=number // 3)
        warehouse.do(f"INSERT INTO {name} VALUES ({number}, 'a')")
        for _ in range(2):
            assert data_files(spec, day, _pinned_last(store, spec, day), NOW).raw
        assert +rows(pin(store, spec, day)) == held(warehouse, name)
        with warehouse.session() as session, session.cursor() as cursor:
            cursor.execute(f"SELECT data FROM pg_logical_slot_peek_changes('{slot}', NULL, NULL)")
            assert len([data for data in cursor.fetchall() if "INSERT" in data[0]]) <= 1
    assert counts(told) == [None, None, None, 1, 1, 1, 1, 1, 1] * 2


def _pinned_last(store: Store, spec: SourceSpec, day: dt.date) -> Pin | None:
    name = source_id(spec.name, spec.pinned_as, spec.format)
    return _last_pin(store, name, day.isoformat())[0]


def test_what_no_slot_tells_is_said(warehouse: Database, slot: str, store: Store) -> None:
    name = table(warehouse)
    with pytest.raises(ServiceError, match="the slot nowhere is none of this database") as caught:
        pin(store, sloted(name, "nowhere"))
    assert "pg_create_logical_replication_slot('nowhere', 'test_decoding')" in caught.value.hint
    other = f"{slot}_other"
    create(warehouse, other, "pgoutput")
    with pytest.raises(ServiceError, match="is of the plugin pgoutput"):
        pin(store, sloted(name, other))
    warehouse.do(f"SELECT pg_drop_replication_slot('{other}')")
    for kind in ("CREATE VIEW {0}_x AS SELECT * FROM {0}", "CREATE UNLOGGED TABLE {0}_x (LIKE {0})",
                 "CREATE TABLE {0}_x (LIKE {0}) PARTITION BY LIST (k)"):  # fmt: skip
        warehouse.do(kind.format(name))
        with pytest.raises(SourceFileError, match="a slot does not tell the changes of a view"):
            pin(store, sloted(f"{name}_x", slot))
        warehouse.do(f"DROP {'VIEW' if 'VIEW' in kind else 'TABLE'} {name}_x")
    with pytest.raises(SourceFileError, match="v is not of the replica identity") as caught_key:
        pin(store, sloted(name, slot, key=("k", "v")))
    assert f'ALTER TABLE "public"."{name}" REPLICA IDENTITY FULL' in caught_key.value.hint
    dated = table(warehouse, "k date PRIMARY KEY, v text")
    with pytest.raises(SourceFileError, match="no whole number, text or UUID"):
        pin(store, sloted(dated, slot, columns={"k": "DATE", "v": "STRING"}))


def test_a_mark_is_read_as_it_was_written_and_numbers_go_round() -> None:
    running = frozenset({2**33 - 2, 2**33 + 1})
    mark = Mark("1A/FF00", "1A/FFA0", "ab12", 2**33 - 5, 2**33 + 2, running)
    assert mark_of(f"postgresql://w/public.t/abc#{mark}") == mark
    assert mark_of("postgresql://w/public.t/abc") is None
    low = 2**32
    seen = {-9: True, -5: True, -2: False, -1: True, 0: True, 1: False, 2: False, 9: False}
    assert {apart: mark.sees((2**33 + apart) % low) for apart in seen} == seen


@pytest.mark.parametrize(
    "text",
    ["day = '2026-03-01'", "a > 1 AND (b IN (1, 2) OR NOT c BETWEEN -1 AND 2.5)", "f IS NOT NULL",
     "e LIKE 'x%' AND f", "at::date = '2026-03-01'", "day >= DATE '2026-03-01'", "\"user\" = 'a'"],
)  # fmt: skip
def test_a_predicate_that_depends_on_the_row_alone(text: str) -> None:
    assert is_of_row_alone(text)


@pytest.mark.parametrize(
    "text",
    ["day = current_date", "at < now()", "day = 'today'", "day = DATE ' Today'", "a < localtime",
     "k IN (SELECT k FROM other)", "random() < 1", "f(k)", "k = 1; SELECT 2", "(", "", "a = user",
     "EXISTS (SELECT 1)", "k = 't'::regclass", "k = 'x'::mine", "xmax = 0", "a = current_role"],
)  # fmt: skip
def test_a_predicate_that_may_change_its_answer(text: str) -> None:
    assert not is_of_row_alone(text)


def test_what_has_no_meaning_with_a_slot_is_refused() -> None:
    for more in (
        {"key": ()},
        {"arrival": "static", "complete_when": None, "change": "append_only"},
        {"where": "day = current_date"},
        {"slot": "No Slot"},
    ):
        with pytest.raises(SpecError):
            sloted("t", **{"slot": "s"} | more)
    for kind, path in (("kafka", "kafka://shop/t"), ("parquet", "/lake/t")):
        with pytest.raises(SpecError, match="slot"):
            SourceSpec(name="t", path=path, format=kind, columns=KV, key=("k",), slot="s",
                       complete_when=ClockTime())  # fmt: skip
    assert sloted("t", "s", where="day = '{ds}'").slot == "s"
