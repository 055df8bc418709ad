"""Topics of Kafka: a day has each of its messages once, whatever the brokers delete meanwhile."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from forerun.include.reports.period import Trailing
from forerun.include.reports.sources.complete_when import ClockTime, MarkerFile
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.values.fields import SpecError
from forerun.include.sources.delivery import SourceChangedError, delivery, same_table, verify_pin
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.pins import pin_source
from forerun.include.sources.services.service_error import ServiceError
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.expire_pins import expire_spools
from forerun.include.state.records import Pin, PinnedFile
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.planner.contract import ColumnSpec
from tests.kafka_broker import Broker

DAY = dt.date(2026, 3, 1)
BEGIN = dt.datetime(2026, 3, 1, tzinfo=dt.UTC).timestamp()
HOUR = 3600
NOW = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)

K = ColumnSpec(name="k", type="BIGINT")
OBJECT = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
_NAMES = itertools.count(1)


def today() -> dt.date:
    """The day by the broker's clock: a test may be collected before midnight, and run after it."""
    return dt.datetime.now(dt.UTC).date()


def topic(broker: Broker, **more: Any) -> str:
    name = f"orders-{next(_NAMES)}"
    broker.create(name, **more)
    return name


def source(name: str, **more: Any) -> SourceSpec:
    wanted = {"columns": (K,), "complete_when": ClockTime(), "timezone": "UTC", "allow_empty": True}
    return SourceSpec(name="orders", path=f"kafka://shop/{name}", format="kafka", **wanted | more)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"))


def pin(store: Store, spec: SourceSpec, day: dt.date = DAY) -> Pin:
    return pin_source(store, spec, day, NOW)[1]


def rows(files: Pin | tuple[PinnedFile, ...], *columns: str) -> list[Any]:
    """The values of the pinned copies, in order."""
    found = files.files if isinstance(files, Pin) else files
    names = columns or ("k",)
    held = [row for f in found for row in pq.read_table(f.uri.removeprefix("file://")).to_pylist()]
    each = [tuple(row[name] for name in names) for row in held]
    return sorted((row[0] for row in each) if len(names) == 1 else each)


def test_each_pin_has_what_came_since_and_reads_the_rest_in_the_store(
    shop: Broker, store: Store
) -> None:
    name = topic(shop, partitions=3)
    for partition in range(3):
        shop.send(name, {"k": partition}, {"k": 10 + partition}, at=BEGIN, partition=partition)
    first = pin(store, source(name))
    assert rows(first) == [0, 1, 2, 10, 11, 12]
    shop.send(name, {"k": 99}, at=BEGIN + 1, partition=2)
    for partition in range(3):
        shop.delete_before(name, 2, partition)  # retention: nothing of the first pin is left
    second = pin(store, source(name))
    assert rows(delivery(second, first)) == [99]
    assert rows(second) == [0, 1, 2, 10, 11, 12, 99]
    same_table(second, first)
    verify_pin(second)
    assert pin(store, source(name)) == second, "nothing has come"


def test_messages_of_a_day_go_by_their_times_in_its_zone(shop: Broker, store: Store) -> None:
    name = topic(shop)
    for k, hours in enumerate([-20, -1, 0, 5, 22, 23, 24]):
        shop.send(name, {"k": k}, at=BEGIN + hours * HOUR)
    assert rows(pin(store, source(name))) == [2, 3, 4, 5]
    berlin = source(name, timezone="Europe/Berlin")  # its day begins an hour earlier
    assert rows(pin(store, berlin)) == [1, 2, 3, 4]
    assert rows(pin(store, source(name), DAY + dt.timedelta(days=1))) == [6]
    over = source(name, over=Trailing(days_back=2))
    assert rows(pin(store, over)) == [0, 1, 2, 3, 4, 5]


def test_each_message_is_of_one_day_though_times_go_back(shop: Broker, store: Store) -> None:
    name, found = topic(shop), []
    times = [-1, 1, 25, 3, 23, 49, 26, 2, 50, 80]
    for k, hours in enumerate(times):
        shop.send(name, {"k": k}, at=BEGIN + hours * HOUR)
    for day in range(-1, 4):
        found += rows(pin(store, source(name), DAY + dt.timedelta(days=day)))
    assert sorted(found) == list(range(len(times)))


