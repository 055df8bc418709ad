"""Days whose rows come in a declared order: of windows that look ahead at a few rows the last ones
of each partition are computed again, and a key that does not hold is noticed where one is
needed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.api import plan
from forerun.planner.request import ColumnStats, PlanRequest, TimePoint
from forerun.planner.rules.methods.upcoming_rows import RULE
from tests.planner.chosen_rules import chosen_rules
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import Engine, Outcome, run_case
from tests.properties.sessions import spark_session
from tests.properties.test_appended_windows import COLUMNS, DAYS, RUNS, days_equal_batch, table

HOLDS = (RULE.name,)
"""The rule that this file holds against rows."""
OTHERS = ("WindowsOfChangedPartitions",)
"""The other way to keep such windows, which is switched off on half of the days."""
BY_K, BY_G = (f"PARTITION BY {column} ORDER BY at, id" for column in "kg")
QUERIES = {
    "row-after": f"SELECT k, id, n, lead(n) OVER ({BY_K}) AS b, lead(at) OVER ({BY_K}) - at AS d "
    "FROM t0",
    "two-after": f"SELECT g, id, lead(m, 2, 0.5) OVER ({BY_G}) AS b, lead(g, 1) OVER ({BY_G}) AS c "
    "FROM t0",
    "doubles": f"SELECT k, id, lead(r) OVER ({BY_K}) AS b, r - lead(r) OVER ({BY_K}) AS d FROM "
    "(SELECT *, CAST(m AS DOUBLE) / 3 AS r FROM t0) q",
    "coming": f"SELECT g, id, sum(n) OVER ({BY_G} ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS s, "
    f"max(m) OVER ({BY_G} ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING) AS x FROM t0",
    "all": "SELECT id, lead(id) OVER (ORDER BY at, id) AS b FROM t0",
    "gaps": "SELECT k, sum(d) AS s, max(d) AS m, count(*) AS c, count(DISTINCT d) AS e FROM (SELECT"
    " k, lead(at) OVER (PARTITION BY k ORDER BY at) - at AS d FROM t0) q WHERE d > 0 GROUP BY k",
    "both": f"SELECT k, id, b, lead(id) OVER ({BY_K}) AS a FROM (SELECT k, id, at, lag(id) OVER "
    f"({BY_K}) AS b FROM t0) q",
    "until": "SELECT at, until, count(*) AS c FROM (SELECT at, lead(at) OVER (PARTITION BY g ORDER "
    "BY at) AS until FROM t0 WHERE n > 1) q GROUP BY at, until",
}
OF_THE_ORDER = ("all", "gaps", "until")
"""What these read of the row after is equal for rows that tie, so no key is needed."""


def case(name: str, seed: int) -> Case:
    tables = {"t0": replace(table(random.Random(f"{name}-{seed}")), key=("id",))}
    query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
    return Case(f"{name}-{seed}", tables, query, RUNS, early=True, off=OTHERS[: seed % 2])


def day(name: str, seed: int, engine: Engine) -> Outcome:
    return run_case(case(name, seed), engine, every_time_point=True)


@pytest.mark.parametrize("name", ["row-after", "all", "gaps"])
def test_few_rows_are_computed_again_only_where_a_key_tells_rows_apart(name: str) -> None:
    few_values = (("k", ColumnStats(distinct=100.0)), ("g", ColumnStats(distinct=50.0)))
    (source,) = case(name, 0).sources
    source = replace(source, rows=50_000_000, bytes=10**9, stats=few_values)
    points = TimePoint(weight=0.1, arrived=0.9), TimePoint(weight=1.0, arrived=1.0)
    asked = PlanRequest(report="r", sql=QUERIES[name], sources=(source,), points=points)
    found = plan(asked)
    assert chosen_rules(found)[RULE.name] > 0
    assert found.plan.runs[-1].estimated_cost < 0.8 * found.plan.batch_cost
    for unsaid in (replace(source, ordered_by=""), replace(source, keys=())):
        told = name in OF_THE_ORDER and unsaid.ordered_by
        goes_on = chosen_rules(plan(replace(asked, sources=(unsaid,))))[RULE.name] > 0
        assert goes_on is bool(told)


@pytest.mark.parametrize("name", QUERIES)
def test_a_day_equals_batch(name: str) -> None:
    days_equal_batch(name, day)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["row-after", "coming", "all", "both"])
def test_and_on_spark(name: str) -> None:
    assert run_case(case(name, DAYS + 1), PlainSparkEngine(spark_session())).kept > 0


@pytest.mark.parametrize(
    ("there", "at", "number", "holds"),
    [(0, 19, 7, True), (0, 19, 1, False), (0, 15, 7, False), (5, 19, 7, False)],
)
def test_what_was_declared_and_does_not_hold_is_noticed(
    there: int, at: int, number: int, holds: bool
) -> None:
    """Two rows that come tie although the key says that they do not, or the last two that were
    there, or a row is not later."""
    rows = (1, "a", 16, 1, None, there), (1, "b", 16, 1, None, 5)
    came = (1, "a", 19, 1, None, 1), (1, "a", at, 1, None, number)
    one = TableCase(COLUMNS, True, (rows, came), ordered_by="at", key=("id",))
    query = QueryCase((Select(("1",), "t0"),), outer=QUERIES["row-after"])
    one_day = Case("late", {"t0": one}, query, 2, early=True, off=OTHERS)
    engine = InterpreterEngine()
    with engine.recording():
        if holds:
            assert run_case(one_day, engine).kept > 0
            return
        with pytest.raises(Exception, match="USER_RAISED_EXCEPTION"):
            run_case(one_day, engine)
