"""What stages state of their size."""

from __future__ import annotations

from forerun.planner.algebra.types import BIGINT
from forerun.planner.api import plan
from forerun.planner.contract import ArtifactOutput, Plan
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint

COLUMNS = (SourceColumn(name="k", type=BIGINT), SourceColumn(name="v", type=BIGINT))
ROWS = 1_000_000


def planned(method: str) -> Plan:
    source = Source(name="t", columns=COLUMNS, changing=True, rows=ROWS, bytes=10**8)
    request = PlanRequest(
        report="sizes",
        sql="SELECT k, v FROM t WHERE v IS NOT NULL",
        sources=(source,),
        points=(TimePoint(weight=0.1, arrived=0.25), TimePoint(weight=1.0)),
        method=method,  # type: ignore[arg-type]
        settings=Settings(temporal="early" if method == "auto" else "cost"),
    )
    return plan(request).plan


def test_batch_states_the_rows_of_the_result() -> None:
    (stage,) = planned("batch").runs[-1].stages
    assert 0 < stage.estimated_rows <= 4 * ROWS


def test_an_early_stage_states_what_has_come_by_then() -> None:
    early, final = planned("auto").runs
    kept = [s.estimated_rows for s in early.stages if isinstance(s.output, ArtifactOutput)]
    (result,) = (s.estimated_rows for s in final.stages if s.id == "result")
    assert kept
    assert 0 < max(kept) < result
