"""The plan as the SQL that each run executes, stage by stage, as Spark gets it."""

from __future__ import annotations

from forerun.planner.contract.plan_v1 import FamilyInput, Plan, Run, Stage
from forerun.planner.cost.constants import MICRO
from forerun.planner.explain.tree import stage_target
from forerun.planner.sql.printing.names import quote


def render(plan: Plan) -> str:
    """All stages as a commented SQL script. The statements are exactly those of the contract."""
    return "\n".join(_run(plan, run) for run in plan.runs)


def _run(plan: Plan, run: Run) -> str:
    head = f"-- run {run.index}: weight {run.weight:g}, {run.arrived:.0%} arrived"
    if run.committed:
        return f"{head}; committed\n"
    if not run.opened:
        return f"{head}; not opened\n"
    head += f"; estimated {run.estimated_cost / MICRO:.2f} CPU s"
    if run.base:
        head += f"; goes on from run {run.base}"
    return "\n".join([head, "", *(_stage(plan, stage) for stage in run.stages)])


def _stage(plan: Plan, stage: Stage) -> str:
    inputs = ", ".join(
        given.family if isinstance(given, FamilyInput) else f"{given.view} ({given.version})"
        for given in stage.inputs
    )
    bound = "".join(f"-- :{p.name} is {p.type} {p.value!r}\n" for p in stage.parameters)
    return (
        f"-- stage {stage.id}: {stage.title}\n"
        f"-- reads {inputs or 'nothing'}\n{bound}"
        f"-- writes {stage_target(plan, stage.output)}\n"
        f"{statements(stage)}\n"
    )


def statements(stage: Stage) -> str:
    """The statements of a stage, as they would be typed: what is computed before it as views, and
    its own."""
    made = (
        f"CREATE OR REPLACE TEMPORARY VIEW {quote(side.view)} AS\n{side.sql};\n"
        for side in stage.small_sides
    )
    return f"{''.join(made)}{stage.sql.strip().rstrip(';')};"
