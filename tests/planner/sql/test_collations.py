"""Texts with a collation, of a column or of a value: what reads one is for the text to compute,
and is refused nowhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint

T = Source(
    name="t",
    columns=tuple(
        SourceColumn(name=name, type=parse_type(kind))
        for name, kind in (("k", "INT"), ("s", "STRING"), ("c", "STRING COLLATE UNICODE_CI"))
    ),
    changing=True,
    rows=50_000_000,
)
U = replace(T, name="u", columns=T.columns[:2])
READ = (
    "SELECT * FROM t",
    "SELECT count(c) AS n FROM t",
    "SELECT k FROM t WHERE c = 'a'",
    "SELECT k FROM t WHERE c LIKE 'a%' OR c || 'x' IN ('bx') OR coalesce(c, 'z') <> s",
    "SELECT c, count(*) AS n FROM t GROUP BY c HAVING max(c) > 'b'",
    "SELECT c AS v FROM t UNION SELECT s FROM u",
    "SELECT t.k FROM t JOIN u ON t.c = u.s",
    "SELECT k FROM t WHERE c NOT IN (SELECT s FROM u)",
    "SELECT k, (SELECT max(s) FROM u WHERE u.s = t.c) AS m FROM t",
    "SELECT k, row_number() OVER (PARTITION BY c ORDER BY k) AS n FROM t",
    "SELECT k FROM t WHERE s COLLATE UTF8_LCASE = 'a'",
    "SELECT count(*) AS n FROM t GROUP BY s COLLATE system.builtin.UNICODE",
    "SELECT upper(s) || 'x' COLLATE `UNICODE` AS v FROM t",
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i FROM r WHERE i < 9) SELECT c FROM t, r",
)
NOT_READ = (
    "SELECT k, count(*) AS n FROM t GROUP BY k",
    "SELECT k FROM (SELECT * FROM t) q GROUP BY k",
    "SELECT k FROM t UNION SELECT k FROM u",
    "SELECT t.k, count(u.s) AS n FROM t LEFT JOIN u ON t.s = u.s GROUP BY t.k",
)


def because(sql: str) -> str:
    points = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.25, 0.8), (1.0, 1.0)))
    settings = Settings(temporal="early")
    request = PlanRequest(report="r", sql=sql, sources=(T, U), points=points, settings=settings)
    return plan(request).plan.batch_because


@pytest.mark.parametrize("sql", READ)
def test_what_reads_a_collated_column_is_computed_by_the_text(sql: str):
    assert because(sql) == "a collation is a part of a type, and of how its values are compared"


@pytest.mark.parametrize("sql", NOT_READ)
def test_a_collated_column_that_is_only_there_changes_nothing(sql: str):
    assert because(sql) == ""
