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


def request_of(report: str) -> PlanRequest:
    """A report of the demo at its scale."""
    sources = tuple(
        replace(s, changing=True, rows=ROWS[s.name], bytes=60 * ROWS[s.name])
        for s in SOURCES
        if s.name in ROWS
    )
    weights = ((0.25, 0.58), (0.3, 0.79), (1.0, 1.0))
    points = tuple(TimePoint(weight=weight, arrived=arrived) for weight, arrived in weights)
    text = (REPORTS / f"{report}.sql").read_text()
    return PlanRequest(
        report=report, sql=text, sources=sources, points=points, method="progressive"
    )


@pytest.mark.parametrize("report", ["top_orders", "customer_distribution"])
def test_early_runs_keep_what_would_pay_but_for_the_starts_of_stages(report: str) -> None:
    found = api.plan(request_of(report)).plan
    assert api.plan(replace(request_of(report), method="auto")).plan.method != "incremental"
    assert [run.opened for run in found.runs] == [True, True, True]
    for run in found.runs[:-1]:
        assert any(isinstance(stage.output, ArtifactOutput) for stage in run.stages)
    forced = replace(request_of(report), settings=Settings(temporal="early"))
    assert found.estimated_cost < 0.6 * api.plan(forced).plan.estimated_cost
