"""Days whose early runs the small engine does and whose results are Spark's: every result is that
of Spark's plain query, and what is kept is what the oracle has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from forerun.include.state.commits import read_chain
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.spark_jobs.engines.sail import SailEngine
from tests.properties.cases import Case
from tests.properties.chunks import starts
from tests.properties.execute import RefusedError
from tests.properties.generate import changelog_case, random_case
from tests.spark.rolling_days import RollingDays
from tests.spark.stored_days import DAY, StoredDay
from tests.spark.test_repaired_by_sail import is_exact

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

CHUNK, CHUNKS = 6, 12
SEEDS = 4 * CHUNK
"""So many seeds are there for the days of a test, of which some cannot be tried."""


@pytest.mark.parametrize("start", starts(76_000, CHUNKS * SEEDS, SEEDS, fast=SEEDS))
def test_days_with_early_runs_on_sail_equal_batch(
    sessions, sail: SailEngine, tmp_path: Path, start: int
):
    done: Counter[str] = Counter()
    for case in islice(_cases(start), CHUNK):
        day = StoredDay(case, tmp_path / case.name, *sessions, early=sail)
        try:
            day.check()
        except RefusedError:
            continue
        except Exception as error:
            raise AssertionError(f"{case.name}: {case.query.sql}\n{error}") from error
        done += _engines(day)
    assert done["sail"] >= 1  # of six days, one in seventy-two chunks has no more
    assert done["spark"] >= CHUNK // 2


@pytest.mark.parametrize("start", starts(77_000, 6 * SEEDS, 3 * SEEDS, fast=0))
def test_rolling_days_with_early_runs_on_sail_equal_batch(
    sessions, sail: SailEngine, tmp_path: Path, start: int
):
    done: Counter[str] = Counter()
    growing = (
        case
        for case in _cases(start, 3 * SEEDS)
        if is_exact(case)
        and any(table.changing for table in case.tables.values())
        and not any(table.withdrawn for table in case.tables.values())
    )
    for number, case in enumerate(islice(growing, 2)):
        folder = tmp_path / case.name
        day = RollingDays(case, folder, *sessions, early=sail, seed=start + number, count=4)
        try:
            done += day.check()
        except RefusedError:
            continue
        except Exception as error:
            raise AssertionError(f"{case.name}: {case.query.sql}\n{error}") from error
    assert done["on sail"]
    assert done["reads what is inherited"]


def _cases(start: int, count: int = SEEDS) -> Iterator[Case]:
    """Yield cases, every other one with updates."""
    for seed in range(start, start + count):
        made = changelog_case if seed % 2 else random_case
        yield replace(made(seed, for_sail=True), early=seed % 3 > 0)


def _engines(day: StoredDay) -> Counter[str]:
    chain = read_chain(
        open_store(str(day.folder / "store")), Generation(day.report, DAY.isoformat(), "1")
    )
    return Counter(commit.metrics.engine for commit in chain if commit.metrics)
