"""One schedule from a seed or a list of deviations: play it, look at it, end it calmly."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace

from forerun.include.runs.prepare import publish_result, read_pointer
from forerun.include.state import expire as expire_module
from forerun.include.state.expire import Retention, expire
from forerun.include.state.layout import PROBE_KEY, pointer_key
from forerun.include.state.probe import _PASSED as PASSED
from forerun.planner.errors import ForerunError
from tests.simulation import doors
from tests.simulation.actors import STORE_URI, Cast, Day, actor
from tests.simulation.clock import DAY, Clock
from tests.simulation.drawing import draw
from tests.simulation.invariants import Invariants, pointed
from tests.simulation.leaks import leaks
from tests.simulation.oracle import Oracle
from tests.simulation.policies import PriorityPolicy, RandomPolicy, ScriptPolicy
from tests.simulation.scenario import Scenario, source_folder
from tests.simulation.scheduler import (
    Deviation,
    Event,
    Outcome,
    Policy,
    StopError,
    Turn,
    World,
)
from tests.simulation.store import Bucket

ALWAYS = {"overtaken", "not-published", "day-closed", "source-path", "source-file"}
BY_FAULTS = {"store-down", "stage"}
BY_CLEAN_UP = {
    "generation-closed",
    "store-missing",
    "artifact",
    "commit",
    "stage",
    "contract",
}
BY_DAMAGE = {"artifact", "stage", "store-missing", "contract"}
BY_CHANGES = {"source-changed", "stage"}


@dataclass(frozen=True)
class Script:
    """A schedule: who goes on until when, and what goes wrong."""

    turns: list[Turn]
    deviations: list[Deviation]


@dataclass
class Played:
    """How a schedule went: empty ``violation`` if every invariant held all the time."""

    scenario: Scenario
    violation: str
    deviations: list[Deviation]
    trace: list[Event]
    done: dict[str, str]
    steps: int

    @property
    def script(self) -> Script:
        """The same schedule, to be played again."""
        turns: list[Turn] = []
        calls: dict[str, int] = {}
        for event in self.trace:
            if event.op != "---":
                calls[event.actor] = calls.get(event.actor, 0) + 1
                if turns and turns[-1].actor == event.actor:
                    turns.pop()
                turns.append(Turn(event.actor, calls[event.actor]))
        return Script(turns, self.deviations)


def play(
    seed: int,
    script: Script | None = None,
    *,
    without: frozenset[str] = frozenset(),
    bucket_of: Callable[[World], Bucket] | None = None,
) -> Played:
    """Play the schedule of a seed, or its scenario by a script and ``without`` some actors. The
    doors must be open (:func:`tests.simulation.doors.installed`). ``bucket_of`` gives another
    bucket than one in memory."""
    scenario = draw(seed)
    policy: Policy
    if script is None:
        by_chance = PriorityPolicy if scenario.rates.depth else RandomPolicy
        policy = by_chance(seed, scenario.rates)
    else:
        policy = ScriptPolicy(script.turns, script.deviations)
    world = World(policy, Clock(store_skew=scenario.store_skew), scenario.tick)
    bucket = bucket_of(world) if bucket_of else Bucket(world, scenario.kind)
    watch = Invariants(world, bucket, Oracle(bucket))
    bucket.changed = watch.changed
    doors.STAGE.set(bucket, scenario.styles)
    expire_module.FLOOR = dt.timedelta(hours=scenario.floor_hours)
    if scenario.probed:
        bucket.put(f"store/{PROBE_KEY}", PASSED)
    cast = Cast(world, watch, lambda error: _allowed(scenario, policy, error))
    world.actors = [
        actor(cast, name, body, skew) for name, body, skew in scenario.bodies if name not in without
    ]
    world.run()
    if scenario.calm and not world.violation:
        with contextlib.suppress(StopError):
            _calm(cast, scenario)
    actors, world.actors, bucket.changed = world.actors, [], lambda key, old, new: None
    for one in actors:
        del one.let  # a greenlet and its actor would keep each other
    return Played(scenario, world.violation, policy.deviations, world.trace, cast.done, world.steps)


def _allowed(scenario: Scenario, policy: Policy, error: ForerunError) -> bool:
    """Whether a task may fail like that in such a schedule."""
    code = error.code.partition(":")[0]
    faults = any(
        isinstance(d.value, Outcome) and d.value is not Outcome.TORN for d in policy.deviations
    )
    return (
        code in ALWAYS
        or (faults and code in BY_FAULTS)
        or (scenario.cleaned and code in BY_CLEAN_UP)
        or (scenario.damaged and code in BY_DAMAGE)
        or (scenario.hostile and code in BY_CHANGES)
    )


def _calm(cast: Cast, scenario: Scenario) -> None:
    """After the storm: every day can be cleared and published, and clean-up leaves nothing over."""
    world = cast.world
    world.clock.now += 100 * DAY
    world.clock.store_skew = 0.0
    if scenario.damaged:
        _repair(cast, scenario)
    for day in {(d.spec.name, d.day): d for d in scenario.days}.values():
        _publish_again(cast, day)
    keep = Retention(days=1, generations=1, versions=1, orphan_hours=1.0)
    store = doors.open_sim(STORE_URI)
    for name in scenario.styles:
        world.clock.now += 100 * DAY
        expire(store, name, keep)
        world.clock.now += 100 * DAY
        expire(store, name, keep)
        if world.violation:
            return
        if left := leaks(cast.watch, name):
            world.violation = f"clean-up leaves {left[0]} (and {len(left) - 1} more) for ever"


def _repair(cast: Cast, scenario: Scenario) -> None:
    """What was damaged is whole once it is published again, or that fails."""
    bucket = cast.watch.bucket
    bucket.changed = lambda key, old, new: None
    for key, (whole, turned) in cast.watch.garbled.items():
        if key in bucket.objects and bucket.objects[key].data == turned:
            bucket.put(key, whole)  # a person has restored it
    bucket.changed = cast.watch.changed
    for day in scenario.days:
        key = pointer_key(day.spec.name, day.day.isoformat())
        pointer = cast.watch.pointers.get(key)
        if pointer is None or not cast.watch.damaged.intersection(pointed(pointer)):
            continue
        try:
            handle = day.handle(str(pointer.generation))
            publish_result(handle, now=cast.now(), run=pointer.run)
        except ForerunError:
            continue
        if cast.watch.damaged.intersection(pointed(cast.watch.pointers[key])):
            cast.world.violation = f"{key} was published again, and is still damaged"


def _publish_again(cast: Cast, day: Day) -> None:
    wanted = cast.watch.oracle.now(source_folder(day.day))
    if not wanted:
        return
    again = replace(day, trigger="calm", skipped=(), gaps=(0.0,) * day.spec.runs, tries=1)
    ended = again(cast)
    if cast.world.violation:
        return
    pointer = read_pointer(doors.open_sim(STORE_URI), day.spec.name, day.day)
    if ended != "published" or pointer is None or pointer.early or pointer.rows != len(wanted):
        cast.world.violation = f"{day.spec.name}, {day.day}, cleared in calm: {ended}, {pointer}"
