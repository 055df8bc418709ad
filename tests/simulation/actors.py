"""Who does the work of a day: the tasks of a report, a second attempt, clean-up.

They call the product as Airflow's operators and the command line do, with the clock of their host.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from forerun.include.days import handle
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs.prepare import (
    PreparedRun,
    open_generation,
    prepare_run,
    publish_result,
    read_findings,
)
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.sources.completeness import find_missing
from forerun.include.state.commits import ArtifactError
from forerun.include.state.expire import Retention, expire
from forerun.include.stores.store import StoreDownError
from forerun.planner.errors import ForerunError
from forerun.spark_jobs.executor import execute
from forerun.spark_jobs.failures import StageError
from tests.simulation import doors
from tests.simulation.engine import TinyEngine
from tests.simulation.invariants import Invariants
from tests.simulation.plans import SOURCE
from tests.simulation.scheduler import Actor, KilledError, World, process
from tests.simulation.store import key_of

STORE_URI = "s3://sim/store"
POLLS, POLL = 10, 3600.0
Lacks = tuple[tuple[str, str], ...]
"""What sources lack: of each its name, and a sentence."""


@dataclass
class Cast:
    """What all actors of a schedule share."""

    world: World
    watch: Invariants
    allowed: Callable[[ForerunError], bool]
    generations: dict[tuple[str, str, str], str] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)
    attempts: int = 0

    def now(self) -> dt.datetime:
        actor = self.world.running
        return self.world.clock.host_time(actor.skew if actor else 0.0)

    def task(self, what: str, body: Callable[[], Any], tries: int) -> Any:
        """A task with retries, each in a new process; the result, or how the last try ended."""
        ended: Any = None
        for number in range(tries):
            ended = process(self.world, what if not number else f"{what}, try {number + 1}", body)
            if isinstance(ended, ForerunError) and not self.allowed(ended):
                self.world.broken(f"{what} failed for no reason: {ended.code}: {ended.message}")
            if not isinstance(ended, KilledError) and not _worth_a_retry(ended):
                return ended
            self.world.sleep(60.0)
        return ended


def _worth_a_retry(ended: object) -> bool:
    """As Airflow's operators see it; a run is its own process, of which only the exit code is
    seen."""
    return isinstance(ended, StoreDownError | StageError | ArtifactError)


@dataclass(frozen=True, kw_only=True)
class Day:
    """One attempt of a report at a day: who clears it starts another, with a trigger of its own.
    ``gives_up``: it goes on although its sources are not complete, and says so."""

    spec: ReportSpec
    day: dt.date
    trigger: str
    skipped: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()
    tries: int = 3
    gives_up: bool = False

    def __call__(self, cast: Cast) -> str:
        """The day from opening to publishing; how it ended."""
        spec, tries = self.spec, self.tries
        generation = cast.task(f"open {self.trigger}", lambda: self.open(cast), tries)
        if not isinstance(generation, str):
            return "not opened"
        cast.generations[spec.name, self.day.isoformat(), self.trigger] = generation
        for run in range(1, spec.runs + 1):
            cast.world.sleep(self.gaps[run - 1])
            if run in self.skipped:
                continue
            lacks = self._wait(cast) if run == spec.runs else ()
            if lacks and not self.gives_up:
                return "never complete"
            ended = self.do(cast, generation, run, lacks)
            if run in spec.policy.early_results and not isinstance(ended, ForerunError):
                cast.task(f"publish run {run}", lambda r=run: self.publish(cast, generation, r), 2)
        ended = cast.task("publish", lambda: self.publish(cast, generation, spec.runs), tries)
        said = ended.code if isinstance(ended, ForerunError) else "published"
        return "killed" if isinstance(ended, KilledError) else said

    def open(self, cast: Cast) -> str:
        opened = open_generation(
            STORE_URI, self.spec, self.day, trigger=self.trigger, now=cast.now()
        )
        return opened.at.generation

    def handle(self, generation: str) -> handle.Day:
        return handle.Day.of(STORE_URI, self.spec, self.day, generation)

    def lacks(self, cast: Cast) -> Lacks:
        """What the day's sources lack now; one who cannot tell finds that they lack something."""
        look = lambda: find_missing(self.spec, self.day, cast.now())  # noqa: E731
        found = process(cast.world, "wait", look)
        if isinstance(found, tuple):
            return tuple((each.source, each.what) for each in found)
        return ((SOURCE, "nobody knows"),)

    def _wait(self, cast: Cast) -> Lacks:
        for _ in range(POLLS if not self.gives_up else 2):
            if not (lacks := self.lacks(cast)):
                break
            cast.world.sleep(POLL)
        return lacks

    def do(self, cast: Cast, generation: str, run: int, lacks: Lacks = ()) -> Any:
        """Plan and do a run, as the tasks ``plan`` and ``run``."""
        plan = lambda: self.plan(cast, generation, run, lacks=lacks)  # noqa: E731
        ready = cast.task(f"plan run {run}", plan, self.tries)
        if not isinstance(ready, PreparedRun) or ready.skip_reason:
            return ready
        return cast.task(f"run {run}", lambda: do_run(cast, ready.plan_uri), self.tries)

    def plan(self, cast: Cast, generation: str, run: int, *, lacks: Lacks = ()) -> PreparedRun:
        ready = prepare_run(self.handle(generation), run, now=cast.now(), incomplete=lacks)
        cast.watch.planned(ready)
        return ready

    def publish(self, cast: Cast, generation: str, run: int) -> Any:
        if run == self.spec.runs:
            read_findings(self.handle(generation), run)
        return publish_result(self.handle(generation), now=cast.now(), run=run)


