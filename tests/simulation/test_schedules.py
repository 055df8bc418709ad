"""3,000 schedules of the protocol keep the invariants, and the machine itself is not blind."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation import doors
from tests.simulation.machine import Played, play
from tests.simulation.scheduler import Outcome
from tests.simulation.searching import play_all

SCHEDULES, CHUNK = 3000, 250


@pytest.mark.parametrize("first", range(0, SCHEDULES, CHUNK))
def test_every_schedule_keeps_the_invariants(first):
    play_all(range(first, first + CHUNK))


def test_records_as_they_are_in_life_make_no_difference():
    # The other schedules keep records as Python values: JSON takes most of the time.
    play_all(range(SCHEDULES, SCHEDULES + 20), real_codec=True)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_a_schedule_is_the_same_again_from_its_seed_and_from_its_script(seed):
    with doors.installed():
        played = play(seed)
        for again in (play(seed), play(seed, played.script)):
            assert _calls(again) == _calls(played)
            assert again.done == played.done


def _calls(played: Played) -> list[str]:
    return [str(event) for event in played.trace if event.op != "---"]


def test_schedules_are_not_vacuous():
    """Each of these must happen in some of 300 schedules, or the machine proves nothing of it."""
    seen: Counter[str] = Counter()
    with doors.installed():
        for seed in range(300):
            for event in play(seed).trace:
                seen[event.outcome] += 1
                seen[_what(event.op, event.key)] += 1
    assert not [outcome.value for outcome in Outcome if not seen[outcome.value]]
    assert not [what for what in _WANTED if seen[what] < 3]


_WANTED = (
    "publish: overtaken", "publish: not-published", "run: generation-closed", "run: stage",
    "plan: generation-closed", "plan: day-closed", "run: source-changed", "a fence closes",
    "a version is deleted", "state is deleted", "the state of another report is read",
    "an early result is published", "a table is written",
)  # fmt: skip


def _what(op: str, key: str) -> str:
    if op == "---":
        task, _, code = key.partition(": ")
        return f"{task.split()[0]}: {code.partition(':')[0]}"
    name = key.rpartition("/")[2]
    if op in ("put_if_absent", "put_if_match"):
        if key.startswith("store/fences/"):
            return "a fence closes"
        return "a table is written" if key.startswith("warehouse/") else ""
    if op == "copy" and "/1-1-a" in key:
        return "an early result is published"
    if op == "delete":
        return {"results": "a version is deleted", "reports": "state is deleted"}.get(
            key.split("/")[1], ""
        )
    return "the state of another report is read" if op == "get" and "-run-" in name else ""
