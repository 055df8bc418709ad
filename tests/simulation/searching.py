"""Playing many schedules, and saying what a test must show of one that breaks an invariant."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.simulation import doors
from tests.simulation.machine import play
from tests.simulation.shrink import describe, shrink


def play_all(seeds: Iterable[int], *, real_codec: bool = False) -> None:
    """Play these schedules; the first that breaks an invariant fails the test, made small."""
    with doors.installed(real_codec=real_codec):
        for seed in seeds:
            played = play(seed)
            if played.violation:
                pytest.fail(
                    f"python -m tests.simulation {seed} --shrink\n{describe(shrink(played))}",
                    pytrace=False,
                )
