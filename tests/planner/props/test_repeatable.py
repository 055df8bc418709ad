"""What gives the same rows when it is computed once more."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal

import pytest

from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.types import parse_type
from forerun.planner.props.repeatable import Repeats, repeats
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from tests.oracles import windows
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import Row, row_key

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
    "SELECT x, lag(x) OVER (PARTITION BY k ORDER BY x) AS b FROM t": Repeats.CHOSEN,  # -0.0
    "SELECT k, n, lag(n) OVER (PARTITION BY x ORDER BY n) AS b FROM t": Repeats.CHOSEN,
    "SELECT n, lag(n) OVER (PARTITION BY k ORDER BY n) AS b FROM t": Repeats.ALWAYS,
}  # fmt: skip


OVER = "OVER (PARTITION BY k ORDER BY n)"
BACK = f"SELECT k, n, m, n - lag(n) {OVER} AS d, row_number() {OVER} AS r FROM t"
BY_COLUMN = {
    f"SELECT k, n, m FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT k, n, d FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT d, r FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT m, d FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT k, d + n AS e, r * 2 AS f, k + n AS g FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT k, m + d AS e FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT d, count(*) AS c, sum(r) AS s FROM ({BACK}) GROUP BY d": Repeats.ALWAYS,
    f"SELECT d, sum(m) AS s FROM ({BACK}) GROUP BY d": Repeats.CHOSEN,
    f"SELECT m, count(*) AS c FROM ({BACK}) GROUP BY m": Repeats.ALWAYS,
    f"SELECT m, sum(d) AS s FROM ({BACK}) GROUP BY m": Repeats.CHOSEN,
    f"SELECT k, sum(d) AS s, sum(m) AS t, count_if(d > r) AS c FROM ({BACK}) GROUP BY k":
        Repeats.ALWAYS,
    f"SELECT k, sum(d * m) AS s FROM ({BACK}) GROUP BY k": Repeats.CHOSEN,
    f"SELECT k, sum(m) FILTER (WHERE d > 0) AS s FROM ({BACK}) GROUP BY k": Repeats.CHOSEN,
    f"SELECT m, sum(d) {OVER} AS s FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT m, sum(d * r) {OVER} AS s FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT m, sum(d) OVER (PARTITION BY k) AS s FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT m, sum(d) OVER (PARTITION BY k ORDER BY m) AS s FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT m, sum(d) OVER (PARTITION BY m) AS s FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT m, sum(m) OVER (PARTITION BY k ORDER BY r) AS s FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT m, sum(d * m) {OVER} AS s FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT m, sum(m) {OVER} AS s FROM ({BACK})": Repeats.ALWAYS,
    f"SELECT m FROM ({BACK}) WHERE d > 0": Repeats.CHOSEN,
    f"SELECT m, sum(d) {OVER} AS s FROM ({BACK}) WHERE n > 1": Repeats.ALWAYS,
    f"SELECT m, sum(d) {OVER} AS s FROM ({BACK}) WHERE m > 1": Repeats.CHOSEN,
    f"SELECT b.m, u.m AS o FROM ({BACK}) b JOIN t u ON u.n = b.n": Repeats.ALWAYS,
    f"SELECT b.m, u.m AS o FROM ({BACK}) b JOIN t u ON u.n = b.d": Repeats.CHOSEN,
    f"SELECT b.k, b.n, b.d, u.m AS o FROM ({BACK}) b JOIN t u ON u.m = b.m": Repeats.CHOSEN,
    f"SELECT k, n, d FROM ({BACK}) UNION ALL SELECT k, n, n FROM t": Repeats.ALWAYS,
    f"SELECT m FROM (SELECT m, d FROM ({BACK}) UNION ALL SELECT m, n FROM t)": Repeats.ALWAYS,
    f"SELECT m, d FROM ({BACK}) UNION ALL SELECT m, n FROM t": Repeats.CHOSEN,
    f"SELECT DISTINCT m, d FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT k, n, d, e FROM (SELECT *, n - lag(n, 2) {OVER} AS e FROM ({BACK}))": Repeats.CHOSEN,
    f"SELECT k, n, d, l FROM (SELECT *, lag(m) {OVER} AS l FROM ({BACK}))": Repeats.CHOSEN,
    f"SELECT k, n, lag(m) {OVER} AS l FROM t": Repeats.CHOSEN,
    f"SELECT k, n, lag(d) {OVER} AS l FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT m, rand() AS x FROM ({BACK})": Repeats.CHOSEN,
    f"SELECT k, n, d FROM ({BACK}) ORDER BY k, n, d LIMIT 3": Repeats.ALWAYS,
    f"SELECT m, d FROM ({BACK}) ORDER BY m, d LIMIT 3": Repeats.CHOSEN,
}  # fmt: skip
"""Windows choose columns among rows that tie: (k, n) in half of the examples, by column m."""


def read(sql: str) -> Relation:
    return read_query(sql, (TABLE,)).relation


@pytest.mark.parametrize("sql", [*EXAMPLES, *BY_COLUMN])
def test_repeats(sql: str) -> None:
    assert repeats(read(sql)) is {**EXAMPLES, **BY_COLUMN}[sql]


def tied(rng: random.Random) -> Row:
    """A row that ties with others, by few values of its first two columns."""
    return rng.randrange(2), rng.randrange(3), 1.5, Decimal(rng.randrange(9))


@pytest.mark.parametrize("sql", [sql for sql in BY_COLUMN if "rand" not in sql])
def test_what_is_chosen_differs_and_what_repeats_does_not(
    sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each window sees rows that tie in an order of its own, and another one each time."""
    rng, found = random.Random(sql), set()
    rows = [tied(rng) for _ in range(24)]
    for time in range(12):

        def shuffled(members: list[int], given: list[Row], time: int = time) -> list[int]:
            return random.Random(f"{time} {given!r}").sample(members, len(members))

        monkeypatch.setattr(windows, "as_they_come", shuffled)
        made = evaluate(read(sql), Inputs({"t": SourceData(("k", "n", "x", "m"), rows)}))
        found.add(frozenset(Counter(map(row_key, made)).items()))
    assert (len(found) > 1) is (BY_COLUMN[sql] is Repeats.CHOSEN)
