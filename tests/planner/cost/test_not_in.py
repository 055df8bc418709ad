"""NOT IN over one column is a hash join in Spark, and so it is priced; over two, all rows are
compared with all."""

from __future__ import annotations

from forerun.planner import api
from forerun.planner.request import PlanRequest, TimePoint
from tests.planner.materialize.test_own_batch import request_of
from tests.planner.sales import SALES

IN = "SELECT count(*) AS n FROM sales WHERE {} IN (SELECT {} FROM sales WHERE v > 3)"


def batch_s(sql: str) -> float:
    request = PlanRequest(
        report="r", sql=sql, sources=(SALES,), points=(TimePoint(weight=1.0),), method="batch"
    )
    return api.plan(request).plan.batch_cost / 1e6


def test_not_in_costs_about_what_in_does() -> None:
    assert batch_s(IN.format("k NOT", "k")) < 3 * batch_s(IN.format("k", "k"))


def test_not_in_of_two_columns_compares_all_with_all() -> None:
    assert batch_s(IN.format("(k, g) NOT", "k, g")) > 30 * batch_s(IN.format("(k, g)", "k, g"))


def test_q16_is_estimated_in_seconds() -> None:
    """It was 4,800 CPU s at scale 10, for a query that takes a few."""
    assert api.plan(request_of("q16")).plan.batch_cost < 40e6
