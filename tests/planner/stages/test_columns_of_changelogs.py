"""Of a changelog a plan says which columns the report depends on: its rows are added up by them."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import plan
from forerun.planner.request import Method, PlanRequest, Source, SourceColumn, TimePoint

COLUMNS = tuple(
    SourceColumn(name=name, type=STRING if name == "g" else BIGINT) for name in ("g", "v", "x", "y")
)
POINTS = (TimePoint(weight=0.2, arrived=0.5), TimePoint(weight=1.0))


def read(sql: str, method: Method, change: str = "changelog") -> tuple[str, ...]:
    orders = Source(
        name="orders", columns=COLUMNS, changing=True, change=change, rows=1000, bytes=30_000
    )  # type: ignore[arg-type]
    request = PlanRequest(report="r", sql=sql, sources=(orders,), points=POINTS, method=method)
    return plan(request).plan.sources[0].reads


@pytest.mark.parametrize("method", ["batch", "progressive"])
@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT g, sum(v) AS s FROM orders GROUP BY g", ("g", "v")),
        ("SELECT max(x) AS m FROM orders", ("x",)),
        ("SELECT g, n FROM (SELECT g, v, count(*) AS n FROM orders GROUP BY g, v) o", ("g", "v")),
        ("SELECT * FROM orders", ("g", "v", "x", "y")),
        ("SELECT a.g FROM orders a JOIN orders b ON a.x = b.y", ("g", "x", "y")),
    ],
)
def test_the_columns_are_those_that_the_result_depends_on(sql, columns, method):
    assert read(sql, method) == columns


def test_the_text_reads_what_rewriting_would_have_spared():
    """Rewriting drops the condition, and the text that Spark runs still has it."""
    assert read("SELECT g FROM orders WHERE x > 1 OR true", "batch") == ("g", "x")


def test_where_no_column_is_read_the_narrowest_one_counts():
    assert len(read("SELECT count(*) AS n FROM orders", "batch")) == 1


def test_of_a_source_that_only_grows_nothing_is_said():
    assert read("SELECT g FROM orders", "batch", "append_only") == ()
