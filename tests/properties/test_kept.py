"""What is kept is the oracle's version of its expression; and the judge of that can say no."""

from __future__ import annotations

import pytest

from forerun.planner.api import plan
from tests.oracles.values import NotInterpretedError
from tests.properties.chunks import starts
from tests.properties.engines import InterpreterEngine
from tests.properties.execute import Day, RefusedError, request_of, run_case, run_stages
from tests.properties.generate import random_case
from tests.properties.kept import check_kept
from tests.selection import few

CHUNK = 25


@pytest.mark.parametrize("start", starts(50_000, 200, CHUNK, fast=CHUNK))
def test_families_are_versions_of_their_expressions(start):
    """Every run of generated days, the final one too; all is forced early that has a rule."""
    engine = InterpreterEngine()
    rows = states = 0
    with engine.recording():
        for seed in range(start, start + CHUNK):
            try:
                outcome = run_case(random_case(seed), engine, judge_kept=True)
            except (RefusedError, NotInterpretedError):
                continue
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
            rows, states = rows + outcome.rows, states + outcome.states
    assert rows >= CHUNK
    assert states >= 0.3 * CHUNK


def lose(rows):
    return rows[1:]


def repeat(rows):
    return [*rows, rows[-1]]


def alter(rows):
    """Another number in the last column: a weight, a sum or a count."""
    run, row = rows[0]
    return [(run, (*row[:-1], row[-1] + 1)), *rows[1:]]


@pytest.mark.parametrize("tamper", few([lose, repeat, alter], 1))
def test_a_wrong_row_in_a_family_is_noticed(tamper):
    """A repeated minimum, or one of two equal states, may be harmless: most must be noticed."""
    noticed = harmless = 0
    engine = InterpreterEngine()
    with engine.recording():
        for seed, kind in enumerate(("grouped", "outer-grouped", "outer") * 15):
            case = random_case(seed, kind)
            day = Day()
            result = plan(request_of(case, 1, case.runs, day, early=True))
            run_stages(result.plan, case, engine, day)
            for name, rows in day.partitions.items():
                if not rows or (tamper is alter and not isinstance(rows[0][1][-1], int)):
                    continue
                try:
                    check_kept(case, result, {**day.partitions, name: tamper(rows)})
                except AssertionError as error:
                    assert name in str(error)  # noqa: PT017 - the others are harmless
                    noticed += 1
                else:
                    harmless += 1
    assert noticed >= 20
    assert harmless <= noticed // 3
