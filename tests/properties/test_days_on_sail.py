"""Generated days on Sail by the thousand: whatever the query, the data and the arrivals, the result
is that of batch. Some hundred more are in the modules beside: early results, budgets, changelogs,
single methods.

Small chunks: test processes take the files with most tests first, and this one takes longest.
"""

from __future__ import annotations

import pytest

from tests.properties.chunks import check_chunk, starts
from tests.properties.engines import PlainSailEngine
from tests.properties.execute import Outcome
from tests.properties.sessions import sail_session

DAYS, FAST, SETS, VALUES, CHUNK = 2100, 30, 105, 105, 15


def _enough(outcomes: list[Outcome], cases: int) -> None:
    """The chunk means something: few cases were refused, some kept state before the last run (of
    all cases every third does; of a chunk it may be fewer)."""
    assert len(outcomes) >= 0.9 * cases
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.1 * cases


@pytest.fixture(scope="module")
def sail() -> PlainSailEngine:
    return PlainSailEngine(sail_session())


@pytest.mark.parametrize("start", starts(0, DAYS, CHUNK, fast=FAST))
def test_equals_batch_on_sail(sail, start):
    seeds = range(start, start + CHUNK)
    _enough(check_chunk(sail, seeds, every_time_point=4, for_sail=True), CHUNK)


@pytest.mark.parametrize("start", starts(20_000, SETS, CHUNK, fast=CHUNK))
def test_grouping_sets_equal_batch_on_sail(sail, start):
    seeds = range(start, start + CHUNK)
    outcomes = check_chunk(sail, seeds, every_time_point=4, for_sail=True, family="sets")
    _enough(outcomes, CHUNK)


@pytest.mark.parametrize("start", starts(21_000, VALUES, CHUNK, fast=CHUNK))
def test_subqueries_as_values_equal_batch_on_sail(sail, start):
    seeds = range(start, start + CHUNK)
    outcomes = check_chunk(sail, seeds, every_time_point=4, for_sail=True, family="values")
    # Sail refuses some subqueries below OR, in the user's own text.
    assert len(outcomes) >= 0.5 * CHUNK
    assert sum(outcome.kept > 0 for outcome in outcomes) >= 0.1 * len(outcomes)
