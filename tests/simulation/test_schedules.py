"""3,000 schedules of the protocol keep the invariants, and the machine itself is not blind."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tests.properties.chunks import starts
from tests.simulation import doors
from tests.simulation.census import WANTED, census
from tests.simulation.machine import Played, play
from tests.simulation.searching import play_all, played

SCHEDULES, FAST, CHUNK = 3000, 250, 250


@cache
def _counted(first: int) -> Counter[str]:
    """What happens in a chunk of schedules, which all keep the invariants."""
    return census(played(range(first, first + CHUNK)))


@pytest.mark.parametrize("first", starts(0, SCHEDULES, CHUNK, fast=FAST))
def test_every_schedule_keeps_the_invariants(first):
    _counted(first)


def test_records_as_they_are_in_life_make_no_difference():
    # The other schedules keep records as Python values: JSON takes most of the time.
    play_all(range(SCHEDULES, SCHEDULES + 20), real_codec=True)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_a_schedule_is_the_same_again_from_its_seed_and_from_its_script(seed):
    with doors.installed():
        once = play(seed)
        for again in (play(seed), play(seed, once.script)):
            assert _calls(again) == _calls(once)
            assert again.done == once.done


def _calls(played: Played) -> list[str]:
    return [str(event) for event in played.trace if event.op != "---"]


def test_schedules_are_not_vacuous():
    """Each of these happens in some of 500 schedules, or the machine proves nothing of it."""
    found = _counted(0) + _counted(CHUNK)
    assert not [event for event in WANTED if not found[event]]
