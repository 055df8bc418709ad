"""State that final runs leave for repairs and for the next day of a rolling range: kept where they
are expected, and read by them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.reports.spec import RunPolicy, RunTime, SpecError
from forerun.include.runs.state_left import Following, with_state_left
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.contract import ArtifactOutput, Plan, ResultOutput
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


JOINED = (
    "SELECT names.name, sum(facts.v) AS total FROM facts JOIN names ON facts.k = names.k "
    "GROUP BY names.name"
)
ROLLING = Following(
    times=6.0, brings={"facts": 2 / 7}, rolling=frozenset({"facts"}), is_certain=True
)


def rolling_day(committed: tuple[Committed, ...] = ()) -> PlanRequest:
    """The only run of a day over a rolling range; with what an earlier one has kept, if it has."""
    final = request_of(2)
    (facts,) = final.sources
    facts = replace(facts, change="changelog", proven=True)
    text = SourceColumn(name="name", type=parse_type("STRING"))
    names = Source(name="names", columns=(facts.columns[0], text), rows=100_000_000, bytes=10**9)
    settings = replace(final.settings, rules_off=("EagerAggregate",))  # or sums alone are kept
    alone = replace(
        final, sql=JOINED, sources=(facts, names), points=POINTS[1:], current=1, first_sources=(),
        settings=settings,
    )  # fmt: skip
    if not committed:
        return alone
    before = TimePoint(weight=1.0, arrived=0.9999, by_source=(("facts", 0.9999),))
    gone = replace(facts, retracted=1 / 7 / 0.0001)
    return replace(
        alone,
        sources=(gone, names),
        first_sources=alone.sources,
        points=(before, *alone.points),
        current=2,
        committed=committed,
        runs_before=1,
    )


def kept_by(found: Plan) -> set[str]:
    return {s.output.family for s in found.run.stages if isinstance(s.output, ArtifactOutput)}


def test_days_of_a_rolling_range_keep_the_same():
    """Or each would begin families of its own, and what the day before has kept would be lost."""
    alone = rolling_day()
    first = with_state_left(alone, plan(alone), ROLLING)
    assert kept_by(first)
    families = tuple(first.family(one) for one in sorted(kept_by(first)))
    request = rolling_day((Committed(index=1, families=families, starts=(1,)),))
    result = plan(request)
    second = with_state_left(request, result, replace(ROLLING, times=5.0))
    of_facts = {family.id for family in families if "facts" in family.sources}
    assert of_facts < kept_by(first)  # names do not change, and are kept once for all days
    assert kept_by(second) == of_facts
    assert (second.current, second.run.index, second.run.base, len(second.runs)) == (1, 1, 0, 1)
    assert 3 * second.run.estimated_cost < first.run.estimated_cost


def test_what_the_next_day_has_no_use_for_is_not_kept():
    alone = rolling_day()
    other = replace(ROLLING, others=frozenset({"names", "facts"}))
    assert with_state_left(alone, plan(alone), other) == plan(alone).plan


def test_the_last_day_of_a_row_keeps_nothing():
    alone = rolling_day()
    assert not kept_by(with_state_left(alone, plan(alone), None))


def test_checkpoints_are_no_state_that_is_left() -> None:
    """They are of one run: not of the day that follows, and of no use to it."""
    day = rolling_day()
    day = replace(
        day, sql=IN_PARTS, sources=day.sources[:1],
        settings=replace(day.settings, own_batch="always", interruptions=0.01),
    )  # fmt: skip
    result = plan(day)
    assert [family.kind for family in result.plan.families] == ["checkpoint"]
    left = with_state_left(day, result, ROLLING)
    assert [family.kind for family in left.families] == ["state"]
    useless = replace(ROLLING, others=frozenset({"facts"}))
    assert with_state_left(day, result, useless) is result.plan


IN_PARTS = """
SELECT max(a.total) AS most, max(b.ways) AS ways
FROM (SELECT k, sum(v) AS total FROM facts GROUP BY k) AS a
JOIN (SELECT k, count(DISTINCT v) AS ways FROM facts GROUP BY k) AS b ON a.k = b.k
"""
