"""Days whose rows come in a declared order: windows go on from the last rows that there were, and a
day whose rows do not come so is noticed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from forerun.planner.api import plan
from forerun.planner.errors import RequestError
from forerun.planner.request import ColumnStats, PlanRequest, TimePoint
from forerun.planner.rules.methods.appended_windows import RULE
from tests.oracles.values import Row
from tests.planner.chosen_rules import chosen_rules
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSailEngine, PlainSparkEngine
from tests.properties.execute import Engine, Outcome, run_case
from tests.properties.sessions import sail_session, spark_session
from tests.selection import few

HOLDS = (RULE.name,)
"""The rule that this file holds against rows."""
RUNS, DAYS = 4, 8
COLUMNS = (
    ("k", "BIGINT"), ("g", "STRING"), ("at", "INT"), ("n", "INT"), ("m", "DECIMAL(9,2)"),
    ("id", "BIGINT"),
)  # fmt: skip
OVER = "OVER (PARTITION BY k ORDER BY at)"
EXACT = "OVER (PARTITION BY k, g ORDER BY at, id)"
ROWS = "OVER (PARTITION BY g ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
QUERIES = {
    "so-far": f"SELECT k, at, n, sum(n) {OVER} AS s, count(n) {OVER} AS c, min(m) {OVER} AS a, "
    f"max(m) {OVER} AS b FROM t0",
    "money": f"SELECT k, sum(m) {OVER} AS s, sum(m * 2) {OVER} AS t, count(*) {OVER} AS c FROM t0 "
    "WHERE n IS NULL OR n > 0",
    "numbered": f"SELECT k, g, id, row_number() {EXACT} AS r, max(g) {EXACT} AS p FROM t0",
    "rows": f"SELECT g, id, sum(m) {ROWS} AS s, count(*) {ROWS} AS c FROM t0",
    "all": "SELECT id, sum(n) OVER (ORDER BY at) AS s, max(g) OVER (ORDER BY at) AS m FROM t0",
    "all-numbered": "SELECT id, row_number() OVER (ORDER BY at, id) AS r FROM t0",
    "grouped": f"SELECT s, count(*) AS c, max(at) AS a FROM (SELECT at, sum(n) {OVER} AS s "
    "FROM t0) q GROUP BY s",
    "filtered": f"SELECT k, id, r FROM (SELECT k, id, row_number() {EXACT} AS r FROM t0) q "
    "WHERE r > 2",
    "numbered-grouped": "SELECT r, count(*) AS c, sum(m) AS s FROM (SELECT m, row_number() "
    f"{EXACT} AS r FROM t0) q WHERE r > 1 GROUP BY r",
    "since-first": f"SELECT k, g, id, at - min(at) {EXACT} AS since FROM t0",
}


def row(rng: random.Random, at: int | None, number: int) -> Row:
    return (
        rng.choice((None, 1, 1, 2, 3)),
        rng.choice((None, "a", "b")),
        at,
        rng.choice((None, -3, 0, 2, 7)),
        rng.choice((None, Decimal("0.10"), Decimal("-7.35"), Decimal("12.00"))),
        number,
    )


def table(rng: random.Random) -> TableCase:
    """Rows of later deliveries are later, and rows of one delivery tie."""
    numbers, deliveries = iter(range(1000)), []
    for run in range(RUNS):
        count = rng.choice((0, 1, 3, 7))
        ats: list[int | None] = [10 * run + rng.randrange(6) for _ in range(count)]
        if not run:
            ats = [None if rng.random() < 0.2 else at for at in ats]
        deliveries.append(tuple(row(rng, at, next(numbers)) for at in ats))
    return TableCase(COLUMNS, True, tuple(deliveries), ordered_by="at")


def case(name: str, seed: int) -> Case:
    tables = {"t0": table(random.Random(f"{name}-{seed}"))}
    query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
    return Case(f"{name}-{seed}", tables, query, RUNS, early=True)


def day(name: str, seed: int, engine: Engine) -> Outcome:
    return run_case(case(name, seed), engine, every_time_point=True)


@pytest.mark.parametrize("name", QUERIES)
def test_a_window_goes_on_where_partitions_have_many_rows(name: str) -> None:
    few_values = (("k", ColumnStats(distinct=100.0)), ("g", ColumnStats(distinct=50.0)))
    (source,) = case(name, 0).sources
    source = replace(source, rows=50_000_000, bytes=10**9, stats=few_values)
    points = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.2, 0.5), (0.3, 0.9), (1.0, 1.0)))
    asked = PlanRequest(report="r", sql=QUERIES[name], sources=(source,), points=points)
    found = plan(asked)
    assert chosen_rules(found)[RULE.name] > 0
    assert found.plan.runs[-1].estimated_cost < 0.6 * found.plan.batch_cost
    unsaid = plan(replace(asked, sources=(replace(source, ordered_by=""),)))
    assert not chosen_rules(unsaid)[RULE.name]


def days_equal_batch(name: str, play: Callable[[str, int, Engine], Outcome]) -> None:
    """Play days of a query on the interpreter; at least half of them have to keep anything."""
    kept = 0
    for seed in range(DAYS):
        engine = InterpreterEngine()
        with engine.recording():
            kept += play(name, seed, engine).kept > 0
    assert kept >= DAYS // 2


@pytest.mark.parametrize("name", QUERIES)
def test_a_day_equals_batch(name: str) -> None:
    days_equal_batch(name, day)


@pytest.fixture(scope="module")
def sail() -> PlainSailEngine:
    return PlainSailEngine(sail_session())


@pytest.mark.parametrize("name", few(QUERIES, 3))
def test_and_on_sail(name: str, sail: PlainSailEngine) -> None:
    assert day(name, DAYS, sail).kept > 0


@pytest.mark.spark
@pytest.mark.parametrize("name", ["so-far", "numbered", "rows", "all"])
def test_and_on_spark(name: str) -> None:
    assert run_case(case(name, DAYS + 1), PlainSparkEngine(spark_session())).kept > 0


def test_an_order_by_a_column_that_is_not_there_is_refused() -> None:
    (source,) = case("so-far", 0).sources
    points = (TimePoint(weight=1.0),)
    with pytest.raises(RequestError, match="source t0 has no column when"):
        plan(PlanRequest(report="r", sql=QUERIES["so-far"], points=points,
                         sources=(replace(source, ordered_by="when"),)))  # fmt: skip


@pytest.mark.parametrize("at", [19, 5, None])
def test_a_row_that_comes_out_of_order_is_noticed(at: int | None) -> None:
    """As late as one that its partition had, or earlier, or without a moment; in a partition of its
    own it may be as early as it likes."""
    columns, sql = COLUMNS, f"SELECT k, at, sum(n) {OVER} AS s FROM t0"
    rows = (1, "a", 19, 1, None, 0), (1, "b", 12, 1, None, 1)
    for partition, fails in ((1, True), (2, False)):
        late = ((partition, "a", at, 1, None, 2),)
        one = TableCase(columns, True, (rows, late), ordered_by="at")
        day = Case(
            "late", {"t0": one}, QueryCase((Select(("1",), "t0"),), outer=sql), 2, early=True
        )
        engine = InterpreterEngine()
        with engine.recording():
            if not fails:
                assert run_case(day, engine).kept > 0
                continue
            with pytest.raises(Exception, match="USER_RAISED_EXCEPTION"):
                run_case(day, engine)
