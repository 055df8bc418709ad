"""Days whose rows come in a declared order: windows that look back at a few rows go on from the
most recent ones, of those that look ahead the last rows of each partition are computed again, and a
key that does not hold is noticed where one is needed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.api import plan
from forerun.planner.request import ColumnStats, PlanRequest, TimePoint
from forerun.planner.rules.methods import recent_rows, upcoming_rows
from tests.planner.chosen_rules import chosen_rules
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import Engine, Outcome, run_case
from tests.properties.sessions import spark_session
from tests.properties.test_appended_windows import COLUMNS, DAYS, RUNS, days_equal_batch, table

BACK, AHEAD = recent_rows.RULE.name, upcoming_rows.RULE.name
HOLDS = (BACK, AHEAD)
"""The rules that this file holds against rows."""
OTHERS = ("WindowsOfChangedPartitions",)
"""The other way to keep such windows, which is switched off on half of the days."""
BY_K, BY_G = (f"PARTITION BY {column} ORDER BY at, id" for column in "kg")
BEFORE = {
    "row-before": f"SELECT k, id, n, lag(n) OVER ({BY_K}) AS b, at - lag(at) OVER ({BY_K}) AS d "
    "FROM t0",
    "two-before": f"SELECT g, id, lag(m, 2, 0.5) OVER ({BY_G}) AS b, lag(g, 1) OVER ({BY_G}) AS c "
    "FROM t0",
    "doubles": f"SELECT k, id, lag(r) OVER ({BY_K}) AS b, r - lag(r) OVER ({BY_K}) AS d FROM "
    "(SELECT *, CAST(m AS DOUBLE) / 3 AS r FROM t0) q",
    "moving": f"SELECT g, id, sum(n) OVER ({BY_G} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s, "
    f"max(m) OVER ({BY_G} ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS x FROM t0",
    "averages": f"SELECT k, id, avg(m) OVER ({BY_K} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a "
    "FROM t0",
    "all": "SELECT id, lag(id) OVER (ORDER BY at, id) AS b FROM t0",
    "sessions": f"SELECT b IS NULL OR at - b > 3 AS starts, count(*) AS c FROM (SELECT at, lag(at) "
    f"OVER ({BY_K}) AS b FROM t0) q GROUP BY 1",
    "gaps": "SELECT k, sum(d) AS s, max(d) AS m, count(*) AS c, count(DISTINCT d) AS e FROM (SELECT"
    f" k, at - lag(at) OVER ({BY_K}) AS d FROM t0) q WHERE d > 0 GROUP BY k",
    "both": "SELECT v, count(*) AS c FROM (SELECT id, lag(id) OVER (ORDER BY at, id) AS b FROM t0"
    " UNION ALL SELECT id, n FROM t0) q LATERAL VIEW explode(array(id, b)) w AS v GROUP BY v",
}
AFTER = {
    "row-after": f"SELECT k, id, n, lead(n) OVER ({BY_K}) AS b, lead(at) OVER ({BY_K}) - at AS d "
    "FROM t0",
    "two-after": f"SELECT g, id, lead(m, 2, 0.5) OVER ({BY_G}) AS b, lead(g, 1) OVER ({BY_G}) AS c "
    "FROM t0",
    "doubles-after": f"SELECT k, id, lead(r) OVER ({BY_K}) AS b, r - lead(r) OVER ({BY_K}) AS d"
    " FROM (SELECT *, CAST(m AS DOUBLE) / 3 AS r FROM t0) q",
    "coming": f"SELECT g, id, sum(n) OVER ({BY_G} ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS s, "
    f"max(m) OVER ({BY_G} ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING) AS x FROM t0",
    "all-after": "SELECT id, lead(id) OVER (ORDER BY at, id) AS b FROM t0",
    "gaps-after": "SELECT k, sum(d) AS s, max(d) AS m, count(*) AS c, count(DISTINCT d) AS e FROM "
    "(SELECT k, lead(at) OVER (PARTITION BY k ORDER BY at) - at AS d FROM t0) q WHERE d > 0 "
    "GROUP BY k",
    "beside": f"SELECT k, id, b, lead(id) OVER ({BY_K}) AS a FROM (SELECT k, id, at, lag(id) OVER "
    f"({BY_K}) AS b FROM t0) q",
    "until": "SELECT at, until, count(*) AS c FROM (SELECT at, lead(at) OVER (PARTITION BY g ORDER "
    "BY at) AS until FROM t0 WHERE n > 1) q GROUP BY at, until",
}
QUERIES = BEFORE | AFTER
OF_THE_ORDER = ("sessions", "gaps", "both", "all-after", "gaps-after", "until")
"""What these read of other rows is equal for rows that tie, so no key is needed."""
UNPLANNED = {"all", "two-before", "two-after", "coming", "beside", "doubles-after", "until"}
"""Queries of which the plan at scale is not asked for: days of them are played."""
EARLY = {BACK: ((0.2, 0.5), (0.3, 0.9), (1.0, 1.0)), AHEAD: ((0.1, 0.9), (1.0, 1.0))}
"""Weights and shares that have arrived, at which the rules pay."""
MOST = {BACK: 0.6, AHEAD: 0.8}
"""The most that the final run then takes of batch."""


def case(name: str, seed: int) -> Case:
    tables = {"t0": replace(table(random.Random(f"{name}-{seed}")), key=("id",))}
    query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
    return Case(f"{name}-{seed}", tables, query, RUNS, early=True, off=OTHERS[: seed % 2])


def day(name: str, seed: int, engine: Engine) -> Outcome:
    return run_case(case(name, seed), engine, every_time_point=True)


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - UNPLANNED))
def test_a_window_goes_on_only_where_a_key_tells_rows_apart(name: str) -> None:
    rule = AHEAD if name in AFTER else BACK
    few_values = (("k", ColumnStats(distinct=100.0)), ("g", ColumnStats(distinct=50.0)))
    (source,) = case(name, 0).sources
    source = replace(source, rows=50_000_000, bytes=10**9, stats=few_values)
    points = tuple(TimePoint(weight=w, arrived=a) for w, a in EARLY[rule])
    asked = PlanRequest(report="r", sql=QUERIES[name], sources=(source,), points=points)
    found = plan(asked)
    assert chosen_rules(found)[rule] > 0
    assert found.plan.runs[-1].estimated_cost < MOST[rule] * found.plan.batch_cost
    for unsaid in (replace(source, ordered_by=""), replace(source, keys=())):
        told = name in OF_THE_ORDER and unsaid.ordered_by
        goes_on = chosen_rules(plan(replace(asked, sources=(unsaid,))))[rule] > 0
        assert goes_on is bool(told)


@pytest.mark.parametrize("name", QUERIES)
def test_a_day_equals_batch(name: str) -> None:
    days_equal_batch(name, day)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["row-before", "moving", "all", "gaps", *AFTER])
def test_and_on_spark(name: str) -> None:
    assert run_case(case(name, DAYS + 1), PlainSparkEngine(spark_session())).kept > 0


@pytest.mark.parametrize("name", ["row-before", "row-after"])
@pytest.mark.parametrize(
    ("there", "at", "number", "holds"),
    [(0, 19, 7, True), (0, 19, 1, False), (0, 15, 7, False), (5, 19, 7, False)],
)
def test_what_was_declared_and_does_not_hold_is_noticed(
    there: int, at: int, number: int, holds: bool, name: str
) -> None:
    """Two rows that come tie although the key says that they do not, or the last two that were
    there, or a row is not later."""
    rows = (1, "a", 16, 1, None, there), (1, "b", 16, 1, None, 5)
    came = (1, "a", 19, 1, None, 1), (1, "a", at, 1, None, number)
    one = TableCase(COLUMNS, True, (rows, came), ordered_by="at", key=("id",))
    query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
    one_day = Case("late", {"t0": one}, query, 2, early=True, off=OTHERS)
    engine = InterpreterEngine()
    with engine.recording():
        if holds:
            assert run_case(one_day, engine).kept > 0
            return
        with pytest.raises(Exception, match="USER_RAISED_EXCEPTION"):
            run_case(one_day, engine)
