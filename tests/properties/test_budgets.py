"""Generated days under a byte budget: whatever fits, the result equals the user's text."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.oracles.values import NotInterpretedError
from tests.properties.chunks import starts
from tests.properties.engines import InterpreterEngine, PlainSailEngine
from tests.properties.execute import Engine, Outcome, RefusedError, run_case
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session

CHUNK = 20


def outcomes(engine: Engine, seeds: range, *, for_sail: bool = False) -> list[Outcome]:
    """Days whose budgets are mostly too small for all that would be kept."""
    found = []
    for seed in seeds:
        budget = int(10 ** random.Random(f"budget {seed}").uniform(6.0, 9.0))
        case = replace(random_case(seed, for_sail=for_sail), state_budget=budget)
        try:
            found.append(run_case(case, engine, judge_kept=not for_sail))
        except (RefusedError, NotInterpretedError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed} with {budget} bytes: {error}") from error
    return found


@pytest.mark.parametrize("start", starts(90_000, 4 * CHUNK, CHUNK, fast=CHUNK))
def test_days_within_a_budget_equal_batch_on_sail(start: int) -> None:
    engine = PlainSailEngine(sail_session())
    found = outcomes(engine, range(start, start + CHUNK), for_sail=True)
    assert len(found) >= 0.95 * CHUNK
    assert sum(outcome.kept > 0 for outcome in found) >= 0.2 * CHUNK


@pytest.mark.parametrize("start", starts(91_000, 4 * CHUNK, CHUNK, fast=CHUNK))
def test_days_within_a_budget_equal_batch_without_an_engine(start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        found = outcomes(engine, range(start, start + CHUNK))
    assert sum(outcome.kept > 0 for outcome in found) >= 0.2 * CHUNK
    assert sum(outcome.batch for outcome in found) >= 0.1 * CHUNK
