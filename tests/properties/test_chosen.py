"""Days of queries whose aggregates choose among rows: each run chooses among its own, and the
result among what all runs have chosen."""

from __future__ import annotations

import pytest

from tests.properties.chunks import check_chunk, starts
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.sessions import spark_session

CHUNK, DAYS = 20, 400


@pytest.mark.parametrize("start", starts(66_000, DAYS, CHUNK, fast=CHUNK))
def test_what_is_kept_equals_batch(start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        seeds = range(start, start + CHUNK)
        outcomes = check_chunk(engine, seeds, every_time_point=2, family="chosen")
    assert len(outcomes) >= 0.9 * CHUNK
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.3 * CHUNK


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.slow
@pytest.mark.parametrize("start", range(67_000, 67_060, 20))
def test_and_on_spark(start: int) -> None:
    engine, oracle = PlainSparkEngine(spark_session()), InterpreterEngine()
    seeds = range(start, start + 20)
    outcomes = check_chunk(engine, seeds, every_time_point=100, oracle=oracle, family="chosen")
    assert sum(outcome.judged for outcome in outcomes) >= 15
