"""Who goes next, and what becomes of each store call: decided before every call, from a seed.

Actors are greenlets: one runs at a time, and hands over only where it calls the store. What the
policy decided is kept as a list of deviations from the dull schedule (everybody in turn to the end,
nothing fails), each bound to an actor and the number of its call. So a schedule can be replayed,
and made smaller by leaving deviations out (:mod:`tests.simulation.shrink`).
"""

from __future__ import annotations

import contextlib
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from greenlet import greenlet

from include.state.store import StoreDownError
from tests.simulation.clock import HOUR, Clock, in_words

MOST_CALLS = 20_000


class Outcome(Enum):
    """What becomes of a store call. The text is what the trace says."""

    DONE = "done"
    FAILED = "not done, the caller gets an error"
    LOST = "done, but the caller gets an error"
    DOUBTED = "done, but the client's own second try finds it done already"
    KILLED_BEFORE = "the process is killed before it"
    KILLED_AFTER = "done, then the process is killed"
    TORN = "seen in two halves, others go on in between"


_FAULTS = (
    Outcome.FAILED, Outcome.FAILED, Outcome.LOST, Outcome.LOST, Outcome.DOUBTED,
    Outcome.KILLED_BEFORE, Outcome.KILLED_BEFORE, Outcome.KILLED_AFTER, Outcome.KILLED_AFTER,
)  # fmt: skip
_WRITES = frozenset(("put", "put_if_absent", "put_if_match", "copy", "delete"))
_SLOW = (1.0, 60.0, HOUR, 3 * HOUR, 30 * HOUR, 80 * HOUR)


class Steps(float):
    """A wait in place of seconds: until all together have made so many calls."""

    def __str__(self) -> str:
        return f"for {int(self)}"


class KilledError(BaseException):
    """SIGKILL: no code of the product may catch it, and whoever got it reaches no store again."""


class StopError(BaseException):
    """The schedule is over for all: an invariant is broken."""


@dataclass(frozen=True)
class Deviation:
    """One thing that goes wrong: what becomes of call ``number`` of ``actor`` (``value`` is an
    :class:`Outcome`), or how many seconds it takes while others go on."""

    actor: str
    number: int
    value: Outcome | float

    def __str__(self) -> str:
        if isinstance(self.value, Outcome):
            return f"call {self.number} of {self.actor}: {self.value.value}"
        if isinstance(self.value, Steps):
            return f"call {self.number} of {self.actor}: waits {self.value} calls"
        return f"call {self.number} of {self.actor}: takes {in_words(self.value)}"


