"""Which recursive queries are an operator, and which are left to their text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import walk
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql

STAFF = Source(
    name="staff",
    columns=tuple(
        SourceColumn(name=name, type=type_)
        for name, type_ in (("id", BIGINT), ("boss", BIGINT), ("name", STRING), ("dept", STRING))
    ),
)
BEGIN = "WITH RECURSIVE Tree(id, depth) AS (SELECT id, 0 FROM staff WHERE boss IS NULL UNION ALL "
STEP = "SELECT s.id, t.depth + 1 FROM tree t JOIN staff s ON s.boss = t.id"


def text(step: str = STEP, outside: str = "SELECT * FROM tree") -> str:
    return f"{BEGIN}{step}) {outside}"


def test_an_operator_reads_what_its_steps_read() -> None:
    query = read_query(text(), (STAFF,))
    assert query.only_text == ()
    (found,) = (node for node in walk(query.relation) if isinstance(node, Recursion))
    (table,) = found.inputs
    assert {column.name for column in table.columns} == {"id", "boss"}
    printed = to_sql(query.relation)
    assert "WITH RECURSIVE `Tree`(`c1`, `c2`)" in printed
    assert "`Tree`" in printed.split("UNION ALL")[1]


def test_over_rows_that_come_it_is_the_text() -> None:
    query = read_query(text(), (replace(STAFF, changing=True),))
    assert query.only_text == ("Tree is recursive over rows that come during the day",)
    assert read_query(text(), (STAFF,)).only_text == ()  # what was read before is remembered


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        (text(outside="SELECT id FROM tree LIMIT 5"), "LIMIT ends the recursion"),
        (text(f"{STEP} WHERE s.id NOT IN (SELECT id FROM staff WHERE dept = 'x')"), "more than"),
        (text(f"{STEP} WHERE rand() < 0.5"), "more than"),
        (text(f"{STEP} JOIN (SELECT max(id) AS m FROM staff) q ON q.m > s.id"), "more than"),
    ],
)
def test_what_spark_may_take_otherwise_is_the_text(sql: str, why: str) -> None:
    assert any(why in said for said in read_query(sql, (STAFF,)).only_text)


def test_an_order_above_ends_nothing() -> None:
    outside = "SELECT id FROM tree ORDER BY id LIMIT 5"
    assert read_query(text(outside=outside), (STAFF,)).only_text == ()
