"""Days with several aggregates without groups beside one another: of the same rows they are one,
and every day equals batch."""

from __future__ import annotations

import random

import pytest

from forerun.planner.api import plan
from tests.oracles.values import Value
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import Day, request_of, run_case
from tests.properties.sessions import spark_session

RUNS, DAYS = 3, 16
COLUMNS = (("k", "BIGINT"), ("n", "INT"), ("g", "STRING"))
CALLS = (
    "count(*)", "count(a.n)", "sum(a.n)", "avg(a.n)", "min(a.g)", "max(a.n)", "count(DISTINCT a.k)",
    "sum(DISTINCT a.n)", "median(a.n)", "max(coalesce(a.g, 'z'))", "stddev(a.n)",
    "count(*) FILTER (WHERE a.n > 2)", "sum(a.n) FILTER (WHERE a.g = 'x')",
    "array_sort(collect_set(a.k))",
)  # fmt: skip
TESTS = ("a.n = 1", "a.n BETWEEN 2 AND 4", "a.g = 'x'", "a.g IS NULL", "a.k < 3", "a.n <> 2")


def one(rng: random.Random, rows: str) -> str:
    tests = (*TESTS, "b.g = 'y'", "b.n < 3") if " b " in rows else TESTS
    wanted = rng.sample(tests, rng.randint(0, 2))
    having = rng.choice((" HAVING count(*) > 1", "")) if rng.random() < 0.2 else ""
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return f"SELECT {rng.choice(CALLS)} AS c FROM {rows}{where}{having}"


def text(rng: random.Random) -> str:
    rows = rng.choice(("t0 a", "t0 a", "t0 a JOIN t1 b ON a.k = b.k", "t1 b JOIN t0 a ON a.k = b.k",
                       "(SELECT k, max(n) AS n, g FROM t0 GROUP BY k, g) a"))  # fmt: skip
    some = [one(rng, rows if rng.random() < 0.85 else "t0 a") for _ in range(rng.randint(2, 4))]
    if rng.random() < 0.4:
        wanted = ", ".join(f"q{i}.c AS c{i}" for i in range(len(some)))
        return f"SELECT {wanted} FROM {', '.join(f'({q}) q{i}' for i, q in enumerate(some))}"
    values = ", ".join(f"({query}) AS c{i}" for i, query in enumerate(some))
    beside = rng.choice(("", " FROM t1 WHERE n = 1", " FROM (SELECT DISTINCT g FROM t1)"))
    return f"SELECT {values}{beside}"


def day(seed: int) -> Case:
    rng = random.Random(seed)

    def rows(most: int) -> tuple[tuple[Value, ...], ...]:
        choices = ((1, 2, 3, None), (1, 2, 3, 4, None), ("x", "y", None))
        return tuple(tuple(map(rng.choice, choices)) for _ in range(rng.randint(0, most)))

    tables = {}
    for name in ("t0", "t1"):
        came = tuple(rows(6) for _ in range(RUNS))
        gone = ((), *(tuple(rng.sample(part, min(1, len(part)))) for part in came[:-1]))
        tables[name] = TableCase(COLUMNS, True, came, gone if rng.random() < 0.4 else ())
    query = QueryCase((Select(("1",), "t0"),), outer=text(rng))
    return Case(f"fused-{seed}", tables, query, RUNS, early=rng.random() < 0.8)


def fuses(case: Case) -> bool:
    """Return whether the plan that is chosen for a day computes what was fused."""
    chosen = plan(request_of(case, 1, case.runs, Day(), case.early)).decision.chosen.extracted
    return chosen is not None and any(
        entry.expression is not None and entry.expression.origin == "FusedAggregates"
        for entries in chosen.solution.entries
        for entry in entries.values()
    )


def test_days_with_aggregates_beside_one_another_equal_batch() -> None:
    engine, fused, kept = InterpreterEngine(), 0, 0
    with engine.recording():
        for seed in range(DAYS):
            case = day(seed)
            kept += run_case(case, engine).kept > 0
            fused += fuses(case)
    assert min(fused, kept) > DAYS // 2


@pytest.mark.spark
def test_and_on_spark() -> None:
    engine = PlainSparkEngine(spark_session())
    fused = [case for case in map(day, range(DAYS, 2 * DAYS)) if fuses(case)][:6]
    assert all(run_case(case, engine).kept > 0 for case in fused if case.early)
