"""Random tables and how their rows arrive."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from tests.oracles.values import Row, Value
from tests.properties.cases import TableCase

COLUMNS = (
    ("k", "BIGINT"), ("g", "STRING"), ("n", "INT"), ("m", "DECIMAL(9,2)"), ("x", "DOUBLE"),
    ("d", "DATE"),
)  # fmt: skip
_DOUBLES = (0.0, -0.0, 1.5, -2.25, 3.0, 1024.5, float("nan"))
_MONEY = ("0.00", "1.10", "-2.35", "7.05", "99.99", "1.10")


def random_tables(rng: random.Random, count: int, runs: int) -> dict[str, TableCase]:
    """Tables t0, t1, ...; at least one grows during the day."""
    changing = [rng.random() < 0.7 for _ in range(count)]
    changing[rng.randrange(count)] = True
    correlated = rng.random() < 0.4
    salt = rng.randrange(1000)
    tables = {}
    for i in range(count):
        rows = random_rows(rng)
        parts: list[list[Row]] = [[] for _ in range(runs if changing[i] else 1)]
        empty = rng.randrange(len(parts)) if rng.random() < 0.3 and len(parts) > 1 else -1
        for row in rows:
            place = _together(row, salt) if correlated else rng.randrange(len(parts))
            place %= len(parts)
            parts[(place + 1) % len(parts) if place == empty else place].append(row)
        tables[f"t{i}"] = TableCase(COLUMNS, changing[i], tuple(map(tuple, parts)))
    return tables


def with_withdrawals(rng: random.Random, table: TableCase) -> TableCase:
    """The same table as a changelog: deliveries take back some of the rows that were there, and
    bring some of these again with another number, as updates do."""
    deliveries: list[tuple[Row, ...]] = []
    withdrawn: list[tuple[Row, ...]] = []
    there: list[Row] = []
    for delivery in table.deliveries:
        taken = rng.sample(there, min(len(there), rng.randint(0, 3)))
        again = [(*row[:2], rng.randint(-2, 6), *row[3:]) for row in taken if rng.random() < 0.5]
        for row in taken:
            there.pop(next(i for i, other in enumerate(there) if other is row))
        deliveries.append((*delivery, *again))
        withdrawn.append(tuple(taken))
        there += deliveries[-1]
    return replace(table, deliveries=tuple(deliveries), withdrawn=tuple(withdrawn))


def _together(row: Row, salt: int) -> int:
    """Rows with one key arrive together."""
    return ((row[0] or 0) * 31 + salt) % 7


def random_rows(rng: random.Random) -> list[Row]:
    """Small, so that keys meet and wrong answers show; NULLs, duplicates, a hot key are common."""
    size = rng.choice((0, 1, 4, 8, 8, 12, 12, 16))
    hot = rng.random() < 0.15
    nulls = rng.choice((0.0, 0.1, 0.3))
    keys = rng.choice((3, 6, 10))
    rows = [_row(rng, keys, nulls, hot=hot) for _ in range(size)]
    if rows and rng.random() < 0.5:
        rows += [rng.choice(rows) for _ in range(rng.randint(1, 3))]
    return rows


def _row(rng: random.Random, keys: int, nulls: float, *, hot: bool) -> Row:
    values: list[Value] = [
        1 if hot and rng.random() < 0.8 else rng.randrange(keys),
        rng.choice(("a", "b", "c", "", "ab")),
        rng.randint(-2, 6),
        Decimal(rng.choice(_MONEY)),
        rng.choice(_DOUBLES),
        date(2024, 1, 30) + timedelta(days=rng.randrange(4)),
    ]
    return tuple(None if rng.random() < nulls else value for value in values)


def in_deliveries(table: TableCase, count: int) -> TableCase:
    """The same table with at most so many deliveries: what would come after them comes with the
    last one."""
    if len(table.deliveries) <= count:
        return table
    last = tuple(row for part in table.deliveries[count - 1 :] for row in part)
    return replace(table, deliveries=(*table.deliveries[: count - 1], last))


def without_nan(table: TableCase) -> TableCase:
    """The same table with a number in place of every NaN."""
    return replace(
        table, deliveries=_numbers(table.deliveries), withdrawn=_numbers(table.withdrawn)
    )


def _numbers(parts: tuple[tuple[Row, ...], ...]) -> tuple[tuple[Row, ...], ...]:
    return tuple(
        tuple(tuple(7.5 if value != value else value for value in row) for row in part)
        for part in parts
    )