def test_what_went_before_it_was_read_is_an_error(shop: Broker, store: Store) -> None:
    name = topic(shop)
    shop.send(name, {"k": 0}, {"k": 1}, {"k": 2}, at=dt.datetime.now(dt.UTC).timestamp())
    pin(store, source(name), today())
    shop.send(name, {"k": 3}, {"k": 4}, at=dt.datetime.now(dt.UTC).timestamp())
    shop.delete_before(name, 4)
    with pytest.raises(
        SourceChangedError, match="from offset 3 to 3 were deleted before"
    ) as caught:
        pin(store, source(name), today())
    assert "lost_rows" in caught.value.hint
    assert rows(pin(store, source(name, lost_rows="accept"), today())) == [0, 1, 2, 4]
    with pytest.raises(SourceChangedError, match="offset 4"):  # of who has not accepted it
        pin(store, source(name), today())


def test_a_first_message_of_the_day_with_deleted_ones_before_it_is_an_error(
    shop: Broker, store: Store
) -> None:
    name = topic(shop)
    shop.send(name, {"k": 0}, {"k": 1}, at=BEGIN + HOUR)
    shop.delete_before(name, 1)
    with pytest.raises(SourceChangedError, match="begins with offset 1, within the day"):
        pin(store, source(name))
    assert rows(pin(store, source(name, lost_rows="accept"))) == [1]
    known = topic(shop)
    for hours in (-30, -1, 1):
        shop.send(known, {"k": hours}, at=BEGIN + hours * HOUR)
    shop.delete_before(known, 1)
    assert rows(pin(store, source(known))) == [1], "one of the day before is left: none is missing"


def test_a_window_of_days_goes_on_from_that_of_the_day_before(shop: Broker, store: Store) -> None:
    """A topic that keeps a day's messages for a day, and a report over three days."""
    name, over = topic(shop, partitions=2), Trailing(days_back=3)
    spec, found = source(name, over=over), []
    for number in range(6):
        day, now = DAY + dt.timedelta(days=number), NOW + dt.timedelta(days=number)
        for hours in (1, 13, 23):
            begin = BEGIN + number * 24 * HOUR
            shop.send(name, {"k": 100 * number + hours}, at=begin + hours * HOUR)
            if hours == 13:
                pin_source(store, spec, day, now - dt.timedelta(hours=9))
        shop.delete_before(name, 3 * number)
        last = pin_source(store, spec, day, now)[1]
        found.append(rows(last))
    each = [[100 * number + hours for hours in (1, 13, 23)] for number in range(6)]
    windows = [each[max(0, number - 2) : number + 1] for number in range(6)]
    assert found == [[k for day in window for k in day] for window in windows]
    with pytest.raises(SourceChangedError, match="were deleted"):
        pin_source(store, source(name, over=Trailing(days_back=2)), day, NOW)


def test_a_past_day_whose_messages_are_gone_is_no_empty_day(shop: Broker, store: Store) -> None:
    name = topic(shop)
    shop.send(name, {"k": 0}, {"k": 1}, at=BEGIN + HOUR)
    shop.send(name, {"k": 2}, at=BEGIN + 30 * HOUR)
    for left in (2, 3):  # the message of the next day, and nothing
        shop.delete_before(name, left)
        with pytest.raises(SourceChangedError, match=f"begins with offset {left}"):
            pin(store, source(name))
    assert rows(pin(store, source(name, lost_rows="accept"))) == []


def test_a_quiet_partition_is_known_by_the_day_before(shop: Broker, store: Store) -> None:
    """What has come and gone long ago is nothing that the day has lost."""
    name = topic(shop, partitions=2)
    shop.send(name, {"k": 0}, {"k": 1}, at=BEGIN - 9 * 24 * HOUR)
    shop.send(name, {"k": 2}, at=BEGIN + HOUR, partition=1)
    pin(store, source(name), DAY - dt.timedelta(days=1))
    shop.delete_before(name, 2)
    assert rows(pin(store, source(name))) == [2]
    shop.send(name, {"k": 3}, at=BEGIN + 26 * HOUR)
    assert rows(pin(store, source(name), DAY + dt.timedelta(days=1))) == [3]
    shop.delete_before(name, 3)  # before the day after next has begun to be read: it may be its own
    shop.send(name, {"k": 4}, at=BEGIN + 50 * HOUR)
    assert rows(pin(store, source(name), DAY + dt.timedelta(days=2))) == [4]


