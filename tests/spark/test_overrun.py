"""Early runs that stop themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.runs import overrun
from forerun.include.runs.overrun import LEAST_S, SEVERAL, why_stop
from forerun.include.state.commits import read_commit
from forerun.include.state.given_up import all_given_up, read_given_up
from forerun.include.state.records import StageMetrics
from forerun.planner.contract import Plan
from forerun.planner.cost.constants import MICRO
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.executor import GivenUpError
from tests.spark.days import Day, expected, publish, save_rows, save_sums

FIRST, SECOND = [(1, "a", 100), (2, "b", 250)], [(3, "a", 1)]
PLANNED_S = 10
"""What each of the two stages of the run is planned to take."""


@pytest.fixture
def plan(day: Day) -> Plan:
    """The first of two runs, at a quarter of the price. The day is planned to save 20 CPU seconds
    at full price: 80 of such a run, which is planned to take 20."""
    stages = (save_rows(1), save_sums(1))
    day.plan_run(1, tuple(replace(s, estimated_cost=PLANNED_S * MICRO) for s in stages))
    (run,) = day.plan.runs
    runs = (replace(run, weight=0.25), replace(run, index=2, stages=()))
    return replace(day.plan, runs=runs, estimated_cost=100 * MICRO, batch_cost=120 * MICRO)


def first_took(seconds: float) -> list[StageMetrics]:
    return [StageMetrics(stage=save_rows(1).id, rows=1, bytes=1, executor_cpu_s=seconds)]


def test_a_run_stops_where_it_would_cost_more_than_the_day_can_save(plan: Plan) -> None:
    """Two stages of 50 are what the run is worth: the planned 20, and 80 that are saved."""
    assert why_stop(plan, first_took(49.9)) == ""
    said = why_stop(plan, first_took(50.1))
    assert "first 1 of 2 stages took 50.1 CPU seconds where 10.0 were planned" in said
    assert "would take 100, and the day can save 100 by it at most" in said


def test_what_is_only_several_times_dearer_goes_on(plan: Plan) -> None:
    """The day saves next to nothing; but estimates are wrong now and then."""
    close = replace(plan, batch_cost=plan.estimated_cost + 1)
    assert why_stop(close, first_took(SEVERAL * PLANNED_S)) == ""
    assert why_stop(close, first_took(SEVERAL * PLANNED_S + 0.1))
    cheap = tuple(replace(stage, estimated_cost=1) for stage in close.run.stages)
    little = replace(close, runs=(replace(close.run, stages=cheap), close.runs[1]))
    assert why_stop(little, first_took(LEAST_S)) == ""
    assert why_stop(little, first_took(LEAST_S + 0.1))


@pytest.mark.parametrize("why", ["all done", "final", "early result", "not cheaper", "last run"])
def test_a_run_goes_on_that_is_not_there_to_save(plan: Plan, why: str) -> None:
    finished = first_took(1e6)
    assert why_stop(plan, finished)
    if why == "all done":
        finished += [replace(finished[0], stage=save_sums(1).id)]
    elif why == "final":
        plan = replace(plan, runs=plan.runs[:1])
    elif why == "early result":
        plan = replace(plan, runs=(replace(plan.run, early_result=True), plan.runs[1]))
    elif why == "not cheaper":
        plan = replace(plan, estimated_cost=plan.batch_cost)
    else:
        plan = replace(plan, objective="last-run")
    assert why_stop(plan, finished) == ""


def test_a_run_that_gives_up_commits_nothing_and_is_remembered(
    day: Day, sail: SailEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has done by then is known; the next run begins the day anew, and equals batch."""
    monkeypatch.setattr(overrun, "LEAST_S", 0.0)
    day.deliver(FIRST)
    day.plan_run(1, tuple(replace(s, estimated_cost=1) for s in (save_rows(1), save_sums(1))))
    final = replace(day.plan.runs[0], index=2, stages=())
    day.plan = replace(day.plan, runs=(*day.plan.runs, final), estimated_cost=1, batch_cost=2)
    with pytest.raises(GivenUpError, match="first 1 of 2 stages"):
        day.do(sail)
    assert read_commit(day.store, day.at, 1) is None
    (known,) = all_given_up(day.store, day.at)
    assert known == read_given_up(day.store, day.at, 1)
    assert [stage.stage for stage in known.done.metrics.stages] == [save_rows(1).id]
    assert [(a.family, a.rows) for a in known.done.artifacts] == [("f_rows", len(FIRST))]
    with pytest.raises(GivenUpError):  # another attempt takes its stage over, and comes as far
        day.do(sail, "a2")
    assert read_given_up(day.store, day.at, 1) == known
    day.deliver(SECOND)
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), base=0, final=True)
    assert day.rows(day.do(sail)) == expected([FIRST, SECOND])
