"""Days of a report over a rolling range that go on from each other equal the plain query, whatever
comes, leaves the range and is corrected in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.failures import StageError
from tests.properties.cases import Case
from tests.properties.chunks import starts
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.execute import RefusedError
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session
from tests.spark.rolling_days import RollingDays
from tests.spark.test_repaired_days import SAIL_FAILS, on_sail

CHUNK, ON_SPARK = 4, 2
SHARP = (74_001, 74_003, 74_009)
"""Days whose results are others if what was kept is left out, counted or taken back wrongly."""


def check_rolling(
    cases: list[Case],
    folder: Path,
    engine: Engine,
    plain: PlainSailEngine | PlainSparkEngine,
    seed: int,
) -> Counter[str]:
    """Every third row of days is planned by cost."""
    found: Counter[str] = Counter()
    for number, case in enumerate(cases):
        if not any(table.changing for table in case.tables.values()):
            continue
        forced = (seed + number) % 3 > 0
        days = RollingDays(
            case, folder / case.name, engine, plain, seed=seed + number, forced=forced
        )
        try:
            found += days.check()
        except RefusedError:
            continue
        except StageError as error:
            if SAIL_FAILS not in str(error):
                raise
        except Exception as error:
            raise AssertionError(f"{case.name}, {days.seed}: {case.query.sql}\n{error}") from error
    return found


@pytest.mark.parametrize("start", starts(74_000, 20 * CHUNK, CHUNK, fast=0))
def test_rolling_days_equal_batch_on_sail(sail: SailEngine, tmp_path: Path, start: int):
    cases = [on_sail(random_case(seed, for_sail=True)) for seed in range(start, start + CHUNK)]
    found = check_rolling(cases, tmp_path, sail, PlainSailEngine(sail_session()), start)
    assert found["reads what is inherited"] >= 1


@pytest.mark.parametrize("seed", SHARP)
def test_days_that_see_most_equal_batch_on_sail(sail: SailEngine, tmp_path: Path, seed: int):
    cases = [on_sail(random_case(seed, "grouped", for_sail=True))]
    found = check_rolling(cases, tmp_path, sail, PlainSailEngine(sail_session()), seed)
    assert found["1 in a row"]


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(75_000, 2 * ON_SPARK, ON_SPARK, fast=ON_SPARK))
def test_rolling_days_equal_batch_on_spark(sessions, tmp_path: Path, start: int):
    cases = [random_case(seed) for seed in range(start, start + ON_SPARK)]
    found = check_rolling(cases, tmp_path, *sessions, start)
    assert found["reads what is inherited"] >= 1
