"""Days with sources whose deliveries take rows back: whatever the method, the same result as batch.

On the row interpreter, which also judges what is kept, and on Sail. A failing case is shrunk and
written to ``regressions/``.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.errors import MethodError
from forerun.planner.request import PDW, Problem, ivm
from forerun.planner.rules.methods.catalog import SINGLE
from forerun.planner.rules.methods.method import Method
from tests.oracles.values import NotInterpretedError
from tests.properties.cases import Case
from tests.properties.chunks import saved, starts
from tests.properties.engines import InterpreterEngine, PlainSailEngine
from tests.properties.execute import Engine, Outcome, RefusedError, run_case
from tests.properties.generate import changelog_case
from tests.properties.sessions import sail_session
from tests.selection import few

CHUNK = 20
DAYS = 20


def run(case: Case, engine: Engine, problem: Problem = PDW, *, judge: bool) -> Outcome | None:
    """None where there is nothing to compare, or the method does not apply."""
    try:
        return run_case(case, engine, every_time_point=judge, judge_kept=judge, problem=problem)
    except (RefusedError, NotInterpretedError, MethodError):
        return None
    except Exception as error:
        raise AssertionError(f"{case.name}, {saved(case, engine, error)}") from error


@pytest.mark.parametrize("start", starts(100_000, 6 * CHUNK, CHUNK, fast=CHUNK))
def test_days_with_withdrawals_equal_batch_without_an_engine(start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        found = [run(changelog_case(s), engine, judge=True) for s in range(start, start + CHUNK)]
    days = [one for one in found if one is not None]
    assert len(days) >= 0.8 * CHUNK
    assert sum(one.kept > 0 for one in days) >= 0.25 * CHUNK


@pytest.mark.parametrize("start", starts(103_000, 2 * DAYS, DAYS, fast=DAYS))
@pytest.mark.parametrize("method", few(SINGLE, 2), ids=lambda method: method.name)
def test_a_method_alone_equals_batch(method: Method, start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        found = [
            run(replace(changelog_case(seed), method=method.name), engine, judge=True)
            for seed in range(start, start + DAYS)
        ]
    assert sum(one is not None and one.kept > 0 for one in found) >= 1


@pytest.mark.parametrize("start", starts(104_000, 4 * CHUNK, CHUNK, fast=CHUNK))
def test_days_with_withdrawals_equal_batch_on_sail(start: int) -> None:
    engine = PlainSailEngine(sail_session())
    cases = (changelog_case(s, for_sail=True) for s in range(start, start + CHUNK))
    found = [run(case, engine, ivm(case.runs), judge=False) for case in cases]
    days = [one for one in found if one is not None]
    assert len(days) >= 0.9 * CHUNK
    assert sum(one.early_results > 0 and one.kept > 0 for one in days) >= 0.25 * CHUNK
