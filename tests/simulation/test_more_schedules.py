"""The second half of 100,000 schedules, in a file of its own: a process plays one of the two."""

from __future__ import annotations

import pytest

from tests.simulation.searching import play_all

CHUNK = 2000


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60_000, 110_000, CHUNK))
def test_every_schedule_keeps_the_invariants(first):
    play_all(range(first, first + CHUNK))
