"""Groups by pane and what merges them, against the row interpreter: the same rows as without."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from forerun.planner.algebra.relational import Aggregate, walk
from forerun.planner.algebra.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING
from forerun.planner.contract.plan_v1 import PANE_COLUMN
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.pane_groups import group_by_pane
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate

COLUMNS = (
    SourceColumn(name="k", type=BIGINT),
    SourceColumn(name="g", type=STRING),
    SourceColumn(name="n", type=INT),
    SourceColumn(name="x", type=DOUBLE),
    SourceColumn(name="b", type=BOOLEAN),
)
SOURCES = (
    *(Source(name=name, columns=COLUMNS, changing=True) for name in ("v", "w", "grows", "signed")),
    Source(name="still", columns=COLUMNS),
)
GROUPED = {
    "SELECT g, max(n) AS m, count(*) AS c, sum(n) AS s FROM v GROUP BY g": 1,
    "SELECT max(n) AS m, avg(x) AS a FROM v": 1,
    "SELECT g, min(x) FILTER (WHERE b) AS m FROM v WHERE k > 1 GROUP BY g HAVING max(n) > 0": 1,
    "SELECT v.g, max(v.n + w.n) AS m FROM v JOIN w ON v.k = w.k GROUP BY v.g": 2,
    "SELECT v.g, max(o.n) AS m FROM v JOIN grows o ON v.k = o.k GROUP BY v.g": 1,
    "SELECT v.g, max(o.n) AS m FROM v LEFT JOIN still o ON v.k = o.k GROUP BY v.g": 1,
    "SELECT g, max(n) AS m FROM v WHERE k IN (SELECT k FROM still) GROUP BY g": 1,
    "SELECT g, max(m) AS m FROM (SELECT g, k + 1 AS k, max(n) AS m FROM v GROUP BY g, k + 1) "
    "GROUP BY g": 1,
    "SELECT b, max(e) AS m FROM v LATERAL VIEW explode(array(n, 1)) t AS e GROUP BY b": 1,
}
LEFT_ALONE = (
    "SELECT g, sum(n) AS s, count(*) AS c FROM v GROUP BY g",
    "SELECT g, max(n) AS m FROM grows GROUP BY g",
    "SELECT g, max(n) AS m FROM signed GROUP BY g",
    "SELECT v.g, max(v.n) AS m FROM v JOIN signed ON v.k = signed.k GROUP BY v.g",
    "SELECT v.g, max(w.n) AS m FROM v LEFT JOIN w ON v.k = w.k GROUP BY v.g",
    "SELECT v.g, max(o.n) AS m FROM v LEFT JOIN grows o ON v.k = o.k GROUP BY v.g",
    "SELECT g, max(DISTINCT n) AS m, sum(DISTINCT n) AS s FROM v GROUP BY g",
    "SELECT g, max(n) AS m FROM v WHERE rand() < 0.5 GROUP BY g",
    "SELECT g, stddev(x) AS d FROM v GROUP BY g",
)


def rows(rng: random.Random) -> Inputs:
    days = [dt.date(2026, 3, day) for day in (1, 2, 3)]

    def table() -> SourceData:
        values = ([1, 2, None], ["a", "b", None], [-1, 2, 5, None], [0.5, 1.25, None], [True, None])
        made = [(*map(rng.choice, values), rng.choice(days)) for _ in range(rng.randrange(9))]
        return SourceData((*(column.name for column in COLUMNS), PANE_COLUMN), made)

    return Inputs({source.name: table() for source in SOURCES})


def plans(sql: str):
    query = read_query(sql, SOURCES)
    ids = ColumnIds(query.last_id)
    plain = normalize(query.relation, SOURCES, ids)
    growing = {source.name for source in SOURCES if source.changing}
    paned = {"v", "w"}
    grouped = group_by_pane(plain, ids, growing=growing, retracting={*paned, "signed"}, paned=paned)
    return plain, grouped


@pytest.mark.parametrize("sql", GROUPED)
def test_same_rows(sql: str) -> None:
    plain, grouped = plans(sql)
    assert grouped is not None
    assert grouped.columns == plain.columns
    by = [
        sum(key.name == PANE_COLUMN for key in node.keys)
        for node in walk(grouped)
        if isinstance(node, Aggregate)
    ]
    assert max(by) == GROUPED[sql]
    for seed in range(100):
        inputs = rows(random.Random(seed))
        compare_bags(evaluate(grouped, inputs), evaluate(plain, inputs))


@pytest.mark.parametrize("sql", LEFT_ALONE)
def test_left_alone(sql: str) -> None:
    assert plans(sql)[1] is None
