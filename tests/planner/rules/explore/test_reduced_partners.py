"""Partners that are reduced first, against the row interpreter."""

from __future__ import annotations

import random

import pytest

from forerun.planner.algebra.relational import Join, JoinKind, walk
from forerun.planner.algebra.types import INT, STRING
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.reduced_partners import reduce_partners
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate

SOURCES = tuple(
    Source(
        name=name,
        columns=(
            SourceColumn(name="k", type=INT),
            SourceColumn(name="j", type=INT),
            SourceColumn(name="g", type=STRING),
        ),
        changing=True,
    )
    for name in ("l", "r")
)
FEW = "SELECT k, j, g FROM l WHERE g <> 'b' AND"
REDUCED = (
    f"{FEW} EXISTS (SELECT * FROM r WHERE r.k = l.k)",
    f"{FEW} NOT EXISTS (SELECT * FROM r WHERE r.k = l.k AND r.g = 'a')",
    f"{FEW} EXISTS (SELECT * FROM r WHERE r.k = l.k AND r.j <> l.j)",
    f"{FEW} NOT EXISTS (SELECT * FROM r WHERE r.k = l.k AND r.j = l.j)",
    f"{FEW} k IN (SELECT k FROM r)",
    f"{FEW} EXISTS (SELECT * FROM r WHERE r.k = l.k) AND j NOT IN (SELECT 5 FROM r WHERE g = 'a')",
)
KEPT = (
    "SELECT k FROM l WHERE EXISTS (SELECT * FROM r WHERE r.k = l.k)",  # all rows of L
    f"{FEW} EXISTS (SELECT * FROM r WHERE r.j > l.j)",
    "SELECT l.k FROM l JOIN r ON l.k = r.k WHERE l.g = 'a'",
)


def rows(rng: random.Random) -> Inputs:
    def table(most: int) -> list[tuple[object, ...]]:
        values = ([1, 2, 3, None], [4, 5, None], ["a", "b", None])
        return [tuple(map(rng.choice, values)) for _ in range(rng.randrange(most))]

    return Inputs({name: SourceData(("k", "j", "g"), table(8)) for name in ("l", "r")})


def plans(sql: str):
    query = read_query(sql, SOURCES)
    plain = normalize(query.relation, SOURCES, ColumnIds(query.last_id))
    return plain, reduce_partners(plain)


@pytest.mark.parametrize("sql", REDUCED)
def test_same_rows(sql: str) -> None:
    plain, reduced = plans(sql)
    assert reduced is not None
    assert reduced.columns == plain.columns
    semi = [n for n in walk(reduced) if isinstance(n, Join) and n.kind is JoinKind.SEMI]
    assert any({c.name for c in join.right.columns} <= {"k", "j"} for join in semi)
    for seed in range(100):
        inputs = rows(random.Random(seed))
        compare_bags(evaluate(plain, inputs), evaluate(reduced, inputs))


@pytest.mark.parametrize("sql", KEPT)
def test_not_reduced(sql: str) -> None:
    assert plans(sql)[1] is None
