"""AVG of decimals: the quotient of the kept sum and count is what the engine's own AVG gives."""

from __future__ import annotations

import random
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

TYPES = [(5, 0), (11, 0), (9, 2), (18, 2), (23, 2), (24, 2), (20, 8), (24, 3), (24, 20), (24, 24)]
REFUSED = [(18, 0), (38, 1), (25, 2), (38, 2), (25, 10), (38, 10), (38, 36)]


def compared(engine: Any, precision: int, scale: int) -> list[Any]:
    """The groups in which AVG of random values differs from our quotient."""
    given = (decimal(precision, scale),)
    total = Column(ColumnId(1), "s", sum_type(given))
    count = Column(ColumnId(2), "n", BIGINT)
    names = {total.id: SqlPiece("s", atomic=True), count.id: SqlPiece("n", atomic=True)}
    ours = scalar_sql(quotient(Ref(total), Ref(count), average_type(given)), names).text
    rng = random.Random(precision * 100 + scale)
    values = [
        f"({group}, '{rng.choice(('', '-'))}{rng.randrange(10 ** rng.randint(1, precision))}')"
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


@pytest.mark.parametrize(("precision", "scale"), TYPES + REFUSED)
def test_what_no_division_rounds_as_avg_is_not_kept(precision: int, scale: int) -> None:
    """AVG of these is computed by the engine's own AVG, over all rows of a group."""
    call = AggregateCall("avg", (Ref(Column(ColumnId(1), "x", decimal(precision, scale))),))
    found = partial_state(call, signed=False)
    refused = found if isinstance(found, Reason) else None
    assert refused == (Reason.AGGREGATE_FUNCTION if (precision, scale) in REFUSED else None)
