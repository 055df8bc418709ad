"""The tables of a shop and its site that the queries are over: names, types, and how large they are
said to be. Orders, events, payments and readings come during the day."""

from __future__ import annotations

from collections.abc import Iterator

from forerun.planner.algebra.types import parse_type, split_type
from forerun.planner.request import ColumnStats, Source, SourceColumn

_TABLES: dict[str, tuple[bool, int, str]] = {
    "orders": (True, 20_000_000, """
        id:BIGINT!, customer_id:BIGINT~1000000, placed_at:TIMESTAMP~86000, status:STRING~6,
        channel:STRING~5, amount:DECIMAL(12,2)~9000, discount:DOUBLE~20, country:STRING~60,
        items:ARRAY<STRUCT<sku:STRING,qty:INT,price:DECIMAL(10,2)>>,
        address:STRUCT<city:STRING,zip:STRING,geo:STRUCT<lat:DOUBLE,lon:DOUBLE>>,
        tags:ARRAY<STRING>, attributes:MAP<STRING,STRING>"""),
    "customers": (False, 1_000_000, """
        id:BIGINT!, name:STRING, email:STRING, country:STRING~60, segment:STRING~12,
        created_at:TIMESTAMP"""),
    "events": (True, 100_000_000, """
        event_id:STRING~90000000, user_id:BIGINT~2000000, name:STRING~30, ts:TIMESTAMP~80000000,
        props:MAP<STRING,STRING>, device:STRUCT<os:STRING,version:STRING>,
        session_id:STRING~8000000, revenue:DOUBLE, page:STRING~4000, payload:STRING"""),
    "products": (False, 100_000, """
        sku:STRING!, name:STRING, category:STRING~300, price:DECIMAL(10,2)"""),
    "payments": (True, 20_000_000, """
        id:BIGINT!, order_id:BIGINT~15000000, paid_at:TIMESTAMP, method:STRING~6,
        amount:DECIMAL(12,2), status:STRING~4"""),
    "subscriptions": (False, 2_000_000, """
        user_id:BIGINT~1500000, plan:STRING~8, started_on:DATE, ended_on:DATE,
        mrr:DECIMAL(10,2)"""),
    "rates": (False, 10_000, "day:DATE, currency:STRING~30, rate:DOUBLE"),
    "bands": (False, 20, "name:STRING, low:DOUBLE, high:DOUBLE"),
    "readings": (True, 50_000_000, """
        sensor:STRING~2000, at:TIMESTAMP~86000, value:DOUBLE~40000, quality:INT~10"""),
}  # fmt: skip
"""By name: whether it grows, its rows, and its columns. ``!`` marks a column that is a key; after a
``~`` stands how many values it has."""


def _columns(text: str) -> Iterator[tuple[str, str, bool, float]]:
    _, parts = split_type(f"STRUCT<{text}>")
    for part in parts:
        name, _, rest = part.strip().partition(":")
        type_, _, distinct = rest.partition("~")
        yield name, type_.rstrip("!"), type_.endswith("!"), float(distinct or 0)


def _source(name: str, growing: bool, rows: int, text: str) -> Source:
    columns = tuple(_columns(text))
    return Source(
        name=name,
        columns=tuple(
            SourceColumn(name=column, type=parse_type(type_), nullable=not is_key)
            for column, type_, is_key, _ in columns
        ),
        changing=growing,
        rows=rows,
        bytes=100 * rows,
        keys=tuple((column,) for column, _, is_key, _ in columns if is_key),
        stats=tuple(
            (column, ColumnStats(distinct=distinct))
            for column, _, _, distinct in columns
            if distinct
        ),
    )


SOURCES = tuple(_source(name, *table) for name, table in _TABLES.items())
