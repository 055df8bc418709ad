"""State that final runs leave for repairs and for the next day of a rolling range: kept where they
are expected, and read by them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.reports.spec import RunPolicy, RunTime, SpecError
from forerun.include.runs.state_left import Following, with_state_left
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.contract import ArtifactOutput, ResultOutput
from forerun.planner.request import (
    ColumnStats,
    Committed,
    PlanRequest,
    Source,
    SourceColumn,
    TimePoint,
)

SQL = "SELECT k, sum(v) AS total, count(*) AS n FROM facts GROUP BY k"
POINTS = (TimePoint(weight=0.2, arrived=0.8), TimePoint(weight=1.0))


def repairs(times: float) -> Following:
    return Following(times=times, brings={"facts": 0.001})


def request_of(current: int, committed: tuple[Committed, ...] = ()) -> PlanRequest:
    """A day of many rows in few groups, so that early work pays."""
    columns = tuple(SourceColumn(name=name, type=parse_type("BIGINT")) for name in ("k", "v"))
    rows = 500_000_000
    facts = Source(
        name="facts",
        columns=columns,
        changing=True,
        rows=rows,
        bytes=16 * rows,
        stats=(("k", ColumnStats(minimum="1", maximum="1000", distinct=1000.0)),),
    )
    return PlanRequest(
        report="totals",
        sql=SQL,
        sources=(facts,),
        points=POINTS,
        current=current,
        committed=committed,
        first_sources=(facts,) if committed else (),
    )


@pytest.fixture(scope="module")
def final() -> PlanRequest:
    """The request of the final run, after the early one has kept what it planned."""
    early = plan(request_of(1)).plan
    outputs = [stage.output for stage in early.run.stages]
    families = tuple(early.family(o.family) for o in outputs if isinstance(o, ArtifactOutput))
    assert families
    return request_of(2, (Committed(index=1, families=families),))


def test_a_final_run_keeps_nothing_unless_repairs_are_expected(final: PlanRequest):
    result = plan(final)
    assert with_state_left(final, result, None) is result.plan
    assert not any(isinstance(s.output, ArtifactOutput) for s in result.plan.run.stages)


def test_it_goes_on_with_what_the_day_has_kept(final: PlanRequest):
    result = plan(final)
    left = with_state_left(final, result, repairs(1.0))
    kept = [s.output.family for s in left.run.stages if isinstance(s.output, ArtifactOutput)]
    assert kept == [family.id for family in final.committed[0].families]
    assert isinstance(left.run.stages[-1].output, ResultOutput)
    assert left.run.stages[-1].title == "the report"
    assert (len(left.runs), left.current, left.run.early_result) == (2, 2, False)
    assert result.plan.run.estimated_cost < left.run.estimated_cost < left.batch_cost


def test_a_repair_after_it_reads_next_to_nothing(final: PlanRequest):
    """Of the planner's own price, at most a fifth of computing the report anew."""
    left = with_state_left(final, plan(final), repairs(1.0))
    outputs = [stage.output for stage in left.run.stages]
    families = tuple(left.family(o.family) for o in outputs if isinstance(o, ArtifactOutput))
    before = TimePoint(weight=1.0, arrived=0.999)
    points = (replace(POINTS[0], arrived=0.799), before, TimePoint(weight=1.0))
    repair = replace(
        final,
        points=points,
        current=3,
        committed=(*final.committed, Committed(index=2, families=families)),
    )
    found = plan(repair).plan
    anew = plan(replace(repair, committed=(), first_sources=())).plan
    assert found.method == "incremental"
    assert found.run.base == 2
    assert 5 * found.run.estimated_cost <= anew.run.estimated_cost


def test_what_seldom_happens_is_not_worth_much(final: PlanRequest):
    """State costs its writing on every day, so a repair in a million days pays for none."""
    result = plan(final)
    assert with_state_left(final, result, repairs(1e-6)) is result.plan


def test_batch_and_early_runs_are_left_as_they_are(final: PlanRequest):
    for request in (request_of(1), replace(final, committed=()), replace(final, method="batch")):
        result = plan(request)
        assert with_state_left(request, result, repairs(1.0)) is result.plan


def test_a_policy_expects_a_number_of_repairs():
    with pytest.raises(SpecError, match="expects -1 repairs"):
        RunPolicy(runs=(RunTime(at="12:00"),), expected_repairs=-1.0)
