"""Foreign keys have the values of the key that a query compares them with."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import BIGINT
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.containment import with_contained_keys


def table(name: str, rows: int, **bounds: tuple[int, int]) -> Source:
    return Source(
        name=name,
        columns=tuple(SourceColumn(name=c, type=BIGINT) for c in bounds),
        rows=rows,
        stats=tuple(
            (c, ColumnStats(minimum=str(low), maximum=str(high)))
            for c, (low, high) in bounds.items()
        ),
    )


ORDERS = table("orders", 1500, o_key=(1, 6000), o_cust=(1, 100))
LINES = table("lines", 6000, l_key=(1, 6000), l_n=(1, 7))
BEST = table("best", 10, b_cust=(7, 91))


def distinct(sql: str, *sources: Source) -> dict[str, float]:
    improved = with_contained_keys(read_query(sql, sources).relation, sources)
    return {
        column: stats.distinct
        for source in improved
        for column, stats in source.stats
        if stats.distinct
    }


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM orders JOIN lines ON o_key = l_key",
        "SELECT count(*) AS n FROM orders WHERE o_key IN (SELECT l_key FROM lines)",
        (
            "SELECT count(*) AS n FROM orders, (SELECT l_key AS k FROM lines GROUP BY l_key) AS x "
            "WHERE x.k = o_key"
        ),
    ],
)
def test_a_foreign_key_has_the_values_of_its_key(sql: str) -> None:
    assert distinct(sql, ORDERS, LINES) == {"l_key": 1500.0}


def test_a_table_of_some_of_the_keys_is_not_taken_for_all() -> None:
    assert distinct("SELECT 1 AS one FROM orders JOIN best ON o_cust = b_cust", ORDERS, BEST) == {}


def test_what_is_not_compared_stays() -> None:
    assert distinct("SELECT 1 AS one FROM orders JOIN lines ON o_key > l_key", ORDERS, LINES) == {}


def test_what_a_sketch_counted_stays() -> None:
    counted = ColumnStats(minimum="1", maximum="6000", distinct=1400.0)
    lines = Source(name="lines", columns=LINES.columns, rows=6000, stats=(("l_key", counted),))
    sql = "SELECT count(*) AS n FROM orders JOIN lines ON o_key = l_key"
    assert distinct(sql, ORDERS, lines) == {"l_key": 1400.0}
