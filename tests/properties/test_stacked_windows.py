"""Days whose rows come in a declared order, with windows over windows and of several kinds: each
goes on where what it reads is the same however rows tie."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.api import plan
from forerun.planner.request import ColumnStats, PlanRequest, TimePoint
from forerun.planner.rules.methods import appended_windows, recent_rows, split_windows
from tests.oracles import windows
from tests.oracles.values import Row
from tests.planner.chosen_rules import chosen_rules
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSailEngine, PlainSparkEngine
from tests.properties.execute import Engine, Outcome, run_case
from tests.properties.sessions import sail_session, spark_session
from tests.properties.test_appended_windows import COLUMNS, DAYS, RUNS, days_equal_batch, table
from tests.selection import few

HOLDS = (split_windows.RULE.name,)
"""The rule that this file holds against rows."""
OTHERS = ("WindowsOfChangedPartitions",)
"""The other way to keep such windows, which is switched off on half of the days."""
OVER, BY_G = "OVER (PARTITION BY k ORDER BY at)", "OVER (PARTITION BY g ORDER BY at)"
MARKED = f"SELECT k, id, n, at, coalesce(at - lag(at) {OVER} > 2, true) AS fresh FROM t0"
SESSIONS = (
    f"SELECT k, id, n, at, sum(CASE WHEN fresh THEN 1 ELSE 0 END) {OVER} AS s FROM ({MARKED}) q"
)
QUERIES = {
    "sessions": f"SELECT k, id, at, s FROM ({SESSIONS}) r",
    "sessions-grouped": "SELECT k, s, min(at) AS b, max(at) AS e, count(*) AS c, sum(n) AS n FROM "
    f"({SESSIONS}) r GROUP BY k, s",
    "sessions-counted": "SELECT c, count(*) AS o FROM (SELECT k, s, count(*) AS c FROM "
    f"({SESSIONS}) r GROUP BY k, s) x GROUP BY c",
    "gaps-so-far": f"SELECT g, id, sum(d) {BY_G} AS s, max(d) {BY_G} AS m FROM (SELECT g, id, at, "
    f"coalesce(at - lag(at) {BY_G}, 0) AS d FROM t0) q",
    "numbers-so-far": f"SELECT k, id, sum(r) {OVER} AS s FROM (SELECT k, id, at, row_number() "
    f"{OVER} AS r FROM t0) q",
    "two-lags": f"SELECT k, id, count(CASE WHEN a - b > 1 THEN 1 END) {OVER} AS s FROM (SELECT k, "
    f"id, at, lag(at) {OVER} AS a, lag(at, 2) {OVER} AS b FROM t0) q",
    "by-moment": f"SELECT k, at, count(*) AS c, count_if(fresh) AS f FROM ({MARKED}) q "
    "GROUP BY k, at",
    "number-before": "SELECT k, at, id, id - lag(id) OVER (PARTITION BY k ORDER BY at, id) AS d "
    "FROM t0",
    "beside": f"SELECT k, at, at - lag(at) {OVER} AS d, sum(n) {OVER} AS s, count(*) {OVER} AS c "
    "FROM t0",
}
"""What is asked of the column of the order goes on without a key."""
EXACT = "OVER (PARTITION BY k ORDER BY at, id)"
WITH_KEY = {
    "beside-a-key": f"SELECT k, id, lag(n) {EXACT} AS b, row_number() {EXACT} AS r, sum(m) {EXACT} "
    "AS s FROM t0",
}
CHOSEN = {
    "pairs": f"SELECT k, id, sum(CASE WHEN fresh THEN n END) {OVER} AS s FROM ({MARKED}) q",
    "another-order": f"SELECT k, id, sum(CASE WHEN fresh THEN 1 END) {EXACT} AS s FROM "
    f"({MARKED}) q",
    "filtered": f"SELECT k, id, count(*) {OVER} AS c FROM ({MARKED}) q WHERE fresh",
    "two-windows": f"SELECT k, id, sum(CASE WHEN d > n THEN 1 ELSE 0 END) {OVER} AS s FROM (SELECT "
    f"k, id, at, at - lag(at) {OVER} AS d, lag(n) {OVER} AS n FROM t0) q",
}
"""What is summed up depends on which of the rows that tie comes first."""
RULES = (appended_windows.RULE.name, recent_rows.RULE.name)
USED = {"by-moment": RULES[1:], "number-before": RULES[1:], "numbers-so-far": RULES[:1]}
"""The rules that go on, where that is one."""


def case(name: str, seed: int) -> Case:
    known, text = table(random.Random(f"{name}-{seed}")), {**QUERIES, **WITH_KEY}[name]
    tables = {"t0": replace(known, key=("id",)) if name in WITH_KEY else known}
    query = QueryCase((Select(("1",), "t0"),), outer=text)
    return Case(f"{name}-{seed}", tables, query, RUNS, early=True, off=OTHERS[: seed % 2])


def day(name: str, seed: int, engine: Engine) -> Outcome:
    return run_case(case(name, seed), engine, every_time_point=True)


def large_day(name: str, sql: str) -> PlanRequest:
    """The query over so many rows that early work pays."""
    few_values = (("k", ColumnStats(distinct=100.0)), ("g", ColumnStats(distinct=50.0)))
    (source,) = case(name, 0).sources
    source = replace(source, rows=50_000_000, bytes=10**9, stats=few_values)
    points = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.1, 0.5), (0.15, 0.9), (1.0, 1.0)))
    return PlanRequest(report="r", sql=sql, sources=(source,), points=points)


@pytest.mark.parametrize("name", [*QUERIES, *WITH_KEY])
def test_windows_go_on_whatever_ties(name: str) -> None:
    asked = large_day(name, {**QUERIES, **WITH_KEY}[name])
    found = plan(asked)
    used = {rule for rule, times in chosen_rules(found).items() if times}
    assert set(USED.get(name, RULES)) <= used
    assert found.plan.runs[-1].estimated_cost < 0.6 * found.plan.batch_cost
    (source,) = asked.sources
    unsaid = plan(replace(asked, sources=(replace(source, ordered_by=""),)))
    assert not any(chosen_rules(unsaid)[rule] for rule in (*RULES, *HOLDS))


@pytest.mark.parametrize("name", ["beside", *WITH_KEY])
def test_windows_of_two_kinds_are_split(name: str) -> None:
    assert plan(large_day(name, {**QUERIES, **WITH_KEY}[name])).trace.found[HOLDS[0]] == 1


@pytest.mark.parametrize("name", CHOSEN)
def test_nothing_goes_on_from_what_is_chosen(name: str) -> None:
    found = plan(large_day("sessions", CHOSEN[name]))
    assert found.trace.found[appended_windows.RULE.name] == 0


def shuffled(members: list[int], rows: list[Row]) -> list[int]:
    """As an engine would that reads the same rows in another order elsewhere; functions of one
    window see them in one order."""
    return random.Random(repr(rows)).sample(members, len(members))


@pytest.mark.parametrize("name", [*QUERIES, *WITH_KEY])
def test_a_day_equals_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "as_they_come", shuffled)
    days_equal_batch(name, day)


@pytest.mark.parametrize("at", [20, 19, 15, None])
@pytest.mark.parametrize("name", ["sessions", "beside", "number-before"])
def test_a_row_that_comes_out_of_order_is_noticed(name: str, at: int | None) -> None:
    """Without a key, the order is all that is declared."""
    rows = (1, "a", 16, 1, None, 0), (1, "a", 19, 1, None, 5)
    one = TableCase(COLUMNS, True, (rows, ((1, "a", at, 1, None, 1),)), ordered_by="at")
    query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
    late = Case("late", {"t0": one}, query, 2, early=True, off=OTHERS)
    engine = InterpreterEngine()
    with engine.recording():
        if at == 20:
            assert run_case(late, engine).kept > 0
            return
        with pytest.raises(Exception, match="USER_RAISED_EXCEPTION"):
            run_case(late, engine)


@pytest.fixture(scope="module")
def sail() -> PlainSailEngine:
    return PlainSailEngine(sail_session())


@pytest.mark.parametrize("name", few(QUERIES, 3))
def test_and_on_sail(name: str, sail: PlainSailEngine) -> None:
    assert day(name, DAYS, sail).kept > 0


@pytest.mark.spark
@pytest.mark.parametrize("name", ["sessions", "sessions-grouped", "beside"])
def test_and_on_spark(name: str) -> None:
    assert run_case(case(name, DAYS + 1), PlainSparkEngine(spark_session())).kept > 0
