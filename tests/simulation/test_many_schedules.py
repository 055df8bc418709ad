"""The first half of 100,000 schedules."""

from __future__ import annotations

import pytest

from tests.simulation.searching import play_all

CHUNK = 2000


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 60_000, CHUNK))
def test_every_schedule_keeps_the_invariants(first):
    play_all(range(first, first + CHUNK))
