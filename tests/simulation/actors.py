"""Who takes part in a day: the tasks of a report, a second attempt, clean-up, deliveries, readers.

They call the product as Airflow's operators and the command line do, with the clock of their host.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from include.days import handle
from include.days.prepare import (
    PreparedRun,
    open_generation,
    prepare_run,
    publish_result,
    read_findings,
    read_pointer,
)
from include.days.stored_plan import StoredPlan
from include.reports.spec import ReportSpec
from include.sources.completeness import find_missing
from include.state.borrowed import BorrowedLostError
from include.state.commits import ArtifactError
from include.state.expire import Retention, expire
from include.state.store import MissingKeyError, StoreDownError
from planner.errors import ForerunError
from spark_jobs.executor import execute
from spark_jobs.failures import StageError
from tests.simulation import doors
from tests.simulation.engine import TinyEngine, parquet, rows_of
from tests.simulation.invariants import Invariants, pointed
from tests.simulation.scheduler import Actor, KilledError, World, process
from tests.simulation.store import SimStore, key_of

STORE_URI = "s3://sim/store"
POLLS, POLL = 10, 3600.0


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
    """One attempt of a report at a day: who clears it starts another, with a trigger of its own."""

    spec: ReportSpec
    day: dt.date
    trigger: str
    skipped: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()
    tries: int = 3

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
            if run == spec.runs and not self._complete(cast):
                return "never complete"
            ended = self.run(cast, generation, run)
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

    def _complete(self, cast: Cast) -> bool:
        for _ in range(POLLS):
            look = lambda: find_missing(self.spec, self.day, cast.now())  # noqa: E731
            if process(cast.world, "wait", look) == ():
                return True
            cast.world.sleep(POLL)
        return False

    def run(self, cast: Cast, generation: str, run: int) -> Any:
        """Plan and do a run, as the tasks ``plan`` and ``run``."""
        ready = cast.task(f"plan run {run}", lambda: self.plan(cast, generation, run), self.tries)
        if not isinstance(ready, PreparedRun) or ready.skip_reason:
            return ready
        return cast.task(f"run {run}", lambda: self.submit(cast, ready), self.tries)

    def plan(self, cast: Cast, generation: str, run: int, *, share: bool = True) -> PreparedRun:
        ready = prepare_run(self.handle(generation), run, now=cast.now(), share=share)
        cast.watch.planned(ready)
        return ready

    def submit(self, cast: Cast, ready: PreparedRun) -> Any:
        """One submission, and another one without what other reports keep, if that is lost."""
        try:
            return do_run(cast, ready.plan_uri)
        except BorrowedLostError:
            again = self.plan(cast, ready.at.generation, ready.run, share=False)
            return None if again.skip_reason else do_run(cast, again.plan_uri)

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
    meter = SimpleNamespace(cpu_s=0.0, wall_s=0.0)
    commit = execute(engine, stored, attempt, _quiet, meter)  # type: ignore[arg-type]
    cast.watch.committed(stored.at, commit)
    return commit


def _quiet(_line: str) -> None:
    """Progress is not read by anybody."""


def second_attempt(cast: Cast, day: Day, run: int, sleep: float) -> None:
    """A try of run ``run`` that Airflow believes to be dead, and that is not: it plans, runs and
    publishes beside the other one."""
    cast.world.sleep(sleep)
    generation = cast.generations.get((day.spec.name, day.day.isoformat(), day.trigger))
    if generation is None:
        return
    if run == day.spec.runs:
        look = process(cast.world, "wait", lambda: find_missing(day.spec, day.day, cast.now()))
        if look != ():
            return
    day.run(cast, generation, run)
    cast.world.sleep(sleep)
    cast.task(f"publish run {run}", lambda: day.publish(cast, generation, run), 1)


def clean_up(cast: Cast, report: str, rounds: tuple[tuple[float, Retention], ...]) -> None:
    """``forerun expire`` now and then, by the clock of its host."""
    store = doors.open_sim(STORE_URI)
    for sleep, keep in rounds:
        cast.world.sleep(sleep)
        cast.task(f"expire {keep}", lambda k=keep: expire(store, report, k), 1)


@dataclass(frozen=True)
class Delivery:
    """What the deliverer does to one file after ``sleep`` seconds: put rows, or delete it."""

    sleep: float
    name: str
    rows: tuple[tuple[int, int], ...] | None


def deliver(cast: Cast, folder: str, steps: tuple[Delivery, ...]) -> None:
    """Files of a source come, change and vanish. Nothing happens to the deliverer itself."""
    world = cast.world
    if world.running is not None:
        world.running.robust = True
    store = SimStore(cast.watch.bucket, "")
    for step in steps:
        world.sleep(step.sleep)
        key = f"{folder}/{step.name}"
        if step.rows is None:
            store.delete(key)
        else:
            store.put(key, b"" if step.name.startswith("_") else parquet(step.rows))


def damage(cast: Cast, sleep: float, place: float, *, gone: bool) -> None:
    """Somebody deletes a file of the state, or writes over one that is named."""
    if cast.world.running is not None:
        cast.world.running.robust = True
    cast.world.sleep(sleep)
    named = cast.watch.named
    keys = [k for k in cast.watch.bucket.keys if k in named or (gone and "/artifacts/" in k)]
    if not keys:
        return
    key = keys[int(place * len(keys))]
    store = SimStore(cast.watch.bucket, "")
    if gone:
        store.delete(key)
    else:
        store.put(key, parquet(((9, 999),)))


def read_published(cast: Cast, day: Day, sleeps: tuple[float, ...], patience: float) -> None:
    """A reader of the pointer: whole versions, or a loud error if it dawdled longer than policy."""
    for sleep in sleeps:
        cast.world.sleep(sleep)
        process(cast.world, "read", lambda: _read_once(cast, day, patience))


def _read_once(cast: Cast, day: Day, patience: float) -> None:
    world, store = cast.world, doors.open_sim(STORE_URI)
    pointer = read_pointer(store, day.spec.name, day.day)
    if pointer is None:
        return
    whole = doors.locate_sim("s3://sim/").store
    rows: list[tuple[int, int]] = []
    for file in pointer.files:
        try:
            data = whole.get(f"{key_of(pointer.folder)}/{file.name}")
        except MissingKeyError:
            if f"{key_of(pointer.folder)}/{file.name}" in cast.watch.damaged:
                return
            since = cast.watch.superseded.get(pointer.folder)
            if since is None or world.clock.now - since < patience:
                world.broken(f"invariant 9: a reader of {pointer.version} finds no {file.name}")
            return
        rows += rows_of(data)
    whole_ones = not any(name in cast.watch.damaged for name in pointed(pointer))
    if whole_ones and "warehouse/" not in pointer.folder and len(rows) != pointer.rows:
        world.broken(f"invariant 9: a reader of {pointer.version} has {rows}")


def read_partition(cast: Cast, folder: str, sleeps: tuple[float, ...]) -> None:
    """A reader of a partition folder, who lists it and reads what is there."""
    whole = doors.locate_sim("s3://sim/").store
    seen = False
    for sleep in sleeps:
        cast.world.sleep(sleep)

        def look() -> bool:
            files = [f for f in whole.list(folder) if f.key.endswith(".parquet")]
            for file in files:
                whole.get(file.key)
            return len(files) == 1

        ended = process(cast.world, "read", look)
        if isinstance(ended, MissingKeyError) or (seen and ended is False):
            cast.world.broken(f"invariant 9: {folder} is empty for a reader")
        seen = seen or ended is True


Body = Callable[[Cast], Any]


def actor(cast: Cast, name: str, body: Body, skew: float) -> Actor:
    """An actor of the schedule; how a day of it ended is noted."""

    def play(_self: Actor) -> None:
        cast.done[name] = str(body(cast))

    return Actor(name, play, skew=skew)