def test_a_day_that_is_over_is_the_same_whatever_is_deleted_later(
    shop: Broker, store: Store
) -> None:
    name = topic(shop, partitions=2)
    shop.send(name, {"k": 0}, at=BEGIN + HOUR)
    done = pin(store, source(name))
    shop.send(name, {"k": 1}, {"k": 2}, {"k": 3}, at=BEGIN + 30 * HOUR)
    shop.send(name, {"k": 4}, at=BEGIN + 30 * HOUR, partition=1)
    assert pin(store, source(name)) == done
    shop.delete_before(name, 3)
    shop.delete_before(name, 1, partition=1)
    assert pin(store, source(name)) == done
    assert rows(done) == [0]


def test_late_messages_come_to_a_day_that_is_over(shop: Broker, store: Store) -> None:
    name = topic(shop)
    shop.send(name, {"k": 0}, at=BEGIN + HOUR)
    done = pin(store, source(name))
    shop.send(name, {"k": 1}, at=BEGIN + 2 * HOUR)
    late = pin(store, source(name))
    assert rows(delivery(late, done)) == [1]


def test_only_what_a_transaction_has_committed_is_read(shop: Broker, store: Store) -> None:
    name = topic(shop)
    writer = Producer({"bootstrap.servers": shop.address, "transactional.id": name})
    writer.init_transactions()
    found = []
    for k in range(4):
        writer.begin_transaction()
        writer.produce(name, b'{"k": %d}' % k)
        writer.flush()
        found.append(rows(pin(store, source(name), today())))
        (writer.abort_transaction if k == 1 else writer.commit_transaction)()
    found.append(rows(pin(store, source(name), today())))
    assert found == [[], [0], [0], [0, 2], [0, 2, 3]]


def test_a_topic_that_is_created_anew_is_another_one(shop: Broker, store: Store) -> None:
    name = topic(shop)
    shop.send(name, {"k": 0}, {"k": 1}, at=BEGIN)
    before = pin(store, source(name))
    shop.admin.delete_topics([name])[name].result()
    shop.create(name)
    shop.send(name, {"k": 7}, at=BEGIN)
    now = pin(store, source(name))
    assert rows(now) == [7]
    with pytest.raises(SourceChangedError, match="another one"):
        same_table(now, before)


def test_columns_of_the_message_itself(shop: Broker, store: Store) -> None:
    name = topic(shop, partitions=2)
    shop.send(name, {"k": 5}, at=BEGIN + 1.5, partition=1, key="a")
    shop.send(name, {"k": 6}, at=BEGIN + 1.5, partition=1)
    columns = (
        ColumnSpec(name="_offset", type="BIGINT"), K, ColumnSpec(name="_partition", type="INT"),
        ColumnSpec(name="_timestamp", type="TIMESTAMP"), ColumnSpec(name="_key", type="STRING"),
    )  # fmt: skip
    at = dt.datetime.fromtimestamp(BEGIN + 1.5, dt.UTC)
    found = pin(store, source(name, columns=columns))
    names = [column.name for column in columns]
    assert rows(found, *names) == [(0, 5, 1, at, "a"), (1, 6, 1, at, None)]
    wrong = (K, ColumnSpec(name="_offset", type="INT"))
    with pytest.raises(SourceFileError, match="_offset of a message is BIGINT, and declared INT"):
        pin(store, source(name, columns=wrong))


def test_a_column_that_is_declared_later_is_read_of_all_messages(
    shop: Broker, store: Store
) -> None:
    name = topic(shop)
    shop.send(name, {"k": 1, "v": 2}, at=BEGIN)
    ignoring = {"extra_columns": "ignore"}
    assert rows(pin(store, source(name, **ignoring))) == [1]
    shop.send(name, {"k": 3, "v": 4}, at=BEGIN)
    both = source(name, columns=(K, ColumnSpec(name="v", type="INT")), **ignoring)
    assert rows(pin(store, both), "k", "v") == [(1, 2), (3, 4)]
    assert rows(pin(store, source(name, **ignoring))) == [1, 3]
    shop.delete_before(name, 1)
    late = source(name, columns=(K, ColumnSpec(name="v", type="BIGINT")), **ignoring)
    with pytest.raises(SourceChangedError):
        pin(store, late)


