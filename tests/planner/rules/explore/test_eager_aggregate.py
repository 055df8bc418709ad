"""Eager aggregation against the row interpreter, on random rows with NULL keys and duplicates."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from forerun.planner.algebra.types import BIGINT, INT, STRING, decimal
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.eager_aggregate import aggregate_eagerly
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate

SOURCES = (
    Source(
        name="l",
        columns=(SourceColumn(name="k", type=INT), SourceColumn(name="g", type=STRING)),
        changing=True,
    ),
    Source(
        name="r",
        columns=(
            SourceColumn(name="k", type=INT),
            SourceColumn(name="x", type=decimal(8, 2)),
            SourceColumn(name="h", type=STRING),
            SourceColumn(name="n", type=BIGINT),
        ),
        changing=True,
    ),
)
PUSHED = (
    "SELECT l.k, count(r.x) AS c FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.k",
    "SELECT g, sum(x) AS s, min(x) AS a, max(n) AS b FROM l JOIN r ON l.k = r.k GROUP BY g",
    "SELECT g, h, count(x) AS c, sum(x) AS s FROM l LEFT JOIN r ON l.k = r.k GROUP BY g, h",
    "SELECT count(x) AS c, sum(x) AS s FROM l JOIN r ON l.k = r.k",
    "SELECT h, max(g) AS m FROM l JOIN r ON l.k = r.k GROUP BY h",
    "SELECT g, sum(coalesce(x, 0)) AS s FROM l JOIN r ON l.k = r.k GROUP BY g",
    "SELECT l.k, sum(n) AS s FROM l JOIN r ON l.k = r.k GROUP BY l.k",
    "SELECT g, sum(CASE WHEN h = 'u' THEN n ELSE 3 END) AS s FROM l JOIN r ON l.k = r.k GROUP BY g",
    "SELECT l.k, max(g) AS m, count(g) AS c FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.k",
    "SELECT h, sum(l.k) AS s, count(g) AS c FROM l LEFT JOIN r ON l.k = r.k GROUP BY h",
    "SELECT g, sum(x * x) AS s, count(*) AS c FROM l LEFT JOIN r ON l.k = r.k GROUP BY g",
)
KEPT = (
    "SELECT l.k, count(DISTINCT x) AS c FROM l JOIN r ON l.k = r.k GROUP BY l.k",
    # One row of each key: it is a group.
    "SELECT h, sum(c) s FROM r JOIN (SELECT k, max(1) c FROM l GROUP BY k) USING (k) GROUP BY h",
    "SELECT l.k, sum(x) AS s FROM l LEFT JOIN r ON l.k = r.k AND g < h GROUP BY l.k",
    "SELECT l.k, avg(x) AS a FROM l JOIN r ON l.k = r.k GROUP BY l.k",
    "SELECT h, count(*) AS c FROM l JOIN r ON l.k = r.k GROUP BY h",  # of no one side
    # Not NULL in a left row without a partner, so the row counts.
    "SELECT g, sum(coalesce(x, 0)) AS s FROM l LEFT JOIN r ON l.k = r.k GROUP BY g",
    "SELECT g, min(CASE WHEN x IS NULL THEN n END) AS m FROM l LEFT JOIN r ON l.k = r.k GROUP BY g",
    "SELECT g, count(x IS NULL) AS c FROM l LEFT JOIN r ON l.k = r.k GROUP BY g",
)


def rows(rng: random.Random) -> Inputs:
    def some(values: list) -> object:
        return rng.choice([*values, None])

    left = [(some([1, 2, 3]), some(["a", "b"])) for _ in range(rng.randrange(7))]
    right = [
        (some([1, 2, 4]), some([Decimal("1.50"), Decimal("-2.25")]), some(["u", "v"]), some([7, 8]))
        for _ in range(rng.randrange(9))
    ]
    return Inputs(
        {
            "l": SourceData(("k", "g"), left),
            "r": SourceData(("k", "x", "h", "n"), right),
        }
    )


def plans(sql: str):
    query = read_query(sql, SOURCES)
    ids = ColumnIds(query.last_id)
    plain = normalize(query.relation, SOURCES, ids)
    return plain, aggregate_eagerly(plain, ids)


@pytest.mark.parametrize("sql", PUSHED)
def test_same_rows(sql: str) -> None:
    plain, eager = plans(sql)
    assert eager is not None
    assert [(c.id, c.type) for c in eager.columns] == [(c.id, c.type) for c in plain.columns]
    for seed in range(60):
        inputs = rows(random.Random(seed))
        compare_bags(evaluate(plain, inputs), evaluate(eager, inputs))


@pytest.mark.parametrize("sql", KEPT)
def test_not_pushed(sql: str) -> None:
    _, eager = plans(sql)
    assert eager is None
