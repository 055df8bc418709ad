"""AVG of decimals: the quotient of the kept sum and count is what the engine's own AVG gives."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from forerun.planner.algebra.aggregates.functions import partial_state
from forerun.planner.algebra.aggregates.states import quotient
from forerun.planner.algebra.aggregates.types import average_type, sum_type
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import BIGINT, Column, ColumnId, decimal
from forerun.planner.errors import Reason
from forerun.planner.sql.printing.scalar_sql import SqlPiece, scalar_sql
from tests.properties.sessions import sail_session, spark_session

TYPES = [
    (5, 0), (11, 0), (12, 1), (9, 2), (18, 2), (23, 2), (24, 2), (20, 8), (24, 3), (24, 20),
    (24, 24), (18, 0), (22, 1), (38, 0), (38, 1), (25, 2), (38, 2), (25, 10), (38, 10), (38, 18),
    (38, 22),
]  # fmt: skip
REFUSED = [(38, 23), (38, 36), (38, 38)]


def most_digits(precision: int, scale: int) -> int:
    """How many digits before the point a quotient has room for: one less than AVG of wide types."""
    return min(37 - average_type((decimal(precision, scale),)).scale, 32)


def compared(engine: Any, precision: int, scale: int) -> list[Any]:
    """The groups in which AVG of random values differs from our quotient."""
    given = (decimal(precision, scale),)
    total = Column(ColumnId(1), "s", sum_type(given))
    count = Column(ColumnId(2), "n", BIGINT)
    names = {total.id: SqlPiece("s", atomic=True), count.id: SqlPiece("n", atomic=True)}
    ours = scalar_sql(quotient(Ref(total), Ref(count), average_type(given)), names).text
    rng = random.Random(precision * 100 + scale)
    digits = min(precision, scale + most_digits(precision, scale), 36)  # 13 add up to 38
    values = [
        f"({group}, '{rng.choice(('', '-'))}{rng.randrange(10 ** rng.randint(1, digits))}')"
        for group in range(120)
        for _ in range(rng.choice((3, 7, 11, 13)))
    ]
    shift = f"CAST(1E{-scale} AS DECIMAL({scale + 1}, {scale}))" if scale else "1BD"
    text = f"CAST(CAST(v AS DECIMAL({precision}, 0)) * {shift} AS {given[0].sql})"
    rows = f"SELECT g, {text} AS x FROM VALUES {', '.join(values)} t(g, v)"
    sums = f"SELECT g, sum(x) AS s, count(x) AS n, avg(x) AS a FROM ({rows}) GROUP BY g"
    frame = engine.sql(f"SELECT a, {ours} AS q FROM ({sums})")
    assert frame.schema["q"].dataType == frame.schema["a"].dataType
    return [row for row in frame.collect() if row.a != row.q]


@pytest.mark.parametrize(("precision", "scale"), TYPES)
def test_the_quotient_is_the_average_on_sail(precision: int, scale: int) -> None:
    assert compared(sail_session(), precision, scale) == []


@pytest.mark.spark
@pytest.mark.parametrize(("precision", "scale"), TYPES)
def test_the_quotient_is_the_average_on_spark(precision: int, scale: int) -> None:
    assert compared(spark_session(), precision, scale) == []


def rounded_wrong(engine: Any, precision: int, scale: int) -> list[Any]:
    """The sums of many rows whose quotient is not rounded half up: they lie right on the middle
    between two values of AVG's scale, or next to it."""
    given = (decimal(precision, scale),)
    kept, result = sum_type(given), average_type(given)
    total, count = Column(ColumnId(1), "s", kept), Column(ColumnId(2), "n", BIGINT)
    names = {total.id: SqlPiece("s", atomic=True), count.id: SqlPiece("n", atomic=True)}
    ours = scalar_sql(quotient(Ref(total), Ref(count), result), names).text
    rng = random.Random(precision * 100 + scale)
    unit, digits, pairs = 10**scale, most_digits(precision, scale), []
    for n in (3, 8, 64, 7 * 10**5, 10**8 + 7, 10**11, 10**12 - 1, 10**12 - 11):
        for _ in range(12):
            steps = rng.randrange(10 ** rng.randint(1, result.scale + min(12, digits)))
            near = int(Fraction(2 * steps + 1, 2 * 10**result.scale) * n * unit)
            near += rng.choice((-1, 0, 0, 1))
            if near < 10**kept.precision and near // n < 10 ** (precision - 1):
                pairs.append((rng.choice((-1, 1)) * near, n))
    values = ", ".join(f"('{_shown(near, scale)}', {n}L)" for near, n in pairs)
    text = f"SELECT CAST(s AS {kept.sql}) AS s, n FROM VALUES {values} t(s, n)"
    return [
        (row.s, row.n, row.q)
        for row in engine.sql(f"SELECT s, n, {ours} AS q FROM ({text})").collect()
        if Fraction(row.q) != _half_up(Fraction(row.s) / row.n, 10**result.scale)
    ]


def _shown(units: int, scale: int) -> str:
    """A number of the smallest units of a scale, whatever the precision of Python's context."""
    digits = str(abs(units)).rjust(scale + 1, "0")
    whole, part = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return f"{'-' if units < 0 else ''}{whole}.{part}" if scale else str(units)


def _half_up(value: Fraction, steps: int) -> Fraction:
    size = Fraction(int(abs(value) * steps + Fraction(1, 2)), steps)
    return size if value >= 0 else -size


@pytest.mark.spark
@pytest.mark.parametrize(("precision", "scale"), TYPES)
def test_quotients_close_to_the_middle(precision: int, scale: int) -> None:
    """(Sail cuts quotients off where AVG rounds, and so does its AVG.)"""
    assert rounded_wrong(spark_session(), precision, scale) == []


@pytest.mark.parametrize(("precision", "scale"), TYPES + REFUSED)
def test_what_no_division_rounds_as_avg_is_not_kept(precision: int, scale: int) -> None:
    """AVG of these is computed by the engine's own AVG, over all rows of a group."""
    call = AggregateCall("avg", (Ref(Column(ColumnId(1), "x", decimal(precision, scale))),))
    found = partial_state(call, signed=False)
    refused = found if isinstance(found, Reason) else None
    assert refused == (Reason.AGGREGATE_FUNCTION if (precision, scale) in REFUSED else None)
