"""The phrases for kept rows: tables and names of the query, and never the name of an operator."""

from __future__ import annotations

import pytest

from forerun.planner import api
from forerun.planner.algebra.describe import words_of
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.explain import tree
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.planner.sql.frontend import read_query

SOURCES = tuple(
    Source(
        name=name,
        columns=tuple(
            SourceColumn(name=f"{name[0]}_{part}", type=STRING if part == "name" else BIGINT)
            for part in ("key", "name", "value")
        ),
        changing=True,
        rows=1_000_000,
        bytes=40_000_000,
    )
    for name in ("orders", "lines", "shops")
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT o_key FROM orders", "orders rows"),
        ("SELECT o_key + 1 AS k FROM orders WHERE o_value > 1", "selected orders rows"),
        ("SELECT * FROM orders JOIN lines ON o_key = l_key", "join of orders and lines"),
        (
            "SELECT * FROM orders JOIN lines ON o_key = l_key JOIN shops ON s_key = o_value",
            "join of orders, lines and shops",
        ),
        (
            "SELECT * FROM lines LEFT JOIN (SELECT * FROM orders WHERE o_value = 1) ON o_key=l_key",
            "left join of lines and selected orders",
        ),
        ("SELECT o_name, SUM(o_value) AS total FROM orders GROUP BY o_name", "total by o_name"),
        ("SELECT SUM(o_value) AS total FROM orders", "total over orders"),
        ("SELECT DISTINCT o_name, o_key FROM orders", "distinct o_name, o_key of orders"),
        (
            "SELECT o_name FROM orders GROUP BY o_name HAVING MAX(o_value) > 2 AND COUNT(*) > 1",
            "selected max of o_value, count of rows by o_name",
        ),
        (
            "SELECT SUM(o_value) AS total FROM orders JOIN lines ON o_key = l_key",
            "total over (join of orders and lines)",
        ),
        (
            "SELECT o_key FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE l_key = o_key)",
            "orders rows with a match in lines",
        ),
        (
            "SELECT o_key FROM orders WHERE NOT EXISTS (SELECT 1 FROM lines WHERE l_key = o_key)",
            "orders rows without a match in lines",
        ),
        (
            "SELECT o_key FROM orders UNION ALL SELECT l_key FROM lines WHERE l_value = 0",
            "union of orders and selected lines",
        ),
        ("SELECT o_key FROM orders EXCEPT SELECT l_key FROM lines", "orders except lines"),
        (
            "SELECT o_key, RANK() OVER (ORDER BY o_key) r FROM orders",
            "window functions over orders",
        ),
    ],
)
def test_words(text: str, words: str) -> None:
    relation = read_query(text, SOURCES).relation
    assert words_of(relation).of(relation) == words


def test_many_columns_are_cut_short() -> None:
    calls = ", ".join(f"SUM(o_value + {i}) AS s{i}" for i in range(6))
    relation = read_query(f"SELECT o_name, {calls} FROM orders GROUP BY o_name", SOURCES).relation
    assert words_of(relation).of(relation) == "s0, s1, s2, s3 and 2 more by o_name"


def test_two_families_of_one_title_are_told_apart() -> None:
    found = api.plan(
        PlanRequest(
            report="r",
            sql="SELECT a.o_key, b.o_name FROM (SELECT o_key FROM orders WHERE o_value = 1) a "
            "JOIN (SELECT o_key, o_name FROM orders WHERE o_value = 2) b ON a.o_key = b.o_key",
            sources=SOURCES,
            points=(TimePoint(weight=0.25, arrived=0.6), TimePoint(weight=1.0)),
            settings=Settings(temporal="early"),
        )
    )
    titles = [family.title for family in found.plan.families]
    assert titles.count("selected orders rows") == 2
    text = tree.render(found)
    for family in found.plan.families:
        assert f"kept as {family.id}" in text
