"""The text without its LIMIT: only the clause goes, and where it is not clear which, nothing."""

from __future__ import annotations

import pytest

from forerun.planner.sql.syntax.unlimited import without_limit


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t ORDER BY a LIMIT 5", "SELECT a FROM t ORDER BY a"),
        ("SELECT a FROM t LIMIT 5 OFFSET 2;", "SELECT a FROM t;"),
        ("SELECT a FROM t OFFSET 2", "SELECT a FROM t"),
        ("select 'limit 3' as x from t limit (2 + 3)", "select 'limit 3' as x from t"),
        ("SELECT a -- LIMIT 1\nFROM t\nLIMIT 3 -- rows\n", "SELECT a -- LIMIT 1\nFROM t"),
        (
            "SELECT * FROM (SELECT a FROM t ORDER BY a LIMIT 2) x WHERE a > 0",
            "SELECT * FROM (SELECT a FROM t ORDER BY a) x WHERE a > 0",
        ),
        (
            "SELECT a FROM t WHERE a IN (SELECT a FROM s LIMIT 1) LIMIT 2",
            "SELECT a FROM t WHERE a IN (SELECT a FROM s LIMIT 1)",
        ),
    ],
)
def test_the_clause_goes_and_nothing_else(sql: str, expected: str) -> None:
    assert without_limit(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t",
        "(SELECT a FROM t LIMIT 1) UNION ALL (SELECT a FROM t LIMIT 2)",
        "SELECT 'open FROM t LIMIT 1",
    ],
)
def test_where_it_is_not_clear_which_there_is_no_text(sql: str) -> None:
    assert without_limit(sql) is None
