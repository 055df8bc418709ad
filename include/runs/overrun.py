"""Decide when an early run had better go no further.

An early run is worth what later runs save by it. If its stages turn out several times dearer than
planned, what is left of it is expected to be so, too; if all of it together then costs more than
the day can save, the run stops, and later runs are planned without it. Executors alone are counted,
so a machine that starts slowly stops nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from forerun.include.state.records import StageMetrics
from forerun.planner.contract import Plan
from forerun.planner.cost.constants import MICRO

SEVERAL = 3.0
"""Stages may take so many times what they were estimated at: of 94 executed runs nine in ten were
within 23 percent of their estimate, and a machine that is twice as slow is so for batch, too."""


LEAST_S = 5.0
"""Executors may always take so many CPU seconds: less is not worth a decision, and is noise."""


def why_stop(plan: Plan, finished: Sequence[StageMetrics]) -> str:
    """Say why the current run should not begin its next stage; empty if it should.

    ``finished`` are its stages so far. A run is never stopped that gives a result, nor one of a day
    that was not planned early for being cheaper than batch.
    """
    run = plan.run
    saving = plan.batch_cost - plan.estimated_cost
    gives_result = run.early_result or run.index >= len(plan.runs)
    if gives_result or plan.objective != "weighted-sum" or saving <= 0 or not run.weight:
        return ""
    estimates = {stage.id: stage.estimated_cost / MICRO for stage in run.stages}
    planned_s = sum(estimates.pop(metrics.stage, 0.0) for metrics in finished)
    spent_s = sum(metrics.executor_cpu_s for metrics in finished)
    if not estimates or spent_s <= max(LEAST_S, SEVERAL * planned_s):
        return ""
    left_s = sum(estimates.values())
    expected_s = spent_s + left_s * spent_s / max(planned_s, 1 / MICRO)
    worth_s = planned_s + left_s + saving / run.weight / MICRO
    if expected_s <= worth_s:
        return ""
    return (
        f"run {run.index} has given up: its first {len(finished)} of {len(run.stages)} stages took "
        f"{spent_s:.1f} CPU seconds where {planned_s:.1f} were planned, so all of it would take "
        f"{expected_s:.0f}, and the day can save {worth_s:.0f} by it at most"
    )
