"""Joining groups where a semi join asked for some of them, against the row interpreter."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from forerun.planner.algebra.relational import Join, JoinKind, walk
from forerun.planner.algebra.types import INT, decimal
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.eager_aggregate import aggregate_eagerly
from forerun.planner.rules.explore.same_group import join_groups_once
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate


def table(name: str, *columns: str) -> Source:
    types = {"x": decimal(8, 2)}
    parsed = tuple(SourceColumn(name=c, type=types.get(c, INT)) for c in columns)
    return Source(name=name, columns=parsed, changing=True)


SOURCES = (table("c", "id", "a"), table("o", "k", "id"), table("l", "k", "x"))
LARGE = "(SELECT k FROM l GROUP BY k HAVING sum(x) > 3)"
JOINED = (
    (
        "SELECT a, o.k, sum(x) AS s FROM c, o, l WHERE o.k = l.k AND c.id = o.id "
        f"AND o.k IN {LARGE} GROUP BY a, o.k"
    ),
    f"SELECT o.k, sum(x) AS s FROM o JOIN l ON o.k = l.k WHERE o.k IN {LARGE} GROUP BY o.k",
)
LEFT_ALONE = (
    (
        "SELECT o.k, sum(x) AS s FROM o JOIN l ON o.k = l.k "  # another sum
        "WHERE o.k IN (SELECT k FROM l GROUP BY k HAVING count(x) > 1) GROUP BY o.k"
    ),
    (
        "SELECT o.k, sum(x) AS s FROM o JOIN l ON o.k = l.k "  # another column of o
        f"WHERE o.id IN {LARGE} GROUP BY o.k"
    ),
    (
        "SELECT o.k, sum(x) AS s FROM o JOIN l ON o.k = l.k "  # those that are not large
        f"WHERE NOT EXISTS (SELECT 1 FROM {LARGE} AS s WHERE s.k = o.k) GROUP BY o.k"
    ),
)


def plans(sql: str):
    query = read_query(sql, SOURCES)
    ids = ColumnIds(query.last_id)
    plain = normalize(query.relation, SOURCES, ids)
    eager = aggregate_eagerly(plain, ids)
    assert eager is not None
    return plain, eager, join_groups_once(eager)


def semi_joins(relation) -> int:
    return sum(isinstance(n, Join) and n.kind is JoinKind.SEMI for n in walk(relation))


def rows(rng: random.Random) -> Inputs:
    def some() -> object:
        return rng.choice([1, 2, 3, None])

    def many(most: int) -> list:
        return [(some(), some()) for _ in range(rng.randrange(most))]

    lines = [(k, None if x is None else Decimal(x)) for k, x in many(10)]
    return Inputs(
        {
            "c": SourceData(("id", "a"), many(5)),
            "o": SourceData(("k", "id"), many(6)),
            "l": SourceData(("k", "x"), lines),
        }
    )


@pytest.mark.parametrize("sql", JOINED)
def test_same_rows(sql: str) -> None:
    plain, _, once = plans(sql)
    assert semi_joins(plain) == 1
    assert semi_joins(once) == 0
    assert once.columns == plain.columns
    rng = random.Random(sql)
    some = 0
    for _ in range(60):
        inputs = rows(rng)
        wanted = evaluate(plain, inputs)
        some += bool(wanted)
        compare_bags(evaluate(once, inputs), wanted)
    assert some > 5, "the cases must have rows"


@pytest.mark.parametrize("sql", LEFT_ALONE)
def test_left_alone(sql: str) -> None:
    _, eager, once = plans(sql)
    assert once == eager
