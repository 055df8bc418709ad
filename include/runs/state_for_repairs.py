"""Plan what a final run leaves for repairs: state as of the whole day, where that is expected to
pay.

A final run keeps nothing by itself, since nothing comes after it. Whoever expects corrections says
how many (:class:`forerun.include.reports.run_policy.RunPolicy`, ``expected_repairs``). The final
run is then planned once more with one time point after it: a repair that brings a few rows, at the
price of the final run times the repairs that are expected, and with the result wanted at both. That
is the problem of the day itself (Tempura, section 2.1), so the cost decides what is kept. Of the
plan the final run is taken; the repair is planned when there is one.
"""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.api import PlanResult, plan
from forerun.planner.contract import ArtifactOutput, Plan, ResultOutput
from forerun.planner.contract.plan_v1 import stated
from forerun.planner.request import PlanRequest, Source, TimePoint

_BRINGS = 0.001
"""How many rows a repair is expected to bring, as a share of those of the day."""


def with_state_left(request: PlanRequest, result: PlanResult, expected: float) -> Plan:
    """Return the plan of a final run that also keeps what ``expected`` repairs would save; the plan
    as it is where keeping more does not pay, where the day is batch, or where the final run would
    cost more than batch.

    Only the cheapest plan for the weighted sum of costs is looked at.
    """
    found, last = result.plan, len(request.points)
    whole_sum = request.problem.objective == "weighted-sum" and request.method != "batch"
    if not expected or request.current != last or found.method != "incremental" or not whole_sum:
        return found
    kept = plan(_with_a_repair(request, expected)).plan
    run = kept.runs[last - 1]
    costly = run.estimated_cost > result.decision.batch.by_run[-1]
    if costly or not any(isinstance(stage.output, ArtifactOutput) for stage in run.stages):
        return found
    stages = tuple(
        replace(stage, title="the report") if isinstance(stage.output, ResultOutput) else stage
        for stage in run.stages
    )
    own = replace(run, stages=stages, early_result=False)
    weighted = stated(found.estimated_cost * run.estimated_cost / max(1, found.run.estimated_cost))
    return replace(
        kept,
        runs=(*kept.runs[: last - 1], own),
        estimated_cost=weighted,
        batch_cost=found.batch_cost,
    )


def _with_a_repair(request: PlanRequest, expected: float) -> PlanRequest:
    """The same request with one more time point, at which a little more has come."""
    before = 1.0 / (1.0 + _BRINGS)
    points = tuple(
        replace(
            point,
            arrived=point.arrived * before,
            by_source=tuple((name, share * before) for name, share in point.by_source),
        )
        for point in request.points
    )
    last = points[-1]
    results = (*request.problem.results_at, len(points))
    return replace(
        request,
        points=(*points, TimePoint(weight=last.weight * expected)),
        sources=tuple(map(_larger, request.sources)),
        problem=replace(request.problem, results_at=tuple(dict.fromkeys(results))),
    )


def _larger(source: Source) -> Source:
    if not source.changing:
        return source
    more = 1.0 + _BRINGS
    return replace(source, rows=round(source.rows * more), bytes=round(source.bytes * more))
