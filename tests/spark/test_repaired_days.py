"""Repaired days equal the plain query over the corrected sources, whatever was corrected."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.failures import StageError
from tests.properties.cases import Case
from tests.properties.chunks import starts
from tests.properties.data import without_nan
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.execute import RefusedError
from tests.properties.generate import changelog_case, random_case
from tests.properties.sessions import sail_session
from tests.properties.test_appended_windows import case as in_order
from tests.spark.repaired_days import RepairedDay

CHUNK, ON_SPARK = 4, 2
SAIL_FAILS = "Physical input schema should be the same as the one converted from logical"
"""What Sail says of some unions of joins, whose columns it gives metadata on one side."""


def check_repairs(
    cases: list[Case],
    folder: Path,
    engine: Engine,
    plain: PlainSailEngine | PlainSparkEngine,
    seed: int,
) -> Counter[str]:
    """Every third day is repaired by cost, every fourth has lost what it replaced."""
    found: Counter[str] = Counter()
    refused = 0
    for number, case in enumerate(cases):
        day = RepairedDay(
            case,
            folder / case.name,
            engine,
            plain,
            seed=seed + number,
            keep_copies=number % 4 > 0,
            forced=number % 3 > 0,
        )
        try:
            found += day.check()
        except RefusedError:
            refused += 1
        except StageError as error:
            if SAIL_FAILS not in str(error):
                raise
            refused += 1
        except Exception as error:
            raise AssertionError(f"{case.name}, {day.seed}: {case.query.sql}\n{error}") from error
    assert refused <= 1 + len(cases) // 10
    return found


def on_sail(case: Case) -> Case:
    return replace(case, tables={name: without_nan(t) for name, t in case.tables.items()})


def test_repaired_days_in_a_declared_order(sail: SailEngine, tmp_path: Path) -> None:
    """What comes after the day is out of its order: windows that went on from what was kept are
    computed otherwise then."""
    cases = [in_order(name, seed) for seed in (1, 2) for name in ("so-far", "all", "grouped")]
    found = check_repairs(cases, tmp_path, sail, PlainSailEngine(sail_session()), 1)
    assert found["delta"] + found["anew"] >= len(cases)


@pytest.mark.parametrize("start", starts(70_000, 20 * CHUNK, CHUNK, fast=CHUNK))
def test_repaired_days_equal_batch_on_sail(sail: SailEngine, tmp_path: Path, start: int):
    cases = [on_sail(random_case(seed, for_sail=True)) for seed in range(start, start + CHUNK)]
    found = check_repairs(cases, tmp_path, sail, PlainSailEngine(sail_session()), start)
    assert found["delta"] >= 1


@pytest.mark.parametrize("start", starts(71_000, 10 * CHUNK, CHUNK, fast=0))
def test_repaired_changelogs_equal_batch_on_sail(sail: SailEngine, tmp_path: Path, start: int):
    cases = [on_sail(changelog_case(s, for_sail=True)) for s in range(start, start + CHUNK)]
    found = check_repairs(cases, tmp_path, sail, PlainSailEngine(sail_session()), start)
    assert found["delta"] >= 1


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(72_000, 2 * ON_SPARK, ON_SPARK, fast=ON_SPARK))
def test_repaired_days_equal_batch_on_spark(sessions, tmp_path: Path, start: int):
    cases = [random_case(seed) for seed in range(start, start + ON_SPARK)]
    found = check_repairs(cases, tmp_path, *sessions, start)
    assert found["delta"] >= 1


@pytest.mark.parametrize("start", starts(73_000, 10 * CHUNK, CHUNK, fast=CHUNK))
def test_repaired_windows_equal_batch_on_sail(sail: SailEngine, tmp_path: Path, start: int):
    """Windows that are kept whole, and computed again of the partitions that a correction
    touches."""
    cases = [
        on_sail(random_case(seed, "changed", for_sail=True)) for seed in range(start, start + CHUNK)
    ]
    found = check_repairs(cases, tmp_path, sail, PlainSailEngine(sail_session()), start)
    assert found["delta"] >= 1
