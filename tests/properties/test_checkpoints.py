"""Generated days whose results are cut wherever they can be: they equal the user's text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.api import PlanResult, plan
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.request import PlanRequest, Problem
from tests.oracles.values import NotInterpretedError
from tests.properties.chunks import starts
from tests.properties.engines import InterpreterEngine, PlainSailEngine, PlainSparkEngine
from tests.properties.execute import Engine, RefusedError, run_case
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session, spark_session

CHUNK = 20


def free(prices: Prices) -> Prices:
    """Prices at which it costs nothing to store rows."""
    return replace(prices, stage_start=0.0, write_row=0.0, write_byte=0.0, task=0.0, file_write=0.0)


class FreeInterpreter(InterpreterEngine):
    prices = free(SPARK)


class FreeSpark(PlainSparkEngine):
    prices = free(SPARK)


class FreeSail(PlainSailEngine):
    prices = free(PlainSailEngine.prices)


def cuts(engine: Engine, seeds: range, *, for_sail: bool = False) -> list[int]:
    """Play days, with an early result in every other one; how many checkpoints each had."""
    found = []
    for seed in seeds:
        case = replace(random_case(seed, for_sail=for_sail), effort=(("interruptions", 1e6),))
        early = Problem(results_at=(1,)) if case.runs > 1 and seed % 2 else Problem()
        stored = Counted()
        try:
            run_case(case, engine, problem=early, planned=stored, judge_kept=not for_sail)
        except (RefusedError, NotInterpretedError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        found.append(stored.count)
    return found


class Counted:
    """Plans, and counts the checkpoints of the runs that are executed."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, request: PlanRequest) -> PlanResult:
        found = plan(request)
        kinds = {family.id: family.kind for family in found.plan.families}
        self.count += sum(
            kinds.get(getattr(stage.output, "family", "")) == "checkpoint"
            for stage in found.plan.run.stages
        )
        return found


@pytest.mark.parametrize("start", starts(97_000, 10 * CHUNK, CHUNK, fast=CHUNK))
def test_days_with_checkpoints_equal_batch_on_sail(start: int) -> None:
    found = cuts(FreeSail(sail_session()), range(start, start + CHUNK), for_sail=True)
    assert len(found) >= 0.9 * CHUNK
    assert sum(count > 0 for count in found) >= 0.4 * CHUNK


@pytest.mark.parametrize("start", starts(98_000, 10 * CHUNK, CHUNK, fast=CHUNK))
def test_days_with_checkpoints_equal_batch_without_an_engine(start: int) -> None:
    engine = FreeInterpreter()
    with engine.recording():
        found = cuts(engine, range(start, start + CHUNK))
    assert sum(count > 0 for count in found) >= 0.4 * CHUNK
    assert sum(count > 1 for count in found) >= 0.1 * CHUNK


@pytest.mark.spark
def test_and_on_spark() -> None:
    found = cuts(FreeSpark(spark_session()), range(97_500, 97_506))
    assert sum(count > 0 for count in found) >= 2