def do_run(cast: Cast, plan_uri: str) -> Any:
    """What ``spark_jobs/run.py`` does, on the tiny engine."""
    stored = StoredPlan.read(plan_uri)
    cast.attempts += 1
    whole = doors.locate_sim("s3://sim/").store
    attempt = f"a{cast.attempts}"
    engine = TinyEngine(whole, key_of, attempt, buckets=bool(stored.plan.families[0].buckets))
    meter = SimpleNamespace(cpu_s=0.0, wall_s=0.0, shared_by=1)
    commit = execute(engine, stored, attempt, _quiet, meter)  # type: ignore[arg-type]
    cast.watch.committed(stored.at, commit)
    return commit


def _quiet(_line: str) -> None:
    """Progress is not read by anybody."""


@dataclass(frozen=True, kw_only=True)
class SecondAttempt:
    """A try of run ``run`` that Airflow believes to be dead, and that is not: it plans, runs and
    publishes beside the other one."""

    day: Day
    run: int
    sleep: float

    def __call__(self, cast: Cast) -> None:
        day = self.day
        cast.world.sleep(self.sleep)
        generation = cast.generations.get((day.spec.name, day.day.isoformat(), day.trigger))
        if generation is None:
            return
        lacks: Lacks = ()
        if self.run == day.spec.runs:
            lacks = day.lacks(cast)
            if lacks and not day.gives_up:
                return
        day.do(cast, generation, self.run, lacks)
        cast.world.sleep(self.sleep)
        cast.task(f"publish run {self.run}", lambda: day.publish(cast, generation, self.run), 1)


@dataclass(frozen=True, kw_only=True)
class CleanUp:
    """``forerun expire`` now and then, by the clock of its host."""

    report: str
    rounds: tuple[tuple[float, Retention], ...]

    def __call__(self, cast: Cast) -> None:
        store = doors.open_sim(STORE_URI)
        for sleep, keep in self.rounds:
            cast.world.sleep(sleep)
            cast.task(f"expire {keep}", lambda k=keep: expire(store, self.report, k), 1)


Body = Callable[[Cast], Any]


def actor(cast: Cast, name: str, body: Body, skew: float) -> Actor:
    """An actor of the schedule; how a day of it ended is noted."""

    def play(_self: Actor) -> None:
        cast.done[name] = str(body(cast))

    return Actor(name, play, skew=skew)
