"""Days whose floating-point sums have other last digits each time that they are computed.

The interpreter adds up in another order every time, as engines do; no comparison hangs on a last
digit. What takes a sum back to compare it with what it was, to the bit, keeps rows that are gone.
"""

from __future__ import annotations

import random
from collections import Counter
from unittest import mock

import pytest

from forerun.planner.errors import MethodError
from tests.oracles import aggregates
from tests.oracles.values import Value
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine
from tests.properties.execute import RefusedError, run_case
from tests.selection import few

DAYS = 3
METHODS = ("auto", "im1", "im2", "ojv", "hov")
COLUMNS = (("k", "BIGINT"), ("g", "STRING"), ("n", "INT"), ("x", "DOUBLE"))
TENTHS = (0.1, 0.2, 0.3, 0.7, 1.1, 2.3, -0.4, 13.7)
"""Sums of them are no 1.05, and no last digit decides whether they are more."""
QUERIES = {
    "sums": "SELECT g, sum(x) AS s FROM t0 GROUP BY g",
    "having": "SELECT g, k, sum(x) AS s FROM t0 GROUP BY g, k HAVING sum(x) > 1.05D",
    "nested-count": (
        "SELECT g, count(*) AS n FROM (SELECT g, k, sum(x) AS s FROM t0 GROUP BY g, k) q "
        "WHERE s > 1.05D GROUP BY g"
    ),
    "nested-sum": (
        "SELECT g, sum(s) AS s FROM (SELECT k, g, sum(x) AS s FROM t0 GROUP BY k, g) q GROUP BY g"
    ),
    "joined": (
        "SELECT a.k, a.s, b.n FROM (SELECT k, sum(x) AS s FROM t0 GROUP BY k) a "
        "JOIN t1 b ON a.k = b.k"
    ),
    "outer": (
        "SELECT b.k, a.s FROM t1 b LEFT JOIN (SELECT k, sum(x) AS s FROM t0 GROUP BY k) a "
        "ON a.k = b.k"
    ),
    "outer-grouped": (
        "SELECT b.k, count(a.s) AS n, max(a.s) AS hi FROM t1 b "
        "LEFT JOIN (SELECT k, avg(x) AS s FROM t0 GROUP BY k) a ON a.k = b.k GROUP BY b.k"
    ),
    "sum-of-outer": "SELECT b.k, sum(a.x) AS s FROM t1 b LEFT JOIN t0 a ON a.k = b.k GROUP BY b.k",
    "compared": "SELECT b.k FROM t1 b WHERE b.x > (SELECT avg(z.x) + 0.05D FROM t0 z)",
    "static": (
        "SELECT b.k, s.s FROM t1 b LEFT JOIN t0 a ON a.k = b.k AND a.n > b.n "
        "JOIN (SELECT k, sum(x) AS s FROM t2 GROUP BY k) s ON s.k = b.k"
    ),
}


def in_any_order(rng: random.Random):
    """Sums of the oracle, with floating-point terms in another order each time."""
    exact = aggregates.total

    def total(values: list[Value]) -> Value:
        if not isinstance(values[0], float):
            return exact(values)
        shuffled = rng.sample(values, len(values))
        result = shuffled[0]
        for value in shuffled[1:]:
            result += value
        return result

    return mock.patch.object(aggregates, "total", total)


def table(rng: random.Random, parts: int) -> TableCase:
    def row() -> tuple[Value, ...]:
        return rng.randrange(3), rng.choice("ab"), rng.randint(-2, 6), rng.choice(TENTHS)

    deliveries = [tuple(row() for _ in range(rng.randint(1, 6))) for _ in range(parts)]
    return TableCase(COLUMNS, parts > 1, tuple(deliveries))


@pytest.mark.parametrize("name", few(QUERIES, 5))
def test_no_method_takes_a_sum_back_that_it_cannot_make_again(name):
    done = Counter()
    for seed in range(DAYS):
        rng = random.Random(f"{name}-{seed}")
        runs = rng.choice((4, 5, 6))
        tables = {"t0": table(rng, runs), "t1": table(rng, runs), "t2": table(rng, 1)}
        query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
        for method in METHODS:
            case = Case(f"{name}-{seed}", tables, query, runs, early=True, method=method)
            engine = InterpreterEngine()
            with in_any_order(random.Random(seed)), engine.recording():
                try:
                    done[method] += run_case(case, engine).kept > 0
                except (RefusedError, MethodError):
                    continue
    assert done["auto"] == done["im1"] == DAYS
