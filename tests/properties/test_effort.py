"""A search that is cut short is still right: generated days planned with tiny budgets of work."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.api import plan
from forerun.planner.explain.record import as_json
from forerun.planner.explain.tree import render
from tests.oracles.values import NotInterpretedError
from tests.properties.cases import Case
from tests.properties.chunks import saved
from tests.properties.engines import InterpreterEngine
from tests.properties.execute import Day, Outcome, RefusedError, request_of, run_case
from tests.properties.generate import random_case
from tests.selection import few

CHUNK = 60


def hurried(seed: int) -> Case:
    """A random case with budgets that end most searches, at any place."""
    rng = random.Random(f"effort-{seed}")
    effort = {
        "explore": round(10 ** rng.uniform(0.0, 2.3)),
        "tries": rng.randint(0, 2),
        "compare": rng.choice((0, 200)),
    }
    return replace(random_case(seed), effort=tuple(effort.items()))


def run(case: Case, engine: InterpreterEngine) -> Outcome | None:
    try:
        return run_case(case, engine, judge_kept=True)
    except (RefusedError, NotInterpretedError):
        return None
    except Exception as error:
        raise AssertionError(f"{case.name}, {saved(case, engine, error)}") from error


@pytest.mark.parametrize("start", few([110_000, 111_000], 1))
def test_days_planned_in_a_hurry_equal_batch(start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        found = [run(hurried(seed), engine) for seed in range(start, start + CHUNK)]
    days = [one for one in found if one is not None]
    assert len(days) >= 0.8 * CHUNK
    assert sum(one.kept > 0 for one in days) >= 0.15 * CHUNK


def test_a_search_that_is_cut_short_says_so() -> None:
    """In the text and in JSON, which budgets were spent; with all that is needed, nothing."""
    cut = whole = 0
    for seed in range(112_000, 112_000 + CHUNK):
        case = hurried(seed)
        try:
            results = [
                plan(request_of(one, 1, case.runs, Day(), early=False))
                for one in (case, replace(case, effort=(("tries", 1000), ("compare", 10**9))))
            ]
        except RefusedError:
            continue
        for result in results:
            spent = list(result.compared.spent)
            search = as_json(result)["search"]
            assert isinstance(search, dict)
            assert search["budgets_spent"] == spent
            assert ("spent: " + ", ".join(spent) in render(result)) == bool(spent)
        cut += "explore" in results[0].compared.spent
        whole += not results[1].compared.spent
    assert cut >= 0.3 * CHUNK
    assert whole == CHUNK