@dataclass(frozen=True)
class Turn:
    """``actor`` goes on until it has made so many calls."""

    actor: str
    calls: int


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How wild a schedule is: chances per store call. ``before_writes``: that others go on just
    before a write, which is where what was read before may have become untrue; ``hold``: that they
    go on for long there."""

    turn: float = 0.1
    before_writes: float = 0.2
    hold: float = 0.0
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
        """Who goes on when ``actor`` is about to call ``op``."""
        chance = self._rates.before_writes if op in _WRITES else self._rates.turn
        if self._rng.random() < chance:
            others = [one for one in world.able(world.alive()) if one is not actor]
            return self._rng.choice(others) if others else actor
        return actor

    def first(self, alive: list[Actor], able: list[Actor]) -> Actor:
        """Who goes on when somebody has ended or waits."""
        return self._rng.choice(able)

    def slow(self, actor: Actor, world: World, op: str) -> float:
        if op in _WRITES and self._rng.random() < self._rates.hold:
            return self._note(actor, Steps(world.steps + self._rng.randint(5, 100)))
        chance = self._rates.slow * (4 if op in _WRITES else 1)
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

    def slow(self, actor: Actor, world: World, op: str) -> float:
        return self._slow.get((actor.name, actor.calls), 0.0)

    def outcome(self, actor: Actor, op: str) -> Outcome:
        return self._outcomes.get((actor.name, actor.calls), Outcome.DONE)


Policy = RandomPolicy | ScriptPolicy


class Actor:
    """One who does something with the store, on a host with a clock of its own."""

    def __init__(self, name: str, body: Callable[[Actor], None], *, skew: float = 0.0) -> None:
        self.name, self.skew = name, skew
        self.calls = self.made = 0
        self.wake, self.wake_step = 0.0, 0
        self.began = 0.0
        self.began_step = 0
        self.killed = False
        self.robust = False
        self.let = greenlet(lambda: body(self))


@dataclass
class Event:
    """One line of a trace."""

    actor: str
    number: int
    op: str
    key: str
    outcome: str
    result: str = ""

    def __str__(self) -> str:
        note = "" if self.outcome == "done" else f"   <-- {self.outcome}"
        result = f" -> {self.result}" if self.result else ""
        return f"{self.actor:>14} {self.number:>4}  {self.op} {self.key}{result}{note}"


@dataclass
class World:
    """The actors, the clock, and what has happened. ``changed`` is told of every change."""

    policy: Policy
    clock: Clock = field(default_factory=Clock)
    tick: float = 0.001
    actors: list[Actor] = field(default_factory=list)
    trace: list[Event] = field(default_factory=list)
    violation: str = ""
    running: Actor | None = None
    steps: int = 0
    _next: Actor | None = None

    def run(self) -> None:
        """Let all actors run until all have ended, or an invariant is broken."""
        hub = greenlet.getcurrent()
        for actor in self.actors:
            actor.let.parent = hub
        while not self.violation and (alive := self.alive()):
            chosen, self._next = self._next, None
            self.running = chosen or self.policy.first(alive, self._next_able(alive))
            self.clock.now = max(self.clock.now, self.running.wake)
            try:
                self.running.let.switch()
            except StopError:
                break
        self.running = None
        for actor in self.actors:
            if not actor.let.dead:
                with contextlib.suppress(StopError):
                    actor.let.throw(StopError)

    def alive(self) -> list[Actor]:
        """Who has not ended."""
        return [actor for actor in self.actors if not actor.let.dead]

    def able(self, alive: list[Actor]) -> list[Actor]:
        """Who does not wait."""
        now, steps = self.clock.now, self.steps
        return [actor for actor in alive if actor.wake <= now and actor.wake_step <= steps]

    def _next_able(self, alive: list[Actor]) -> list[Actor]:
        able = self.able(alive)
        if not able:  # so time passes, or whoever wanted others to have done more goes on now
            first = min(alive, key=lambda actor: (actor.wake, actor.wake_step))
            self.clock.now = max(self.clock.now, first.wake)
            first.wake_step = 0
            able = self.able(alive)
        return able

    def sleep(self, seconds: float) -> None:
        """The running actor waits; others go on."""
        actor = self.running
        if actor is None:
            self.clock.now += 0.0 if isinstance(seconds, Steps) else seconds
            return
        if isinstance(seconds, Steps):
            actor.wake_step = int(seconds)
        else:
            actor.wake = self.clock.now + seconds
        actor.calls += 1
        self._hand_over(actor)
        actor.made += 1
        said = f"{seconds} calls" if isinstance(seconds, Steps) else in_words(seconds)
        self.trace.append(Event(actor.name, actor.calls, "waited", said, "done"))

    def _hand_over(self, actor: Actor) -> None:
        greenlet.getcurrent().parent.switch()
        if self.violation:
            raise StopError
        self.running = actor

    def call(self, op: str, key: str, act: Callable[[], Any]) -> Any:
        """A store call of the running actor. ``act`` does it, at once."""
        actor = self.running
        if self.violation:
            raise StopError
        if actor is None:
            return act()
        if actor.killed:
            raise KilledError
        actor.calls += 1
        self.steps += 1
        if self.steps > MOST_CALLS:
            self.broken("the schedule does not end: somebody tries for ever")
        self.clock.now += self.tick
        if seconds := self.policy.slow(actor, self, op):
            self.sleep(seconds)
        else:
            self._turn(actor, op)
        outcome = Outcome.DONE if actor.robust else self.policy.outcome(actor, op)
        return self._do(actor, op, key, act, outcome)

    def _turn(self, actor: Actor, op: str) -> None:
        other = self.policy.turn(actor, self, op)
        if other is not actor:
            self._next = other
            self._hand_over(actor)

    def _do(self, actor: Actor, op: str, key: str, act: Callable[[], Any], outcome: Outcome) -> Any:
        actor.made += 1
        event = Event(actor.name, actor.calls, op, key, outcome.value)
        self.trace.append(event)
        if outcome is Outcome.FAILED:
            raise _down(op, key)
        if outcome is Outcome.KILLED_BEFORE:
            actor.killed = True
            raise KilledError
        result = act()
        event.result = _short(result)
        if self.violation:
            raise StopError
        if outcome is Outcome.KILLED_AFTER:
            actor.killed = True
            raise KilledError
        if outcome is Outcome.LOST:
            raise _down(op, key)
        if outcome is Outcome.DOUBTED and op in ("put_if_absent", "put_if_match"):
            return False
        if outcome is Outcome.TORN:
            return Torn(result)
        return result

    def broken(self, what: str) -> None:
        """An invariant does not hold: nobody goes on."""
        self.violation = self.violation or what
        raise StopError

    def note(self, text: str) -> None:
        """A line of the trace that is no store call."""
        if self.running is not None:
            actor = self.running
            self.trace.append(Event(actor.name, actor.calls, "---", text, "done"))


@dataclass
class Torn:
    """A listing of which the caller has seen the first half, by now."""

    whole: tuple[Any, ...]


def _down(op: str, key: str) -> StoreDownError:
    return StoreDownError(f"cannot {op} {key}: no answer", hint="Retry the task.")


def _short(result: Any) -> str:
    if isinstance(result, bool):
        return "yes" if result else "no"
    if isinstance(result, tuple):
        return f"{len(result)} found"
    if result is None:
        return ""
    return f"{len(result)} bytes" if isinstance(result, bytes) else ""


def process(world: World, what: str, body: Callable[[], Any]) -> Any:
    """Run ``body`` as a process of the running actor that may be killed; return what it returns,
    or the :class:`ForerunError` or :class:`KilledError` that ended it.

    Anything else that comes out of it is a crash, and breaks the schedule; so does a kill that the
    product has caught.
    """
    from planner.errors import ForerunError

    actor = world.running
    world.note(what)
    if actor is not None:
        actor.began, actor.began_step = world.clock.now, world.steps
    try:
        result = body()
    except ForerunError as error:
        result = error.with_traceback(None)  # or it would keep all that the task had in hand
        result.__cause__ = result.__context__ = None
    except KilledError as killed:
        killed.with_traceback(None)
        if actor is not None:
            actor.killed = False
        world.note(f"{what}: killed")
        return killed
    except Exception:  # noqa: BLE001 - whatever it is, it is no way to end
        world.broken(f"{what} crashed:\n{traceback.format_exc()}")
    if actor is not None and actor.killed:
        world.broken(f"{what} went on after a kill: {result!r}")
    if isinstance(result, ForerunError):
        world.note(f"{what}: {result.code}: {result.message}")
    return result
