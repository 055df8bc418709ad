"""Generated days that give results early: each equals the user's text over what has arrived by
then, and no run gives a result that nobody asked for."""

from __future__ import annotations

import random

import pytest

from forerun.planner.request import Problem, ivm
from tests.oracles.values import NotInterpretedError
from tests.properties.chunks import starts
from tests.properties.engines import InterpreterEngine, PlainSailEngine
from tests.properties.execute import Engine, Outcome, RefusedError, run_case
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session

CHUNK = 25


def random_problem(seed: int, runs: int) -> Problem:
    """IVM, a mixture of early results, or the end alone with the last run first."""
    rng = random.Random(f"problem {seed}")
    early = rng.sample(range(1, runs), rng.randint(0, runs - 1))
    mixture = Problem(results_at=tuple(sorted(early)))
    return rng.choice((ivm(runs), mixture, mixture, Problem(objective="last-run-first")))


def outcomes(engine: Engine, seeds: range, *, for_sail: bool = False) -> list[Outcome]:
    found = []
    for seed in seeds:
        case = random_case(seed, for_sail=for_sail)
        problem = random_problem(seed, case.runs)
        try:
            found.append(run_case(case, engine, judge_kept=not for_sail, problem=problem))
        except (RefusedError, NotInterpretedError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed} with {problem}: {error}") from error
    return found


@pytest.mark.parametrize("start", starts(70_000, 200, CHUNK, fast=CHUNK))
def test_early_results_equal_batch_on_sail(start: int) -> None:
    engine = PlainSailEngine(sail_session())
    found = outcomes(engine, range(start, start + CHUNK), for_sail=True)
    assert len(found) >= 0.95 * CHUNK
    assert sum(outcome.early_results for outcome in found) >= 0.6 * CHUNK
    assert sum(outcome.early_results > 0 and outcome.kept > 0 for outcome in found) >= 0.2 * CHUNK


@pytest.mark.parametrize("start", starts(80_000, 4 * CHUNK, CHUNK, fast=CHUNK))
def test_early_results_equal_batch_without_an_engine(start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        found = outcomes(engine, range(start, start + CHUNK))
    assert sum(outcome.early_results > 0 and outcome.kept > 0 for outcome in found) >= 0.2 * CHUNK
