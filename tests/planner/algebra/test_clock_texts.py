"""Texts that become a moment by the clock are not kept between runs, whatever makes them one."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import Project
from forerun.planner.algebra.scalar import is_deterministic
from forerun.planner.sql.frontend import read_query
from tests.planner.sql.tables import SOURCES

BY_CLOCK = (
    "DATE'today'", "TIMESTAMP'now'", "TIMESTAMP_NTZ'now'", "TIMESTAMP'12:30'", "TIMESTAMP'T9:5:1'",
    "g > 'yesterday'", "f = ' Today UTC'", "f IN ('today', '2020-01-01')",
    "coalesce(f, 'tomorrow')",
    "f BETWEEN 'yesterday' AND 'today'", "CASE WHEN h THEN f ELSE 'today' END", "'NOW'::timestamp",
    "CAST(concat('to', 'day') AS DATE)", "try_cast('now' AS TIMESTAMP)", "date('today')",
    "timestamp('now')", "to_date('today')", "to_timestamp('now')", "date_add('tomorrow', 1)",
    "year('now')", "months_between('now', f)", "datediff(DAY, 'now', g)", "hour('12:30')",
    "CAST(c AS TIMESTAMP)", "to_timestamp(c)", "hour(c)", "g > c", "date_trunc('day', c)",
)  # fmt: skip
BY_VALUE = (
    "DATE'2020-01-01'", "TIMESTAMP'2020-01-01 12:30:00'", "TIMESTAMP'epoch'", "g > '2020-01-01'",
    "CAST(c AS DATE)", "to_date(c)", "to_timestamp(c, 'yyyy')", "c = 'now'", "concat(c, 'today')",
    "year(c)", "CAST('nowhere' AS STRING)", "f = '2020-1-1'",
)  # fmt: skip


@pytest.mark.parametrize("expression", BY_CLOCK)
def test_by_the_clock(expression):
    assert not all(is_deterministic(scalar) for scalar in items(expression))


@pytest.mark.parametrize("expression", BY_VALUE)
def test_by_what_it_says(expression):
    assert all(is_deterministic(scalar) for scalar in items(expression))


def items(expression):
    relation = read_query(f"SELECT {expression} AS v FROM t", SOURCES).relation
    assert isinstance(relation, Project)
    return [scalar for _, scalar in relation.items]
