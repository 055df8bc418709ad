"""What gives the same rows when it is computed once more."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import fold
from forerun.planner.algebra.types import parse_type
from forerun.planner.props.repeatable import Repeats, of_node
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query

TABLE = Source(
    name="t",
    columns=tuple(
        SourceColumn(name=n, type=parse_type(t))
        for n, t in (("k", "bigint"), ("n", "int"), ("x", "double"), ("m", "decimal(9,2)"))
    ),
)
EXAMPLES = {
    "SELECT k, x + 1 AS y FROM t WHERE x > 2": Repeats.ALWAYS,
    "SELECT k, sum(m) AS s, avg(n) AS a, max(x) AS hi, count(DISTINCT x) AS c FROM t GROUP BY k":
        Repeats.ALWAYS,
    "SELECT k, sum(x) AS s FROM t GROUP BY k": Repeats.ROUNDED,
    "SELECT avg(x) AS s FROM t": Repeats.ROUNDED,
    "SELECT k, stddev(n) AS s FROM t GROUP BY k": Repeats.ROUNDED,
    "SELECT k, first(n) AS s FROM t GROUP BY k": Repeats.CHOSEN,
    "SELECT k, collect_list(n) AS s FROM t GROUP BY k": Repeats.CHOSEN,
    "SELECT k FROM t ORDER BY k": Repeats.ALWAYS,
    "SELECT k, n FROM t ORDER BY k LIMIT 3": Repeats.CHOSEN,
    "SELECT k, n FROM t ORDER BY n, k LIMIT 3": Repeats.ALWAYS,
    "SELECT k FROM t LIMIT 3": Repeats.CHOSEN,
    "SELECT k, rank() OVER (PARTITION BY n ORDER BY m) AS r FROM t": Repeats.ALWAYS,
    "SELECT k, row_number() OVER (PARTITION BY n ORDER BY m) AS r FROM t": Repeats.CHOSEN,
    "SELECT k, sum(m) OVER (PARTITION BY n ORDER BY m) AS r FROM t": Repeats.ALWAYS,
    "SELECT k, sum(m) OVER (ORDER BY m ROWS 2 PRECEDING) AS r FROM t": Repeats.CHOSEN,
    "SELECT k, sum(x) OVER (PARTITION BY n) AS r FROM t": Repeats.ROUNDED,
    "SELECT t.k FROM t JOIN (SELECT k, sum(x) AS s FROM t GROUP BY k) q ON t.k = q.k":
        Repeats.ROUNDED,
    "SELECT t.k FROM t WHERE k IN (SELECT first(k) FROM t GROUP BY n)": Repeats.CHOSEN,
    "SELECT k, rand() AS r FROM t": Repeats.CHOSEN,
}  # fmt: skip


@pytest.mark.parametrize("sql", EXAMPLES)
def test_repeats(sql: str) -> None:
    relation = read_query(sql, (TABLE,)).relation
    assert fold(relation, lambda n, below: of_node(n, below, n.inputs)) is EXAMPLES[sql]
