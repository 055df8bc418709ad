"""Days of queries over structs, arrays and maps: passed on, kept, taken apart, grouped by; and over
the rows that generators make of them."""

from __future__ import annotations

import pytest

from tests.properties.chunks import check_chunk, starts
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.generate import NESTED
from tests.properties.sessions import spark_session

CHUNK, DAYS = 15, 300


@pytest.mark.parametrize("family", NESTED)
@pytest.mark.parametrize("start", starts(60_000, DAYS, CHUNK, fast=CHUNK))
def test_what_is_kept_equals_batch(start: int, family: str) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        seeds = range(start, start + CHUNK)
        outcomes = check_chunk(engine, seeds, every_time_point=2, family=family)
    assert len(outcomes) >= 0.9 * CHUNK
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.1 * CHUNK


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.slow
@pytest.mark.parametrize("family", NESTED)
@pytest.mark.parametrize("start", range(61_000, 61_060, 20))
def test_and_on_spark(start: int, family: str) -> None:
    engine, oracle = PlainSparkEngine(spark_session()), InterpreterEngine()
    seeds = range(start, start + 20)
    outcomes = check_chunk(engine, seeds, every_time_point=100, oracle=oracle, family=family)
    assert sum(outcome.judged for outcome in outcomes) >= 15
