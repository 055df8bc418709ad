"""Generated days against batch: whatever the query, the data and the arrivals, the same result.

On Sail by the thousand, on the row interpreter without any engine, and on Spark in one session.
A failing case is shrunk and written to ``regressions/``, from where it is replayed for ever; put a
fix and its file into one commit.
"""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path

import pytest

from planner.errors import UnsupportedSqlError
from tests.oracles.values import NotInterpretedError
from tests.properties.cases import Case, from_json, to_json
from tests.properties.engines import InterpreterEngine, SessionEngine
from tests.properties.execute import Engine, Outcome, RefusedError, agrees, run_case
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session, spark_session
from tests.properties.shrink import shrink

REGRESSIONS = Path(__file__).parent / "regressions"
CHUNK = 100
ON_SAIL, ON_INTERPRETER, ON_SPARK = 2100, 600, 300


def check_chunk(
    engine: Engine,
    seeds: range,
    *,
    every_time_point: int,
    for_sail: bool = False,
    oracle: Engine | None = None,
    family: str = "",
) -> list[Outcome]:
    """Run the cases; shrink and save the first that fails."""
    outcomes = []
    for seed in seeds:
        case = random_case(seed, family, for_sail=for_sail)
        try:
            whole = seed % every_time_point == 0
            outcomes.append(run_case(case, engine, every_time_point=whole, oracle=oracle))
        except (RefusedError, NotInterpretedError):
            continue
        except Exception as error:
            where = "" if "FORERUN_NO_SHRINK" in os.environ else saved(case, engine, error)
            detail = traceback.format_exc(limit=-3)
            raise AssertionError(
                f"seed {seed} ({case.name}), saved as {where}\n{detail}"
            ) from error
    return outcomes


def saved(case: Case, engine: Engine, error: Exception) -> str:
    """Shrink a failing case and write it to the regressions; its file, and its query."""
    kind = type(error)

    def fails(candidate: Case) -> bool:
        try:
            run_case(candidate, engine, every_time_point=True)
        except (RefusedError, NotInterpretedError, UnsupportedSqlError):
            return False
        except Exception as again:  # noqa: BLE001 - whatever it is, is it the same?
            return type(again) is kind
        return False

    small = shrink(case, fails) if fails(case) else case
    path = REGRESSIONS / f"{case.name}.json"
    path.write_text(to_json(small))
    return f"{path.name}: {small.query.sql}"


def _enough(outcomes: list[Outcome], cases: int) -> None:
    """The chunk means something: few cases were refused, many kept state before the last run."""
    assert len(outcomes) >= 0.95 * cases
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.25 * cases


@pytest.fixture(scope="module")
def sail() -> SessionEngine:
    return SessionEngine(sail_session())


@pytest.mark.parametrize("start", range(0, ON_SAIL, CHUNK))
def test_equals_batch_on_sail(sail, start):
    seeds = range(start, start + CHUNK)
    _enough(check_chunk(sail, seeds, every_time_point=4, for_sail=True), CHUNK)


def test_grouping_sets_equal_batch_on_sail(sail):
    seeds = range(20_000, 20_000 + CHUNK)
    outcomes = check_chunk(sail, seeds, every_time_point=4, for_sail=True, family="sets")
    _enough(outcomes, CHUNK)


@pytest.mark.parametrize("start", range(10_000, 10_000 + ON_INTERPRETER, CHUNK))
def test_equals_batch_without_an_engine(start):
    engine = InterpreterEngine()
    with engine.recording():
        outcomes = check_chunk(engine, range(start, start + CHUNK), every_time_point=1)
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.25 * CHUNK


@pytest.fixture(scope="module")
def spark() -> SessionEngine:
    return SessionEngine(spark_session(), literal=True)


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", range(30_000, 30_000 + ON_SPARK, 20))
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
