"""Generated days against batch: whatever the query, the data and the arrivals, the same result.

On the row interpreter without any engine, and on Spark in one session; on Sail by the thousand in
``test_days_on_sail.py``. A failing case is shrunk and written to ``regressions/``, from where it is
replayed for ever; put a fix and its file into one commit.
"""

from __future__ import annotations

import re

import pytest

from tests.properties.cases import from_json
from tests.properties.chunks import REGRESSIONS, check_chunk, starts
from tests.properties.engines import InterpreterEngine, PlainSailEngine, PlainSparkEngine
from tests.properties.execute import agrees, run_case
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session, spark_session
from tests.selection import few

CHUNK = 30
ON_INTERPRETER, ON_SPARK = 600, 300


@pytest.fixture(scope="module")
def sail() -> PlainSailEngine:
    return PlainSailEngine(sail_session())


@pytest.mark.parametrize("start", starts(22_000, 4 * CHUNK, CHUNK, fast=CHUNK))
def test_subqueries_as_values_equal_batch_without_an_engine(start):
    engine = InterpreterEngine()
    with engine.recording():
        seeds = range(start, start + CHUNK)
        outcomes = check_chunk(engine, seeds, every_time_point=2, family="values")
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.25 * CHUNK


@pytest.mark.parametrize("start", starts(10_000, ON_INTERPRETER, CHUNK, fast=CHUNK))
def test_equals_batch_without_an_engine(start):
    engine = InterpreterEngine()
    with engine.recording():
        outcomes = check_chunk(engine, range(start, start + CHUNK), every_time_point=1)
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.25 * CHUNK


@pytest.fixture(scope="module")
def spark() -> PlainSailEngine:
    return PlainSparkEngine(spark_session())


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", few(range(30_000, 30_000 + ON_SPARK, 20), 2))
def test_equals_batch_on_spark(spark, start):
    """The row interpreter is judged too: it must give what Spark gives for the user's own text."""
    oracle = InterpreterEngine()
    outcomes = check_chunk(spark, range(start, start + 20), every_time_point=100, oracle=oracle)
    assert len(outcomes) >= 18
    assert sum(outcome.judged for outcome in outcomes) >= 15


@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*.json")), ids=lambda p: p.stem)
def test_regression(sail, path):
    run_case(from_json(path.read_text()), sail, every_time_point=True, judge_kept=True)


def test_interpreter_agrees_with_sail(sail):
    """The oracle itself: the same text over the same data, value for value."""
    compared = 0
    for seed in range(20_000, 20_300):
        case = random_case(seed, for_sail=True)
        text = case.query.ordered
        if re.search(r"PARTITION BY \w+\.x\b", text):
            continue  # Sail puts -0.0 and 0.0 into different partitions, Spark into one
        for name, table in case.tables.items():
            sail.bind(name, table.columns, table.rows(case.runs))
        try:
            found = sail.query(text)
        except Exception:  # noqa: BLE001 - what Sail refuses is no difference
            continue
        try:
            compared += agrees(case, found, InterpreterEngine())
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {text}\n{error}") from error
    assert compared >= 250
