"""Days so small that nothing repays early work, whose early runs are asked for all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner import api
from forerun.planner.contract.plan_v1 import ArtifactOutput
from forerun.planner.request import PlanRequest, Settings, TimePoint
from tests.planner.sql.tpch import SOURCES

REPORTS = Path(__file__).parents[3] / "include" / "sql"
ROWS = {"customer": 150_000, "orders": 1_500_000, "lineitem": 6_000_000}


TOP_ORDERS = """
    SELECT o.o_orderkey, SUM(l.l_extendedprice * (1 - l.l_discount)) AS revenue, o.o_orderdate
    FROM customer c
    JOIN orders o ON o.o_custkey = c.c_custkey
    JOIN lineitem l ON l.l_orderkey = o.o_orderkey
    WHERE c.c_mktsegment = 'BUILDING'
    GROUP BY o.o_orderkey, o.o_orderdate
    ORDER BY revenue DESC, o.o_orderdate, o.o_orderkey
    LIMIT 10
"""
CUSTOMER_DISTRIBUTION = (REPORTS / "customer_distribution.sql").read_text()


DELIVERY_NOTES = (REPORTS / "delivery_notes.sql").read_text()


def request_of(sql: str) -> PlanRequest:
    """A report at the scale of the demo."""
    sources = tuple(
        replace(s, changing=True, rows=ROWS[s.name], bytes=60 * ROWS[s.name])
        for s in SOURCES
        if s.name in ROWS
    )
    weights = ((0.25, 0.58), (0.3, 0.79), (1.0, 1.0))
    points = tuple(TimePoint(weight=weight, arrived=arrived) for weight, arrived in weights)
    return PlanRequest(report="r", sql=sql, sources=sources, points=points, method="progressive")


@pytest.mark.parametrize(
    "sql", [TOP_ORDERS, CUSTOMER_DISTRIBUTION], ids=["top_orders", "customer_distribution"]
)
def test_early_runs_keep_what_would_pay_but_for_the_starts_of_stages(sql: str) -> None:
    found = api.plan(request_of(sql)).plan
    assert api.plan(replace(request_of(sql), method="auto")).plan.method != "incremental"
    assert [run.opened for run in found.runs] == [True, True, True]
    for run in found.runs[:-1]:
        assert any(isinstance(stage.output, ArtifactOutput) for stage in run.stages)
    forced = replace(request_of(sql), settings=Settings(temporal="early"))
    assert found.estimated_cost < 0.6 * api.plan(forced).plan.estimated_cost


def test_the_demo_works_early_because_it_pays() -> None:
    """At its own scale and prices, in mode ``auto``: or it would show what the product is not."""
    found = api.plan(replace(request_of(DELIVERY_NOTES), method="auto")).plan
    assert found.method == "incremental"
    assert any(run.opened for run in found.runs[:-1])
    assert found.estimated_cost < 0.8 * found.batch_cost
