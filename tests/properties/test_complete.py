"""Days whose sources are static or complete before the day is over: whatever is kept of them once,
and whatever is left out because nothing came, the result is that of batch, also where the forecast
was wrong."""

from __future__ import annotations

import pytest

from forerun.planner.api import PlanResult, plan
from forerun.planner.request import PlanRequest
from tests.oracles.values import NotInterpretedError
from tests.properties.chunks import saved, starts
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import Engine, RefusedError, run_case
from tests.properties.generate import completing_case
from tests.properties.sessions import spark_session
from tests.selection import few

CHUNK = 30


class Counting:
    """Plans, and counts the days of which a run leaves something out because nothing came
    (``unchanged``), and those that keep what never changes (``static``)."""

    def __init__(self) -> None:
        self.unchanged = self.static = 0

    def __call__(self, request: PlanRequest) -> PlanResult:
        found = plan(request)
        growing = {source.name for source in request.sources if source.changing}
        self.unchanged += bool(found.plan.run.unchanged)
        self.static += any(growing.isdisjoint(family.sources) for family in found.plan.families)
        return found


def check(engine: Engine, seeds: range) -> Counting:
    """Run the days; shrink and save the first that fails."""
    counting = Counting()
    for seed in seeds:
        case = completing_case(seed)
        try:
            run_case(case, engine, every_time_point=True, judge_kept=True, planned=counting)
        except (RefusedError, NotInterpretedError):
            continue
        except Exception as error:
            where = saved(case, engine, error)
            raise AssertionError(f"seed {seed} ({case.name}), saved as {where}") from error
    return counting


@pytest.mark.parametrize("start", starts(70_000, 20 * CHUNK, CHUNK, fast=CHUNK))
def test_equals_batch_without_an_engine(start):
    engine = InterpreterEngine()
    with engine.recording():
        counted = check(engine, range(start, start + CHUNK))
    assert counted.unchanged >= CHUNK / 3
    assert counted.static >= 1


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", few(range(80_000, 80_200, 20), 1))
def test_equals_batch_on_spark(start):
    check(PlainSparkEngine(spark_session()), range(start, start + 20))
