"""The clock of a query as a parameter."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import Filter, walk
from forerun.planner.algebra.scalar import is_deterministic
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.syntax.clock_calls import with_clock
from tests.planner.sql import tables

DUE = Parameter(name="due", type="TIMESTAMP", value="2026-02-01 06:00:00")


@pytest.mark.parametrize(
    ("sql", "made"),
    [
        ("select now()", "select :due"),
        ("select current_timestamp, CURRENT_TIMESTAMP ( )", "select :due, :due"),
        ("select current_date() - 1", "select CAST(:due AS DATE) - 1"),
        ("select Current_Date, curdate()", "select CAST(:due AS DATE), CAST(:due AS DATE)"),
        ("select localtimestamp", "select CAST(:due AS TIMESTAMP_NTZ)"),
        ("select unix_timestamp()", "select unix_timestamp(:due)"),
        ("select unix_timestamp(g), now, curdate", "select unix_timestamp(g), now, curdate"),
        ("select t.current_date, a as current_date", "select t.current_date, a as current_date"),
        ("select t.current_date, current_date", "select t.current_date, current_date"),
        (
            "with q as (select a as now, a as current_date) select current_date, now() from q",
            "with q as (select a as now, a as current_date) select current_date, :due from q",
        ),
        ("select 'now()', `now`() -- now()\n", "select 'now()', `now`() -- now()\n"),
    ],
)
def test_what_asks_for_the_time(sql: str, made: str) -> None:
    assert with_clock(sql, "due") == made


def test_a_column_comes_before_the_time() -> None:
    sql = "select current_date, current_timestamp, current_date() from t"
    made = "select current_date, :due, CAST(:due AS DATE) from t"
    assert with_clock(sql, "due", ("a", "Current_Date")) == made


def test_nothing_of_it_varies() -> None:
    sql = "select a, now() as n from t where f >= current_date() - 30 and g < current_timestamp"
    for text, same in ((sql, False), (with_clock(sql, "due"), True)):
        relation = read_query(text, tables.SOURCES, parameters=(DUE,)).relation
        filters = [node for node in walk(relation) if isinstance(node, Filter)]
        assert all(is_deterministic(node.predicate) for node in filters) is same
