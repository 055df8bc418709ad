"""Days of reports with NOT IN over values that may be NULL, of one column and of several: the
result is that of batch, whether or not rows are taken back, and something is kept."""

from __future__ import annotations

import random

import pytest

from tests.oracles.values import Value
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine
from tests.properties.execute import run_case
from tests.selection import few

RUNS, DAYS = 4, 2
COLUMNS = (("k", "BIGINT"), ("g", "STRING"), ("n", "INT"))
QUERIES = {
    "one": "SELECT k, g FROM t0 WHERE k NOT IN (SELECT k FROM t1)",
    "two": "SELECT k, g, n FROM t0 WHERE (k, g) NOT IN (SELECT k, g FROM t1 WHERE n > 0)",
    "three": "SELECT k FROM t0 WHERE (k, g, n) NOT IN (SELECT k, g, n FROM t1)",
    "grouped": "SELECT g, count(*) AS c FROM t0 WHERE (n, k) NOT IN (SELECT n, k FROM t1) "
    "GROUP BY g",
    "of-groups": "SELECT k FROM t0 WHERE (k, n) NOT IN (SELECT k, max(n) FROM t1 GROUP BY k)",
}


def table(rng: random.Random, most: int, *, takes_back: bool) -> TableCase:
    nulls = rng.choice((0.0, 0.05, 0.3))

    def value(*values: Value) -> Value:
        return None if rng.random() < nulls else rng.choice(values)

    def row() -> tuple[Value, ...]:
        return (value(1, 2, 3, 4), value("a", "b", "c"), value(-1, 1, 2))

    deliveries = [tuple(row() for _ in range(rng.randint(0, most))) for _ in range(RUNS)]
    gone: list[tuple[tuple[Value, ...], ...]] = [()]
    gone += [tuple(rng.sample(part, min(1, len(part)))) for part in deliveries[:-1]]
    return TableCase(COLUMNS, True, tuple(deliveries), tuple(gone) if takes_back else ())


@pytest.mark.parametrize("takes_back", [False, True])
@pytest.mark.parametrize("name", few(QUERIES, 3))
def test_a_day_equals_batch(name: str, takes_back: bool) -> None:
    kept = 0
    for seed in range(DAYS):
        rng = random.Random(f"{name}-{seed}")
        tables = {
            "t0": table(rng, 6, takes_back=takes_back),
            "t1": table(rng, 2, takes_back=takes_back),
        }
        query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
        engine = InterpreterEngine()
        with engine.recording():
            case = Case(f"{name}-{seed}", tables, query, RUNS, early=True)
            kept += run_case(case, engine, every_time_point=True).kept
    assert kept >= DAYS
