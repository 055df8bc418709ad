"""``--as-if``: the statistics of more rows of the same kind."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import plan
from forerun.planner.errors import RequestError
from forerun.planner.request import ColumnStats, PlanRequest, Source, SourceColumn, TimePoint
from forerun.simulation.scaled import as_if, parse_factor


def orders(rows: int) -> Source:
    return Source(
        name="orders",
        columns=(SourceColumn(name="k", type=BIGINT), SourceColumn(name="status", type=STRING)),
        changing=True,
        rows=rows,
        bytes=rows * 40,
        stats=(
            ("k", ColumnStats(minimum="1", maximum=str(rows), distinct=float(rows))),
            ("status", ColumnStats(minimum="F", maximum="P", distinct=3.0)),
        ),
    )


def request(rows: int) -> PlanRequest:
    points = (TimePoint(weight=0.2, arrived=0.8), TimePoint(weight=1.0))
    sql = "SELECT k % 1000 AS g, status, count(*) AS n FROM orders GROUP BY k % 1000, status"
    return PlanRequest(report="r", sql=sql, sources=(orders(rows),), points=points)


def test_as_if_is_what_statistics_of_so_many_rows_would_say():
    (source,) = as_if(request(1_000_000), 1000).sources
    (wanted,) = request(1_000_000_000).sources
    stats = dict(source.stats)
    assert (source.rows, source.bytes) == (wanted.rows, wanted.bytes)
    assert stats["status"] == dict(wanted.stats)["status"]
    assert stats["k"].distinct == 1e9
    assert int(stats["k"].maximum) == pytest.approx(1e9, rel=0.01)


def test_a_day_that_is_batch_here_works_early_over_more():
    small, large = plan(request(20_000)).plan, plan(as_if(request(20_000), 100_000)).plan
    assert small.method == "batch"
    assert [run.opened for run in large.runs] == [True, True]


@pytest.mark.parametrize(("text", "factor"), [("1000x", 1000.0), ("2.5", 2.5), ("10X", 10.0)])
def test_factors(text, factor):
    assert parse_factor(text) == factor


@pytest.mark.parametrize("text", ["", "x", "-3x", "0x", "1e3", "many"])
def test_what_is_no_factor_is_refused(text):
    with pytest.raises(RequestError, match="is no factor"):
        parse_factor(text)
