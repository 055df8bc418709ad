"""What a plan says that its stages cost: it is what the search has charged for their run."""

from __future__ import annotations

from forerun.planner.contract.plan_v1 import Plan
from forerun.planner.request import PlanRequest

_ROUNDED = 50
"""Millionths of a CPU second that rounding may make of a run, whose parts are rounded each."""


def check_costs(found: Plan, request: PlanRequest) -> None:
    """Stages are costed once more when they are made, at prices that remember what they were
    multiplied by (forerun.planner.temporal.itemized). Beside its stages a run costs its start, and
    checks where something is declared or taken back."""
    prices = request.settings.prices
    start = 0.0 if request.method == "progressive" else prices.run_start
    checked = any(source.relies_not_null for source in found.sources)
    checked = checked or any(source.retracted for source in request.sources)
    for run in found.runs:
        if not run.stages:
            continue
        charged = start + sum(stage.estimated_cost for stage in run.stages)
        over = run.estimated_cost - charged
        slack = _ROUNDED + 1e-9 * charged
        if over < -slack or (over > slack and not checked):
            raise AssertionError(f"run {run.index} costs {over} besides its start and its stages")
        for stage in run.stages:
            cost = sum(prices.of(name) * count for name, count in stage.work)
            if abs(cost - stage.estimated_cost) > 100 + 1e-4 * cost:
                raise AssertionError(f"the work of {stage.title} costs {cost} at its prices")