def test_many_messages_are_read_in_parts(
    shop: Broker, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forerun.include.sources.services.kafka_format._ROWS", 1000)
    name = topic(shop)
    shop.send(name, *({"k": k} for k in range(25_000)), at=BEGIN, **{"linger.ms": 5})
    assert rows(pin(store, source(name))) == list(range(25_000))


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (b"", "offset 1: a message without a value"),
        (b"  ", "offset 1: a message without a value"),
        (b"\0\0\0\0\1{}", "offset 1: no JSON, but the mark of a schema registry"),
        (b"\0\0", "offset 1: a line that is no object"),
        (b'{"k": "x"}', "offset 1, column k BIGINT"),
        (b'{"k": 1}{"k": 2}', "offset 1: 2 objects in 1 lines"),
        (b"[1]", "offset 1: a line that is no object"),
        (b"null", "offset 1: a line that is no object"),
        (b'{"k": 1, "x": 2}', "offset 1: the key 'x' is not declared"),
        (b'{"k": 1, "\xff": 2}', "offset 1"),
    ],
)
def test_a_message_that_is_no_row_is_named(
    shop: Broker, store: Store, value: bytes, match: str
) -> None:
    name = topic(shop)
    shop.send(name, {"k": 0}, value, {"k": 2}, at=BEGIN)
    with pytest.raises(SourceFileError, match=match):
        pin(store, source(name))


def _with_registry(broker: Broker, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    settings = json.loads(broker.connection)
    settings["extra"] |= {"schema.registry.url": address, "schema.registry.max.retries": 0}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps(settings))


def _serialized(address: str, topic: str, schema: Schema, rows: Sequence[Any]) -> list[bytes]:
    """The values of rows, as a producer with a registry writes them."""
    client = SchemaRegistryClient({"url": address})
    serialize = AvroSerializer(client, schema)
    where = SerializationContext(topic, MessageField.VALUE)
    return [serialize(row, where) for row in rows]


def _row(*fields: tuple[str, Any], name: str = "row") -> str:
    listed = [{"name": name, "type": kind, "default": None} if "null" in kind else
              {"name": name, "type": kind} for name, kind in fields]  # fmt: skip
    return json.dumps({"type": "record", "name": name, "fields": listed})


