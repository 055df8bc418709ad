"""Days of functions that are written with words of their own, stars among arguments, averages of
wide DECIMALs and placed rows: on the row interpreter, and on Spark, which reads the texts itself.
"""

from __future__ import annotations

import pytest

from tests.properties.chunks import check_chunk, starts
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.sessions import spark_session
from tests.selection import few

CHUNK, DAYS = 20, 400


@pytest.mark.parametrize("start", starts(90_000, DAYS, CHUNK, fast=CHUNK))
def test_what_is_kept_equals_batch(start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        seeds = range(start, start + CHUNK)
        outcomes = check_chunk(engine, seeds, every_time_point=2, family="worded")
    assert len(outcomes) >= 0.7 * CHUNK
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.2 * CHUNK


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", few(range(91_000, 91_100, 10), 1))
def test_and_on_spark(start: int) -> None:
    engine = PlainSparkEngine(spark_session())
    seeds = range(start, start + 10)
    outcomes = check_chunk(engine, seeds, every_time_point=100, family="worded")
    assert len(outcomes) >= 8
