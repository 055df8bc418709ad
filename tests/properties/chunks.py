"""Generated days one after the other; one that fails is shrunk and kept for ever."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Any

import pytest

from forerun.planner.errors import UnsupportedSqlError
from tests.oracles.values import NotInterpretedError
from tests.properties.cases import Case, to_json
from tests.properties.execute import Engine, Outcome, RefusedError, run_case
from tests.properties.generate import random_case
from tests.properties.shrink import shrink

REGRESSIONS = Path(__file__).parent / "regressions"


def starts(first: int, cases: int, chunk: int, *, fast: int) -> list[Any]:
    """The first seeds of the chunks; those after ``fast`` cases are slow tests."""
    return [
        pytest.param(start, marks=() if start < first + fast else pytest.mark.slow)
        for start in range(first, first + cases, chunk)
    ]


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
