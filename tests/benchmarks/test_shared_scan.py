"""What queries want of a table is enough for each of them, and no more than they say."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import BIGINT
from forerun.planner.request import Source, SourceColumn
from tests.benchmarks.shared_scan import Wanted, wanted_of
from tests.properties.sessions import sail_session

COLUMNS = ("k", "a", "b", "unread")
LOW = "SELECT sum(a) AS s FROM t WHERE k < 3"
HIGH = "SELECT b, count(*) AS n FROM t WHERE k > 7 AND a IS NOT NULL GROUP BY b"
TWICE = "SELECT x.b FROM t x JOIN t y ON x.k = y.a WHERE x.k < 3 AND y.b = 1"
ALL = "SELECT max(k) AS k FROM t"


def source() -> Source:
    columns = tuple(SourceColumn(name=name, type=BIGINT) for name in COLUMNS)
    return Source(name="t", columns=columns, rows=1000, bytes=32_000)


def wanted(*texts: str) -> Wanted:
    return wanted_of(texts, (source(),))["t"]


def test_the_columns_of_all_and_the_filter_of_each() -> None:
    found = wanted(LOW, HIGH)
    assert (found.scans, found.columns) == (2, ("a", "b", "k"))
    assert len(found.filters) == 2


def test_each_scan_of_a_query_has_its_filter() -> None:
    assert wanted(TWICE).scans == len(wanted(TWICE).filters) == 2


def test_a_scan_without_a_filter_wants_all_rows() -> None:
    assert wanted(LOW, ALL).filters == ()
    assert wanted(LOW, ALL).columns == ("a", "k")


@pytest.mark.parametrize("texts", [(LOW, HIGH), (LOW, TWICE), (LOW, HIGH, TWICE, ALL)])
def test_queries_give_the_same_rows_of_it(texts: tuple[str, ...]) -> None:
    session = sail_session()
    rows = [(k, a, k % 2, 0) for k in range(10) for a in (None, 1, 8)]
    table = session.createDataFrame(rows, "k LONG, a LONG, b LONG, unread LONG")
    held = wanted(*texts).held(table)
    assert "unread" not in held.columns
    assert held.count() < len(rows) or ALL in texts

    def answers(frame: object) -> list[list[str]]:
        frame.createOrReplaceTempView("t")  # type: ignore[attr-defined]
        return [sorted(map(str, session.sql(text).collect())) for text in texts]

    assert answers(held) == answers(table)
