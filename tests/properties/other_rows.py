"""The tables of a case with other rows: another history of one query, for which its plans hold.

A plan goes by the query, by what is declared and by statistics, and of a generated case these are
the same whatever its rows are. So one query that was planned is tried on many histories.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from decimal import Decimal

from tests.oracles.values import Row, Value
from tests.properties.cases import Case, TableCase
from tests.properties.data import random_rows, with_withdrawals, without_nan

_LIMITS: dict[str, tuple[Value, ...]] = {
    "k": (2**63 - 1, -(2**63), 2**62),
    "n": (2**31 - 1, -(2**31)),
    "m": (Decimal("9999999.99"), Decimal("-9999999.99")),
    "d": (date(1, 1, 1), date(9999, 12, 30)),
    "g": ("z" * 300, "ä\u0000b", "A ", "\U0001f600"),
}


def other_rows(case: Case, seed: int, *, limits: bool = False, nan: bool = True) -> Case:
    """Return the case with other rows that arrive otherwise; with ``limits`` some of their values
    are at the limits of their types, without ``nan`` no double is NaN. The shape of the tables
    (which grow, which take rows back, how many deliveries there are) stays."""
    rng = random.Random(f"rows-{case.name}-{seed}")
    tables = {}
    for name, table in case.tables.items():
        drawn = _table(rng, table, limits=limits)
        tables[name] = drawn if nan else without_nan(drawn)
    return replace(case, name=f"{case.name}-rows-{seed}", tables=tables)


def _table(rng: random.Random, table: TableCase, *, limits: bool) -> TableCase:
    rows = random_rows(rng)
    if limits:
        names = [name for name, _ in table.columns]
        rows = [_at_limits(rng, names, row) for row in rows]
    parts: list[list[Row]] = [[] for _ in table.deliveries]
    open_parts = [part for part in parts if rng.random() < 0.8] or parts[-1:]
    late = rng.random() < 0.2
    for row in rows:
        (parts[-1] if late and rng.random() < 0.7 else rng.choice(open_parts)).append(row)
    drawn = replace(table, deliveries=tuple(map(tuple, parts)), withdrawn=())
    return with_withdrawals(rng, drawn) if table.withdrawn else drawn


def _at_limits(rng: random.Random, names: list[str], row: Row) -> Row:
    return tuple(
        rng.choice(_LIMITS[name]) if name in _LIMITS and rng.random() < 0.08 else value
        for name, value in zip(names, row, strict=True)
    )
