"""A window has its rows by what it partitions by, and sorts them: what that costs, and spares."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import BIGINT, DOUBLE
from forerun.planner.api import PlanResult, plan
from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.request import (
    ColumnStats,
    Method,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from tests.planner.starts import CHEAP_RUNS

ROWS, WIDTH = 60_000_000, 24.0
SALES = Source(
    name="sales",
    columns=(
        SourceColumn(name="k", type=BIGINT),
        SourceColumn(name="g", type=BIGINT),
        SourceColumn(name="x", type=DOUBLE),
        SourceColumn(name="y", type=DOUBLE),
    ),
    changing=True,
    rows=ROWS,
    bytes=int(ROWS * WIDTH),
    stats=(("k", ColumnStats(distinct=1e6)), ("g", ColumnStats(distinct=1e3))),
)
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.3, 0.6), (0.5, 0.9), (1.0, 1.0)))


def planned(sql: str, method: Method = "auto") -> PlanResult:
    return plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=(SALES,),
            points=POINTS,
            method=method,
            settings=Settings(prices=CHEAP_RUNS),
        )
    )


def batch_cost(sql: str) -> float:
    return planned(sql, "batch").plan.batch_cost


def test_rows_are_moved_to_their_window_once():
    """A grouping by the same columns finds them in place."""
    moved = operators.exchange(Size(ROWS, WIDTH), CHEAP_RUNS)
    rows = batch_cost("SELECT k, x, y FROM sales")
    windows = "SELECT k, x, y, row_number() OVER (PARTITION BY k ORDER BY x) AS r FROM sales"
    ranked = batch_cost(windows)
    assert ranked - rows == pytest.approx(ROWS * CHEAP_RUNS.sort_row + moved, rel=0.01)
    grouped = batch_cost(f"SELECT k, max(r) AS r FROM ({windows}) GROUP BY k")
    assert 0 < grouped - ranked < moved


def test_single_rows_are_not_sorted_to_be_merged():
    """Of six new rows a group, grouped first: the window then sorts groups. Sums are merged without
    a window, and take the rows as they are."""

    def groups_first(value: str) -> bool:
        (last,) = planned(f"SELECT k, {value} FROM sales GROUP BY k").plan.runs[-1].stages
        return "GROUP BY `sales__delta`.`k`" in last.sql

    assert groups_first("stddev(x)")
    assert not groups_first("sum(x)")


@pytest.mark.parametrize("value", ["stddev(x)", "covar_samp(x, y)", "corr(x, y)"])
def test_states_that_are_merged_by_a_window_are_kept(value: str):
    result = planned(f"SELECT g, {value} FROM sales GROUP BY g")
    assert [len(run.stages) for run in result.plan.runs] == [1, 1, 1]