@pytest.mark.slow
def test_messages_of_a_schema_registry(
    shop: Broker, registry: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two schemas, of which one refers to a third, and of JSON with and without a mark."""
    _with_registry(shop, monkeypatch, registry)
    name, client = topic(shop), SchemaRegistryClient({"url": registry})
    first = Schema(_row(("k", "long")), "AVRO")
    client.register_schema("money", Schema(_row(("cents", "int"), name="money"), "AVRO"))
    refers = [SchemaReference("money", "money", 1)]
    at = {"type": "long", "logicalType": "timestamp-millis"}
    later = Schema(
        _row(("k", "long"), ("p", ["null", "money"]), ("t", ["null", at])), "AVRO", refers
    )
    moment = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    as_json = client.register_schema(f"{name}-json", Schema(json.dumps(OBJECT), "JSON"))
    values = (
        *_serialized(registry, name, first, [{"k": 0}, {"k": 1}]),
        {"k": 2, "t": "2026-03-01T12:00:00Z"},
        *_serialized(registry, name, later, [{"k": 3, "p": {"cents": 5}, "t": moment}, {"k": 4}]),
        b"\0" + as_json.to_bytes(4) + b'{"k": 5}',
    )
    shop.send(name, *values, at=BEGIN)
    columns = [ColumnSpec(name=name, type=kind) for name, kind in (
        ("k", "BIGINT"), ("p", "STRUCT<cents: INT>"), ("t", "TIMESTAMP"), ("_offset", "BIGINT")
    )]  # fmt: skip
    spec = source(name, columns=tuple(columns))
    assert rows(pin(store, spec), "k", "_offset") == [(k, k) for k in range(6)]
    by_number = {row[0]: row[1:] for row in rows(pin(store, spec), "k", "p", "t")}
    assert by_number == {
        **dict.fromkeys((0, 1, 4, 5), (None, None)),
        2: (None, moment),
        3: ({"cents": 5}, moment),
    }


@pytest.mark.slow
def test_a_message_whose_schema_does_not_fit_is_named(
    shop: Broker, registry: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_registry(shop, monkeypatch, registry)
    client = SchemaRegistryClient({"url": registry})
    proto = 'syntax = "proto3"; message M { int64 k = 1; }'
    as_proto = client.register_schema("proto", Schema(proto, "PROTOBUF"))
    number = client.register_schema("whole", Schema(_row(("k", "long")), "AVRO"))
    text = client.register_schema("text", Schema(_row(("k", "string")), "AVRO"))
    for value, says in (
        (b"\0" + (10**6).to_bytes(4) + b"\2", "the schema 1000000 is not in the registry"),
        (b"\0" + as_proto.to_bytes(4) + b"\0\x08\1", "offset 1: a value of Protobuf"),
        (b"\0" + text.to_bytes(4) + b"\2a", "its schema has for k, declared BIGINT: string"),
        (b"\0" + number.to_bytes(4) + b"\2\2", "offset 1: 1 bytes more than a value"),
        (b"\0" + number.to_bytes(4), "offset 1: no value of its schema"),
    ):  # fmt: skip
        name = topic(shop)
        shop.send(name, {"k": 0}, value, {"k": 2}, at=BEGIN)
        with pytest.raises(SourceFileError, match=says):
            pin(store, source(name))


def test_a_registry_that_does_not_answer_is_said(
    shop: Broker, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = topic(shop)
    shop.send(name, b"\0\0\0\0\1\2", at=BEGIN)
    _with_registry(shop, monkeypatch, "http://127.0.0.1:1")
    with pytest.raises(ServiceError, match="the schema registry of the connection shop does not"):
        pin(store, source(name))
    _with_registry(shop, monkeypatch, "no address")
    with pytest.raises(ServiceError, match="the connection shop"):
        pin(store, source(name))


def test_line_breaks_in_a_message_are_space(shop: Broker, store: Store) -> None:
    name = topic(shop)
    shop.send(name, b'{\n "k":\r\n 1\n}\n', {"k": 2}, at=BEGIN)
    assert rows(pin(store, source(name))) == [1, 2]


def test_copies_go_when_no_pin_has_them(shop: Broker, store: Store, tmp_path: Path) -> None:
    name = topic(shop)
    shop.send(name, {"k": 0}, at=BEGIN)
    found = pin(store, source(name))
    monkey = pytest.MonkeyPatch()
    monkey.setattr("forerun.include.state.expire_pins.store_clock", lambda store: 1e11)
    assert expire_spools(store) == {}
    for file in (tmp_path / "store" / "sources").rglob("*.json"):
        file.unlink()
    assert list(expire_spools(store)) == [found.source]
    monkey.undo()


def test_what_is_not_there_is_said(
    shop: Broker, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourcePathError, match="there is no such topic"):
        pin(store, source("nowhere"))
    compacted = topic(shop, cleanup_policy="compact")
    with pytest.raises(SourcePathError, match="a compacted topic"):
        pin(store, source(compacted))
    monkeypatch.setattr("forerun.include.machine.connections._KEPT_S", -1)
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", '{"conn_type": "kafka"}')
    with pytest.raises(ServiceError, match=r"names no bootstrap\.servers"):
        pin(store, source("orders"))
    monkeypatch.setattr("forerun.include.sources.services.kafka_topic._TIMEOUT_S", 1.0)
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", "kafka://127.0.0.1:1")
    with pytest.raises(ServiceError, match="kafka://shop/orders"):
        pin(store, source("orders"))


def test_what_has_no_meaning_for_a_topic_is_refused() -> None:
    for more in (
        {"change": "changelog"},
        {"arrival": "static", "complete_when": None},
        {"partitioned_by": ("c",), "columns": (K, ColumnSpec(name="c", type="STRING"))},
        {"complete_when": MarkerFile(name="done")},
        {"path": "kafka://shop/orders-{ds}"},
        {"path": "/lake/orders"},
        {"path": "kafka://" + "user:secret@broker:9092/orders"},
        {"path": "kafka://shop/"},
    ):
        named = {"name": "orders", "path": "kafka://shop/orders", "format": "kafka"}
        usual = {"columns": (K,), "complete_when": ClockTime()}
        with pytest.raises(SpecError) as caught:
            SourceSpec(**named | usual | more)
        assert "secret" not in str(caught.value) + caught.value.hint
