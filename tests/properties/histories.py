"""Random relations that change: the rows they hold after each run and the signed deltas between."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from forerun.planner.algebra.relational import Scan
from forerun.planner.algebra.types import (
    BIGINT,
    DATE,
    DOUBLE,
    STRING,
    Column,
    ColumnId,
    decimal,
)
from forerun.planner.contract.plan_v1 import PANE_COLUMN
from tests.oracles.values import Row

KEY, GROUP, NUMBER, MONEY, REAL = "key", "grp", "number", "money", "real"
TYPES = {KEY: BIGINT, GROUP: STRING, NUMBER: BIGINT, MONEY: decimal(9, 2), REAL: DOUBLE}
# Dyadic fractions: sums of doubles are exact, so the laws hold to the bit.
REALS = (None, 0.0, -0.0, 1.5, -2.25, 3.0, 1.5, float("nan"))


def columns_of(first_id: int) -> tuple[Column, ...]:
    return tuple(Column(ColumnId(first_id + i), n, t) for i, (n, t) in enumerate(TYPES.items()))


def random_row(rng: random.Random) -> Row:
    """Few distinct values, so that keys meet, repeat and are NULL."""
    return (
        rng.choice((None, 1, 1, 1, 2, 3, 4)),
        rng.choice((None, "a", "b", "c")),
        rng.choice((None, -1, 0, 1, 2, 5)),
        rng.choice((None, Decimal("0.00"), Decimal("1.10"), Decimal("-2.35"), Decimal("7.05"))),
        rng.choice(REALS),
    )


@dataclass(frozen=True)
class History:
    """Deltas per run: rows with their signed multiplicity. Run 1 only adds."""

    source: str
    columns: tuple[Column, ...]
    deltas: list[list[tuple[Row, int]]]
    signed: bool
    changing: bool

    @property
    def scan(self) -> Scan:
        return Scan(self.source, self.columns)

    def rows(self, run: int) -> list[Row]:
        """What the relation holds after ``run``."""
        held: list[Row] = []
        for delta in self.deltas[:run]:
            for row, weight in delta:
                held.extend([row] * weight)
                for _ in range(-weight):
                    held.remove(row)
        return held


def random_history(
    rng: random.Random, source: str, first_id: int, runs: int, *, signed: bool, changing: bool
) -> History:
    """Empty deliveries, duplicates, pairs that cancel, and rows that come back are all likely."""
    deltas: list[list[tuple[Row, int]]] = []
    for run in range(runs):
        size = 0 if rng.random() < 0.2 or (run and not changing) else rng.randint(0, 5)
        delta = [(random_row(rng), 1) for _ in range(size)]
        if signed and run and changing:
            held = History(source, (), deltas, signed, changing).rows(run)
            gone = rng.sample(held, min(len(held), rng.randint(0, 3)))
            delta += [(row, -1) for row in gone]
            if gone and rng.random() < 0.3:
                delta.append((gone[0], 1))
            if rng.random() < 0.2:
                same = random_row(rng)
                delta += [(same, 1), (same, 2), (same, -3)]
            if rng.random() < 0.2:
                delta.append((random_row(rng), 2))
        deltas.append(delta)
    return History(source, columns_of(first_id), deltas, signed, changing)


def paned_history(rng: random.Random, source: str, first_id: int, runs: int) -> History:
    """Rows come to a pane that is new or still there; now and then one goes, with all its rows."""
    columns = (*columns_of(first_id), Column(ColumnId(first_id + len(TYPES)), PANE_COLUMN, DATE))
    deltas: list[list[tuple[Row, int]]] = []
    there: list[date] = []
    for run in range(runs):
        delta: list[tuple[Row, int]] = []
        if run and there and rng.random() < 0.7:
            gone = there.pop(0)
            held = History(source, (), deltas, True, True).rows(run)
            delta += [(row, -1) for row in held if row[-1] == gone]
        there.append(date(2026, 3, 1 + run))
        for _ in range(rng.randint(0, 5)):
            delta.append(((*random_row(rng), rng.choice(there)), rng.choice((1, 1, 1, 2))))
        deltas.append(delta)
    return History(source, columns, deltas, signed=True, changing=True)
