"""Plans of one query, SUM(v) by k over one source, made in microseconds in place of the planner.

What the protocol needs of a plan is that it keeps state early and reads it later. Which of these it
does is the scenario's choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from forerun.planner.contract import (
    ArtifactOutput,
    ColumnSpec,
    Family,
    FamilyInput,
    Plan,
    ResultOutput,
    SourceInput,
    Stage,
)
from forerun.planner.contract.plan_v1 import CONTRACT_VERSION, Run, SourceTable
from forerun.planner.request import PlanRequest

SOURCE = "orders"
COLUMNS = (ColumnSpec(name="k", type="BIGINT"), ColumnSpec(name="v", type="BIGINT"))
FINGERPRINT = "5ca1ab1e" * 8
DELTA = SourceInput(view=f"{SOURCE}__delta", source=SOURCE, version="delta")
SNAPSHOT = SourceInput(view=SOURCE, source=SOURCE, version="snapshot")


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a report is planned. ``early``: the early runs that do something; ``keep_final``: the
    final run keeps its partition, too; ``buckets``: of what is kept, 0 for none."""

    early: tuple[int, ...] = (1, 2)
    keep_final: bool = True
    buckets: int = 2


def make_plan(request: PlanRequest, style: Style) -> SimpleNamespace:
    """The plan of run ``request.current``, where :func:`forerun.planner.api.plan` would be
    asked."""
    current, last = request.current, len(request.points)
    family = Family(
        id="sums",
        kind="state",
        fingerprint=FINGERPRINT,
        title="sums by k",
        columns=COLUMNS,
        key=("k",),
        buckets=style.buckets,
        sources=(SOURCE,),
    )
    final = current == last
    result = final or current in request.problem.results_at
    opened = final or result or current in style.early
    stages = _stages(request, family, style, result=result) if opened else ()
    base = request.committed[-1].index if request.committed else 0
    runs = tuple(
        Run(
            index=index,
            weight=point.weight,
            opened=opened if index == current else True,
            base=base if index == current else 0,
            stages=stages if index == current else (),
            arrived=point.arrived,
            committed=any(index == run.index for run in request.committed),
            early_result=result and not final and index == current,
        )
        for index, point in enumerate(request.points, start=1)
    )
    plan = Plan(
        version=CONTRACT_VERSION,
        report=request.report,
        sql=request.sql,
        method="incremental",
        current=current,
        sources=(SourceTable(name=SOURCE, columns=COLUMNS, changing=True),),
        families=(family,),
        runs=runs,
        session=(),
        estimated_cost=1,
        batch_cost=1,
    )
    return SimpleNamespace(plan=plan)


def _stages(
    request: PlanRequest,
    family: Family,
    style: Style,
    *,
    result: bool,
) -> tuple[Stage, ...]:
    whole = all(any(f.id == family.id for f in run.families) for run in request.committed)
    keep = whole and (style.keep_final or request.current < len(request.points))
    stages = []
    if keep:
        stages.append(_sum("s1", (DELTA,), ArtifactOutput(family=family.id)))
    if result:
        own = (FamilyInput(family=family.id),)
        kept = own if keep else (*own, DELTA)
        inputs = kept if whole else (SNAPSHOT,)
        stages.append(_sum("s2", inputs, ResultOutput(columns=("k", "v"))))
    return tuple(stages)


def _sum(
    name: str,
    inputs: tuple[SourceInput | FamilyInput, ...],
    output: ArtifactOutput | ResultOutput,
) -> Stage:
    names = [one.view if isinstance(one, SourceInput) else one.family for one in inputs]
    sql = f"SUM(v) BY k OF {', '.join(names)}"
    return Stage(id=name, title="sum", sql=sql, inputs=inputs, output=output)
