"""Generated days through the executor and the store: on Spark in one session, and on Sail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.engines.sail import SailEngine
from tests.properties.cases import Case
from tests.properties.chunks import starts
from tests.properties.data import without_nan
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.execute import Outcome, RefusedError
from tests.properties.generate import changelog_case, completing_case, random_case
from tests.properties.sessions import sail_session
from tests.spark.stored_days import StoredDay

ON_SPARK, ON_SAIL, CHUNK = 48, 24, 6
CHANGELOGS, COMPLETE, OF_KINDS = 62_000, 63_000, 64_000
KINDS = ("typed", "zoned", "structs", "mixed", "chosen", "exploded", "counted")
"""Kinds of queries over columns of other types than those of most generated days."""


def check_days(
    cases: list[Case],
    folder: Path,
    engine: Engine,
    plain: PlainSailEngine | PlainSparkEngine,
    *,
    judged: bool = True,
) -> list[Outcome]:
    """Every fifth day loses its first run; its data is in the delivery of the next one. The oracle
    knows most of what is kept, where days are ``judged``."""
    outcomes = []
    for number, case in enumerate(cases):
        lost = 1 if number % 5 == 0 else 0
        try:
            outcomes.append(StoredDay(case, folder / case.name, engine, plain, lost).check())
        except RefusedError:
            continue
        except Exception as error:
            raise AssertionError(f"{case.name}, lost {lost}: {case.query.sql}\n{error}") from error
    assert len(outcomes) >= len(cases) - 1
    assert sum(outcome.kept > 0 for outcome in outcomes) >= len(cases) // 2
    assert sum(outcome.rows for outcome in outcomes) >= 2 * len(cases) * judged
    assert sum(outcome.states for outcome in outcomes) >= len(cases) // 2 * judged
    return outcomes


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(60_000, ON_SPARK, CHUNK // 2, fast=CHUNK // 2))
def test_every_run_of_a_stored_day_equals_batch(sessions, tmp_path: Path, start: int):
    cases = [random_case(seed) for seed in range(start, start + CHUNK // 2)]
    check_days(cases, tmp_path, *sessions)


@pytest.mark.parametrize("start", starts(61_000, ON_SAIL, CHUNK, fast=CHUNK))
def test_every_run_of_a_stored_day_equals_batch_on_sail(
    sail: SailEngine, tmp_path: Path, start: int
):
    """Without NaN, which Sail leaves out of the statistics of the files that it writes, and then
    takes a column whose least and greatest value are equal for a constant."""
    cases = [random_case(seed) for seed in range(start, start + CHUNK)]
    known = [
        replace(case, tables={name: without_nan(table) for name, table in case.tables.items()})
        for case in cases
    ]
    check_days(known, tmp_path, sail, PlainSailEngine(sail_session()))


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(OF_KINDS, ON_SPARK, CHUNK, fast=CHUNK))
def test_every_run_of_a_day_of_other_types_equals_batch(sessions, tmp_path: Path, start: int):
    """What is written to files and read back: instants in any time zone, texts in binary, nested
    values. Every second day takes rows back."""
    cases = [
        (changelog_case if seed % 2 else random_case)(seed, KINDS[seed % len(KINDS)])
        for seed in range(start, start + CHUNK)
    ]
    check_days(cases, tmp_path, *sessions, judged=False)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_run_of_a_day_that_takes_rows_back_equals_batch(sessions, tmp_path: Path):
    cases = [changelog_case(seed) for seed in range(CHANGELOGS, CHANGELOGS + CHUNK // 2)]
    check_days(cases, tmp_path, *sessions)


def test_every_run_of_a_day_that_is_complete_early_equals_batch_on_sail(
    sail: SailEngine, tmp_path: Path
):
    """What is static, or complete by pins or by forecast, is kept once and left out."""
    cases = [completing_case(seed, for_sail=True) for seed in range(COMPLETE, COMPLETE + CHUNK)]
    known = [
        replace(case, tables={name: without_nan(table) for name, table in case.tables.items()})
        for case in cases
    ]
    check_days(known, tmp_path, sail, PlainSailEngine(sail_session()))


def test_every_run_of_a_day_that_takes_rows_back_equals_batch_on_sail(
    sail: SailEngine, tmp_path: Path
):
    cases = [changelog_case(seed, for_sail=True) for seed in range(CHANGELOGS, CHANGELOGS + CHUNK)]
    known = [
        replace(case, tables={name: without_nan(table) for name, table in case.tables.items()})
        for case in cases
    ]
    check_days(known, tmp_path, sail, PlainSailEngine(sail_session()))
