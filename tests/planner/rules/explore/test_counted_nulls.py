"""NOT IN by counts of NULLs, against the row interpreter."""

from __future__ import annotations

import random

import pytest

from forerun.planner.algebra.predicates import null_aware_pair, split_condition
from forerun.planner.algebra.relational import Join, JoinKind, walk
from forerun.planner.algebra.types import BIGINT, INT, STRING
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.counted_nulls import count_nulls
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate

SOURCES = tuple(
    Source(
        name=name,
        columns=(
            SourceColumn(name="k", type=type_),
            SourceColumn(name="j", type=INT, nullable=False),
            SourceColumn(name="g", type=STRING),
        ),
        changing=True,
    )
    for name, type_ in (("l", INT), ("r", BIGINT))
)
COUNTED = (
    "SELECT k, j, g FROM l WHERE k NOT IN (SELECT k FROM r)",
    "SELECT k, g FROM l WHERE j NOT IN (SELECT k FROM r WHERE g = 'a')",
    "SELECT k, g FROM l WHERE k NOT IN (SELECT j FROM r WHERE g = 'a')",
    "SELECT g, count(*) AS n FROM l WHERE NOT nullif(k, 2) IN (SELECT k FROM r) GROUP BY g",
    "SELECT k FROM l WHERE k NOT IN (SELECT k FROM r WHERE g = 'a') AND j NOT IN (SELECT k FROM r)",
    "SELECT k, g FROM l WHERE (k, g) NOT IN (SELECT k, g FROM r)",
    "SELECT k, g FROM l WHERE (g, k) NOT IN (SELECT g, k FROM r WHERE g = 'a')",
    "SELECT k, j FROM l WHERE (k, g, nullif(j, 3)) NOT IN (SELECT k, g, nullif(j, 2) FROM r)",
    "SELECT g FROM l WHERE k NOT IN (SELECT max(k) FROM r GROUP BY g HAVING count(*) > 1)",
)
LEFT_ALONE = (
    "SELECT j FROM l WHERE j NOT IN (SELECT j FROM r)",  # neither side is ever NULL
    "SELECT k FROM l WHERE k NOT IN (SELECT k FROM r WHERE r.j = l.j)",
    "SELECT k FROM l WHERE (k, j) NOT IN (SELECT k, j FROM r)",  # the second is an equality
    "SELECT k FROM l WHERE 10 / j NOT IN (SELECT k FROM r)",  # fails where r has a row
    "SELECT k FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
    "SELECT k FROM l WHERE k NOT IN (SELECT k FROM r WHERE rand() < 0.5)",  # of two readings
)


def rows(rng: random.Random) -> Inputs:
    """Tables in which NULLs are rare enough that NOT IN lets rows pass."""

    def table(most: int) -> list[tuple[object, ...]]:
        keys = [1, 2, 3, 4, None] if rng.random() < 0.4 else [1, 2, 3, 4]
        values = (keys, [2, 3], ["a", "b", None])
        return [tuple(map(rng.choice, values)) for _ in range(rng.randrange(most))]

    return Inputs(
        {"l": SourceData(("k", "j", "g"), table(8)), "r": SourceData(("k", "j", "g"), table(4))}
    )


def plans(sql: str, growing: frozenset[str] = frozenset({"r"})):
    query = read_query(sql, SOURCES)
    ids = ColumnIds(query.last_id)
    plain = normalize(query.relation, SOURCES, ids)
    return plain, count_nulls(plain, ids, growing)


@pytest.mark.parametrize("sql", COUNTED)
def test_same_rows(sql: str) -> None:
    plain, counted = plans(sql)
    assert counted is not None
    assert counted.columns == plain.columns
    anti = [n for n in walk(counted) if isinstance(n, Join) and n.kind is JoinKind.ANTI]
    assert all(split_condition(join).pairs and null_aware_pair(join) is None for join in anti)
    some = none = 0
    for seed in range(300):
        inputs = rows(random.Random(seed))
        wanted = evaluate(plain, inputs)
        some, none = some + bool(wanted), none + (not wanted and bool(inputs.sources["l"].rows))
        compare_bags(evaluate(counted, inputs), wanted)
    assert min(some, none) > 20, "NULLs must decide some cases and not all"


@pytest.mark.parametrize("sql", LEFT_ALONE)
def test_left_alone(sql: str) -> None:
    assert plans(sql)[1] is None


def test_a_subquery_over_what_is_there_stays() -> None:
    assert plans(COUNTED[0], frozenset({"l"}))[1] is None
