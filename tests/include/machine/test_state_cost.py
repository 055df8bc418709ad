"""What keeping state costs: read from the deployment, and counted by plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.machine.settings import SettingsError, state_cost
from forerun.planner.algebra.types import BIGINT, decimal
from forerun.planner.api import plan
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint


@pytest.mark.parametrize(
    ("said", "cost"), [(None, 0.0), (" ", 0.0), ("0", 0.0), ("480", 480.0), ("0.5", 0.5)]
)
def test_cpu_seconds_for_a_gigabyte(said: str | None, cost: float):
    assert state_cost({} if said is None else {"FORERUN_STATE_COST": said}) == cost


@pytest.mark.parametrize("said", ["-1", "480 s", "much", "1e3", "nan"])
def test_anything_else_is_refused(said: str):
    with pytest.raises(SettingsError, match="FORERUN_STATE_COST is"):
        state_cost({"FORERUN_STATE_COST": said})


SOURCE = Source(
    name="sales",
    columns=(SourceColumn(name="id", type=BIGINT), SourceColumn(name="x", type=decimal(12, 2))),
    changing=True,
    rows=10**9,
    bytes=10**10,
)
POINTS = (TimePoint(weight=0.25, arrived=0.9), TimePoint(weight=1.0))


def kept(cost: float) -> int:
    """How many families a day keeps where a byte costs so much."""
    settings = Settings(prices=replace(SPARK, kept_byte=cost))
    sql = "SELECT id, sum(x) AS s FROM sales WHERE id < 1000 GROUP BY id"
    return len(
        plan(
            PlanRequest(report="r", sql=sql, sources=(SOURCE,), points=POINTS, settings=settings)
        ).plan.families
    )


def test_a_plan_keeps_what_is_worth_its_cost():
    assert kept(0.0) == kept(0.001) == 1
    assert kept(10_000.0) == 0
