"""Playing many schedules, and saying what a test must show of one that breaks an invariant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from tests.simulation import doors
from tests.simulation.machine import Played, play
from tests.simulation.shrink import describe, shrink


def play_all(seeds: Iterable[int], *, real_codec: bool = False) -> None:
    """Play these schedules; the first that breaks an invariant fails the test, made small."""
    for _ in played(seeds, real_codec=real_codec):
        pass


def played(seeds: Iterable[int], *, real_codec: bool = False) -> Iterator[Played]:
    """Play these schedules and yield each; the first that breaks an invariant fails the test, made
    small."""
    with doors.installed(real_codec=real_codec):
        for seed in seeds:
            one = play(seed)
            if one.violation:
                pytest.fail(
                    f"python -m tests.simulation {seed} --shrink\n{describe(shrink(one))}",
                    pytrace=False,
                )
            yield one
