"""How it is decided who goes next and what goes wrong: by chance from a seed, or by a script.

Half of the seeds choose who goes on anew at every call (a random walk); the other half give actors
priorities and take the highest one away a few times (Burckhardt et al., *A randomized scheduler
with probabilistic guarantees of finding bugs*, ASPLOS 2010), so that somebody stands still at one
call while others do all that they have to do.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.simulation.clock import HOUR
from tests.simulation.scheduler import Actor, Deviation, Outcome, Steps, Turn, World

_FAULTS = (
    Outcome.FAILED, Outcome.FAILED, Outcome.LOST, Outcome.LOST, Outcome.DOUBTED,
    Outcome.KILLED_BEFORE, Outcome.KILLED_BEFORE, Outcome.KILLED_AFTER, Outcome.KILLED_AFTER,
)  # fmt: skip
_WRITES = frozenset(("put", "put_if_absent", "put_if_match", "copy", "delete"))
_SLOW = (1.0, 60.0, HOUR, 3 * HOUR, 30 * HOUR, 80 * HOUR)
_OFTEN = 400
"""How many calls a schedule has as a rule: changes of priority fall among them."""
_HELD = (
    "", "", "list", "find", "get", "open", "put", "put_if_absent", "put_if_match", "stat", "copy",
    "delete",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How wild a schedule is: chances per store call. ``before_writes``: that others go on just
    before a write, which is where what was read before may have become untrue; ``hold``: that they
    go on for long there; ``held``: the kind of call before which they do so most often,
    ``held_often``, on keys that begin with ``held_in``; ``depth``: how often priorities change, 0
    for a random walk."""

    turn: float = 0.1
    before_writes: float = 0.2
    hold: float = 0.0
    held: str = ""
    held_in: str = ""
    held_often: float = 0.3
    longest: int = 100
    depth: int = 0
    fault: float = 0.0
    slow: float = 0.0
    torn: float = 0.0
    most_faults: int = 4

    @staticmethod
    def drawn(rng: random.Random) -> Rates:
        return Rates(
            turn=rng.choice((0.005, 0.02, 0.05, 0.2)),
            before_writes=rng.choice((0.05, 0.2, 0.5)),
            hold=rng.choice((0.0, 0.02, 0.1)),
            held=rng.choice(_HELD),
            longest=rng.choice((20, 100, 300)),
            depth=rng.choice((0, 0, 0, 1, 3, 6)),
            fault=rng.choice((0.0, 0.002, 0.01, 0.03)),
            slow=rng.choice((0.0, 0.002, 0.01, 0.03)),
            torn=rng.choice((0.0, 0.05)),
            most_faults=rng.choice((1, 3, 8)),
        )


class RandomPolicy:
    """Decides by chance, and remembers what it let go wrong."""

    def __init__(self, seed: int, rates: Rates) -> None:
        self._rng = random.Random(f"schedule {seed}")
        self._rates = rates
        self._faults = 0
        self.deviations: list[Deviation] = []

    def turn(self, actor: Actor, world: World, op: str) -> Actor:
        return world.pouncing() or self._turn(actor, world, op)

    def _turn(self, actor: Actor, world: World, op: str) -> Actor:
        chance = self._rates.before_writes if op in _WRITES else self._rates.turn
        if self._rng.random() < chance:
            others = [one for one in world.able(world.alive()) if one is not actor]
            return self._rng.choice(others) if others else actor
        return actor

    def first(self, alive: list[Actor], able: list[Actor]) -> Actor:
        return self._rng.choice(able)

    def slow(self, actor: Actor, world: World, op: str, key: str) -> float:
        rates = self._rates
        held = op == rates.held and key.startswith(rates.held_in)
        hold = rates.held_often if held else rates.hold if op in _WRITES else 0.0
        if hold and self._rng.random() < hold:
            return self._note(actor, Steps(world.steps + self._rng.randint(5, rates.longest)))
        chance = rates.slow * (4 if op in _WRITES else 1)
        if chance and self._rng.random() < chance:
            return self._note(actor, self._rng.choice(_SLOW))
        return 0.0

    def outcome(self, actor: Actor, op: str) -> Outcome:
        if op in ("list", "folders") and self._rng.random() < self._rates.torn:
            return self._note(actor, Outcome.TORN)
        if self._faults < self._rates.most_faults and self._rng.random() < self._rates.fault:
            self._faults += 1
            return self._note(actor, self._rng.choice(_FAULTS))
        return Outcome.DONE

    def _note(self, actor: Actor, value: Any) -> Any:
        self.deviations.append(Deviation(actor.name, actor.calls, value))
        return value


class PriorityPolicy(RandomPolicy):
    """Lets the one with the highest priority go on, who becomes the last one at a few calls."""

    def __init__(self, seed: int, rates: Rates) -> None:
        super().__init__(seed, rates)
        self._changes = sorted(self._rng.sample(range(_OFTEN), rates.depth), reverse=True)
        self._last = 0.0
        self._priorities: dict[str, float] = {}

    def _turn(self, actor: Actor, world: World, op: str) -> Actor:
        if self._changes and world.steps >= self._changes[-1]:
            self._changes.pop()
            self._last -= 1.0
            self._priorities[actor.name] = self._last
        return max([*world.able(world.alive()), actor], key=self._priority)

    def first(self, alive: list[Actor], able: list[Actor]) -> Actor:
        return max(able, key=self._priority)

    def _priority(self, actor: Actor) -> float:
        found = self._priorities.get(actor.name)
        if found is None:
            found = self._priorities[actor.name] = self._rng.random()
        return found


class ScriptPolicy:
    """Decides as it is told; what does not fit (any more) is passed over. When the turns are used
    up, everybody goes on to the end, one after the other."""

    def __init__(self, turns: list[Turn], deviations: list[Deviation]) -> None:
        self.deviations = deviations
        self._turns = turns[::-1]
        self._outcomes = {
            (d.actor, d.number): d.value for d in deviations if isinstance(d.value, Outcome)
        }
        self._slow = {
            (d.actor, d.number): d.value for d in deviations if not isinstance(d.value, Outcome)
        }

    def _next(self, alive: list[Actor]) -> Actor | None:
        by_name = {one.name: one for one in alive}
        while self._turns:
            turn = self._turns[-1]
            actor = by_name.get(turn.actor)
            if actor is not None and actor.made < turn.calls:
                return actor
            self._turns.pop()
        return None

    def turn(self, actor: Actor, world: World, op: str) -> Actor:
        return self._next(world.alive()) or actor

    def first(self, alive: list[Actor], able: list[Actor]) -> Actor:
        return self._next(alive) or able[0]

    def slow(self, actor: Actor, world: World, op: str, key: str) -> float:
        return self._slow.get((actor.name, actor.calls), 0.0)

    def outcome(self, actor: Actor, op: str) -> Outcome:
        return self._outcomes.get((actor.name, actor.calls), Outcome.DONE)
