"""Which lists of a group are known to be the same in whatever order its rows come."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.relational import Aggregate, walk
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.props.lists import determine_lists
from forerun.planner.request import (
    ColumnStats,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.sql.frontend import read_query

COLUMNS = {
    "k": "BIGINT",
    "n": "INT",
    "s": "STRING",
    "c": "STRING COLLATE UTF8_LCASE",
    "x": "DOUBLE",
}
T = Source(
    name="t",
    columns=tuple(SourceColumn(name=n, type=parse_type(kind)) for n, kind in COLUMNS.items()),
    changing=True,
    rows=50_000_000,
    stats=(("k", ColumnStats(distinct=100.0)), ("s", ColumnStats(distinct=100.0))),
)
PLAIN = replace(T, columns=tuple(column for column in T.columns if column.name != "c"))
"""Without the collation, because of which a report is computed by its text."""
DETERMINED = (
    "SELECT k, array_sort(collect_set(s)) AS l FROM t GROUP BY k",
    "SELECT k, sort_array(collect_set(n), false) AS l FROM t GROUP BY k",
    "SELECT k, size(collect_set(s)) + 1 AS l FROM t GROUP BY k",
    "SELECT k FROM t GROUP BY k HAVING array_contains(collect_set(n), 3)",
    "SELECT k, concat_ws('-', sort_array(collect_set(s))) AS l FROM t GROUP BY k",
    "SELECT k, array_sort(collect_set(n)) AS l FROM t GROUP BY k HAVING size(collect_set(n)) > 1",
    "SELECT k, array_sort(collect_list(s)) AS l FROM t GROUP BY k",
    "SELECT k, array_join(sort_array(array_agg(s)), ', ') AS l FROM t GROUP BY k",
    "SELECT k, listagg(s, ', ') WITHIN GROUP (ORDER BY s) AS l FROM t GROUP BY k",
    "SELECT k, transform(array_sort(collect_list(struct(n, s))), v -> v.s) AS l FROM t GROUP BY k",
    "SELECT k, listagg(DISTINCT s) WITHIN GROUP (ORDER BY s DESC) AS l FROM t GROUP BY k",
)
OPEN = (
    "SELECT k, collect_set(s) AS l FROM t GROUP BY k",
    "SELECT k, collect_list(s) AS l FROM t GROUP BY k",
    "SELECT k, array_join(collect_list(s), ', ') AS l FROM t GROUP BY k",
    "SELECT k, listagg(s, ', ') AS l FROM t GROUP BY k",
    "SELECT k, array_sort(collect_list(struct(n, x))) AS l FROM t GROUP BY k",
    "SELECT k, listagg(s, ', ') WITHIN GROUP (ORDER BY n) AS l FROM t GROUP BY k",
    "SELECT k, listagg(c, ', ') WITHIN GROUP (ORDER BY c) AS l FROM t GROUP BY k",
    "SELECT k, array_sort(collect_set(s)) AS l, collect_set(s)[0] AS f FROM t GROUP BY k",
    "SELECT k, array_sort(collect_set(n), (a, b) -> a % 2 - b % 2) AS l FROM t GROUP BY k",
    "SELECT k, array_sort(collect_set(x)) AS l FROM t GROUP BY k",
    "SELECT k, array_sort(collect_set(c)) AS l FROM t GROUP BY k",
    "SELECT k, array_contains(array(collect_set(n)), array(1)) AS l FROM t GROUP BY k",
    "SELECT k, array_sort(array_append(collect_set(s), 'a')) AS l FROM t GROUP BY k",
)


def request_of(sql: str) -> PlanRequest:
    """A day of two runs, whose early one does what it can."""
    points = tuple(
        TimePoint(weight=weight, arrived=there) for weight, there in ((0.25, 0.8), (1.0, 1.0))
    )
    return PlanRequest(
        report="r", sql=sql, sources=(PLAIN,), points=points, settings=Settings(temporal="early")
    )


def are_determined(sql: str) -> set[bool]:
    relation = determine_lists(read_query(sql, [T]).relation)
    nodes = (node for node in walk(relation) if isinstance(node, Aggregate))
    return {call.determined for node in nodes for _, call in node.calls}


@pytest.mark.parametrize("sql", DETERMINED)
def test_the_order_does_not_matter(sql: str) -> None:
    assert are_determined(sql) == {True}


@pytest.mark.parametrize("sql", OPEN)
def test_the_order_may_matter(sql: str) -> None:
    assert are_determined(sql) == {False}


LISTS = (
    "SELECT k, array_sort(collect_list(s)) AS l, count(*) AS n FROM t GROUP BY k",
    "SELECT k, collect_list(s) AS l, count(*) AS n FROM t GROUP BY k",
)


@pytest.mark.parametrize("sql", LISTS)
def test_lists_are_kept_as_parts_if_their_order_does_not_matter(sql: str) -> None:
    found = plan(request_of(sql)).plan
    kept = {c.type for one in found.families for c in one.columns}
    determined = sql == LISTS[0]
    assert ("ARRAY<STRING>" in kept) == determined
    assert ("flatten(collect_list(" in found.runs[1].stages[-1].sql) == determined


def test_a_list_is_as_long_as_all_that_it_gathers() -> None:
    """What keeps 50 million texts in a hundred lists writes them all."""
    found = plan(request_of(LISTS[0])).plan
    stage = next(stage for stage in found.runs[0].stages)
    written = dict(stage.work)["write_byte"]
    assert 8 * 40_000_000 < written < 64 * 40_000_000


@pytest.mark.parametrize("sql", [DETERMINED[0], OPEN[0]])
def test_the_values_of_a_set_are_kept_if_its_order_does_not_matter(sql: str) -> None:
    found = plan(request_of(sql)).plan
    kept = {column.name.rsplit("_", 1)[0] for one in found.families for column in one.columns}
    determined = sql == DETERMINED[0]
    assert (kept >= {"k", "value"}) == determined
    assert ("array_sort(collect_set(" in found.runs[1].stages[-1].sql) == determined
