"""Who goes next, and what becomes of each store call: decided before every call, by a policy.

Actors are greenlets: one runs at a time, and hands over only where it calls the store. What the
policy (:mod:`tests.simulation.policies`) decided is kept as a list of deviations from the dull
schedule (everybody in turn to the end, nothing fails), each bound to an actor and the number of its
call. So a schedule can be replayed, and made smaller by leaving deviations out
(:mod:`tests.simulation.shrink`).
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from greenlet import greenlet

from forerun.include.stores.store import StoreDownError
from tests.simulation.clock import Clock, in_words

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


class Policy(Protocol):
    """Decides for a schedule. ``deviations``: what it has let go wrong so far."""

    deviations: list[Deviation]

    def turn(self, actor: Actor, world: World, op: str) -> Actor:
        """Who goes on when ``actor`` is about to call ``op``."""
        ...

    def first(self, alive: list[Actor], able: list[Actor]) -> Actor:
        """Who goes on when somebody has ended or waits."""
        ...

    def slow(self, actor: Actor, world: World, op: str, key: str) -> float:
        """How long the call takes while others go on; 0 for no time at all."""
        ...

    def outcome(self, actor: Actor, op: str) -> Outcome:
        """What becomes of the call."""
        ...


class Actor:
    """One who does something with the store, on a host with a clock of its own."""

    def __init__(self, name: str, body: Callable[[Actor], None], *, skew: float = 0.0) -> None:
        self.name, self.skew = name, skew
        self.calls = self.made = 0
        self.wake, self.wake_step = 0.0, 0
        self.until: Callable[[], object] | None = None
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

    def pouncing(self) -> Actor | None:
        """Who has waited for just this moment."""
        return next((a for a in self.actors if a.until and not a.let.dead and a.until()), None)

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

    def wait_until(self, moment: Callable[[], object]) -> None:
        """The running actor waits for a moment, or until nobody else can go on."""
        if self.running is not None:
            self.running.until = moment
            self.sleep(Steps(MOST_CALLS))

    def _hand_over(self, actor: Actor) -> None:
        greenlet.getcurrent().parent.switch()
        if self.violation:
            raise StopError
        self.running, actor.until = actor, None

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
        if seconds := self.policy.slow(actor, self, op, key):
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
    from forerun.planner.errors import ForerunError

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
