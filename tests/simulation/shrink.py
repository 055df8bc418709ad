"""From a failing schedule to a small one: leave out actors, then whatever else is not needed.

A schedule is its scenario and the list of what is not as in the dull schedule. Both are made
smaller as long as some invariant is still broken in the same way (the same number, or the same
first words), so that what is left is what a reader must understand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from tests.simulation.clock import in_words
from tests.simulation.machine import Played, Script, play

_T = TypeVar("_T")


def shrink(found: Played, budget: int = 600) -> Played:
    """The smallest schedule found that breaks the same invariant, within ``budget`` replays.
    One that does not come out the same when it is played by turns is given back as it is: who waits
    for others to have done more then finds another time."""
    search = _Search(found, budget)
    if not search.fails(found.script):
        return found
    size = -1
    while size != (size := len(search.best.trace)):
        search.leave_out([name for name, _, _ in found.scenario.bodies])
    return search.best


class _Search:
    """Replays, as long as the budget lasts; ``best`` is the last one that failed."""

    def __init__(self, found: Played, budget: int) -> None:
        self.best, self._left = found, budget
        self._gone: frozenset[str] = frozenset()
        self._kind = _kind(found.violation)

    def leave_out(self, names: list[str]) -> None:
        """Leave out actors, then what goes wrong, then changes of turn."""
        for name in names:
            if name not in self._gone:
                self.fails(self.best.script, self._gone | {name})
        script = self.best.script
        wrong = smallest(script.deviations, lambda some: self.fails(Script(script.turns, some)))
        turns = self.best.script.turns
        smallest(turns, lambda some: self.fails(Script(some, wrong)))

    def fails(self, script: Script, gone: frozenset[str] | None = None) -> bool:
        """Whether it still breaks the invariant without some actors; it is the best one then."""
        gone = self._gone if gone is None else gone
        if self._left <= 0:
            return False
        self._left -= 1
        played = play(self.best.scenario.seed, script, without=gone)
        if _kind(played.violation) != self._kind:
            return False
        self.best, self._gone = played, gone
        return True


def smallest(items: list[_T], fails: Callable[[list[_T]], bool]) -> list[_T]:
    """Delta debugging (Zeller and Hildebrandt 2002): ever smaller chunks are left out."""
    size = max(1, len(items) // 2)
    while items:
        start, smaller = 0, False
        while start < len(items):
            rest = items[:start] + items[start + size :]
            if fails(rest):
                items, smaller = rest, True
            else:
                start += size
        if size == 1 and not smaller:
            break
        size = max(1, size // 2)
    return items


def _kind(violation: str) -> str:
    return re.split(r"[:(]", violation)[0].strip()[:40]


def describe(played: Played) -> str:
    """A failing schedule for people: who takes part, what went otherwise, and all calls."""
    scenario = played.scenario
    actors = dict.fromkeys(event.actor for event in played.trace)
    said = [
        f"seed {scenario.seed}: {played.violation}",
        f"a store like {scenario.kind}, {scenario.tick:g} s per call; "
        + ", ".join(
            f"{name}'s clock {in_words(skew)} off"
            for name, _, skew in scenario.bodies
            if name in actors and skew
        ),
        *(f"  {deviation}" for deviation in played.deviations),
        *map(str, played.trace),
        f"{'==>':>14} {played.violation}",
    ]
    return "\n".join(said)
