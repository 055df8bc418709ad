"""Days with recursive queries over tables that do not change: they are computed once, kept, and
joined with what comes, on the interpreter and on Spark."""

from __future__ import annotations

import random

import pytest

from tests.oracles.values import Value
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import Outcome, run_case
from tests.properties.sessions import spark_session

RUNS, DAYS = 3, 6
STAFF = (("id", "BIGINT"), ("boss", "BIGINT"), ("name", "STRING"))
SALES = (("who", "BIGINT"), ("at", "INT"), ("amount", "INT"))
TREE = (
    "WITH RECURSIVE tree(id, top, Depth) AS (SELECT id, name, 0 FROM t0 WHERE boss IS NULL "
    "UNION ALL SELECT s.id, t.top, t.depth + 1 FROM tree t JOIN t0 s ON s.boss = t.id) "
)
SERIES = (
    "WITH RECURSIVE days AS (SELECT 1 AS n, 'a' AS `as` UNION ALL "
    "SELECT n + 1, CASE WHEN n = 2 THEN 'b' ELSE `as` END FROM days WHERE n < 5) "
)
QUERIES = {
    "by-top": f"{TREE} SELECT top, depth, sum(amount) AS total, count(*) AS n FROM t1 JOIN tree "
    "ON who = tree.id GROUP BY top, depth",
    "twice": f"{TREE} SELECT a.top, b.depth, max(amount) AS most FROM t1 JOIN tree a ON who = a.id "
    "JOIN tree b ON at = b.id GROUP BY a.top, b.depth",
    "left-out": f"{TREE} SELECT who, amount FROM t1 WHERE who NOT IN (SELECT id FROM tree)",
    "every-day": f"{SERIES} SELECT n, `as`, count(who) AS sales FROM days LEFT JOIN t1 ON at = n "
    "GROUP BY n, `as`",
    "beside": f"{SERIES}, tree AS (SELECT * FROM days WHERE n > 1) SELECT d.n, e.n AS m, amount "
    "FROM days d JOIN tree e ON d.n = e.n - 1 JOIN t1 ON at = e.n",
}


def tables(rng: random.Random) -> dict[str, TableCase]:
    staff: list[tuple[Value, ...]] = [(0, None, "x"), (1, None, None)]
    staff += [(i, rng.choice((None, *range(i))), rng.choice("xyz")) for i in range(2, 9)]
    sales = [
        tuple((rng.randrange(10), rng.choice((None, *range(6))), rng.randrange(50))
              for _ in range(rng.randint(0, 6)))
        for _ in range(RUNS)
    ]  # fmt: skip
    return {
        "t0": TableCase(STAFF, False, (tuple(staff),)),
        "t1": TableCase(SALES, True, tuple(sales)),
    }


def day(name: str, seed: int, engine: InterpreterEngine | PlainSparkEngine) -> Outcome:
    query = QueryCase((Select(("1",), "t1"),), outer=QUERIES[name])
    found = tables(random.Random(f"{name}-{seed}"))
    return run_case(Case(f"{name}-{seed}", found, query, RUNS, early=True), engine)


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_recursive_is_kept_and_equals_batch(name: str) -> None:
    outcomes = []
    for seed in range(DAYS):
        engine = InterpreterEngine()
        with engine.recording():
            outcomes.append(day(name, seed, engine))
    assert sum(found.kept > 0 for found in outcomes) >= DAYS // 2


@pytest.mark.spark
@pytest.mark.parametrize("name", QUERIES)
def test_and_on_spark(name: str) -> None:
    assert day(name, DAYS, PlainSparkEngine(spark_session())).kept > 0
