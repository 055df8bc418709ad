"""What must hold after every step, looked at whenever something in the store changes.

The numbers are those of docs/how/invariants.md. A broken one ends the schedule at the call that
broke it, so the last line of the trace is the culprit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from forerun.include.days.partition_sink import read_stamp
from forerun.include.runs.prepare import PreparedRun
from forerun.include.state import expire
from forerun.include.state.fence import Fence
from forerun.include.state.layout import Generation, generation_of
from forerun.include.state.pointers import Pointer, Unpublished, decode_pointer
from forerun.include.state.records import (
    ArtifactPartition,
    Manifest,
    Pin,
    RunCommit,
    decode,
)
from tests.simulation.engine import Rows, rows_of, total
from tests.simulation.oracle import Oracle
from tests.simulation.scheduler import Actor, World
from tests.simulation.store import Bucket, Stored, is_data, key_of

STORE, TABLES, WAREHOUSE = "store/", "tables/", "warehouse/"
VANDAL = "vandal"
"""Damages what is stored, from outside: nothing of it may be published all the same."""
READERS_FIND = "readers find"
"""How a line of the trace begins that says what is published from now on."""
MAY_CHANGE = ("/stages/", "/probe/", "/pointer.json", "/fences/")
"""Records of the store that may be put again; all others never change."""


@dataclass
class Invariants:
    """Watches one schedule. ``arrived``: the step at which a file of a source came, by key and
    identity; ``superseded``: by version folder, the true time at which readers were sent elsewhere;
    ``garbled``: of records what was in them before and after somebody turned a bit.
    """

    world: World
    bucket: Bucket
    oracle: Oracle
    commits: dict[str, RunCommit] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, Pointer] = field(default_factory=dict)
    published: dict[str, str] = field(default_factory=dict)
    arrived: dict[tuple[str, str], int] = field(default_factory=dict)
    superseded: dict[str, float] = field(default_factory=dict)
    closed: dict[tuple[str, str], int] = field(default_factory=dict)
    asked: dict[Actor | None, float] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    garbled: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    closed_at: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def changed(self, key: str, old: Stored | None, new: Stored | None) -> None:
        """Look at what one change of the store may have broken."""
        if key.startswith(TABLES):
            self._source(key, new)
        elif key.startswith(WAREHOUSE):
            self._sink(key, old, new)
        elif key.startswith(STORE):
            self._record(key, old, new)

    def _source(self, key: str, new: Stored | None) -> None:
        if new is not None and is_data(key):
            self.oracle.delivered[(key, new.identity)] = rows_of(new.data)
            self.arrived[(key, new.identity)] = self.world.steps

    def _record(self, full: str, old: Stored | None, new: Stored | None) -> None:
        key = full.removeprefix(STORE)
        if old is not None and new is not None and old.data != new.data and not self._by_vandal():
            may = any(part in f"/{key}" for part in MAY_CHANGE) or full not in self.named
            fixed = "/artifacts/" not in key and not key.startswith("results/")
            if not may or (fixed and not any(part in f"/{key}" for part in MAY_CHANGE)):
                self.broken(3, f"{key} was put again with other content")
        if key.startswith("probe/clock-") and new is not None:
            self.asked[self.world.running] = new.modified
        if self._by_vandal():
            self.damaged.add(full)
            self.named.pop(full, None)
            if full in self.garbled:
                return
        elif full in self.named and new is None:
            self.broken(3, f"{key} was deleted, and {self.named[full]} names it")
        elif new is None and "/artifacts/" in key:
            self._orphan(key)
        watch = self._watcher(key)
        if watch is not None:
            watch(key, old, new)

    def _orphan(self, key: str) -> None:
        """What may be deleted of a generation that stays: attempts at committed runs."""
        if not self._is_closed(generation_of(key)) and not self.is_of_committed_run(key):
            self.broken(3, f"{key} was deleted, and its run may still name it")

    def is_of_committed_run(self, key: str) -> bool:
        """Whether an attempt's file ``.../<family>/<run>-<attempt>/...`` is of a run with a commit
        that counts."""
        run = int(key.split("/")[6].partition("-")[0])
        return generation_of(key).commit(run) in self.commits

    def _by_vandal(self) -> bool:
        return self.world.running is not None and self.world.running.name == VANDAL

    def _watcher(self, key: str) -> Callable[[str, Stored | None, Stored | None], None] | None:
        parts = key.split("/")
        if parts[0] == "sources" and parts[-2] == "pins":
            return self._pin
        if parts[0] == "reports" and parts[-2] == "manifests":
            return self._manifest
        if parts[0] == "reports" and parts[-2] == "commits":
            return self._commit
        if parts[0] == "fences":
            return self._fence
        return self._pointer if parts[-1] == "pointer.json" else None

    def _fence(self, key: str, old: Stored | None, new: Stored | None) -> None:
        """Nothing in a closed generation counts any more; a fence only ever goes up."""
        fence = decode(Fence, new.data, key) if new is not None else None
        if fence is None or fence.through < self.closed.get((fence.report, fence.day), 0):
            self.broken(11, f"{key} goes down")
            return
        if self._at_work(fence):
            self.broken(11, f"{key} closes a generation that is younger than the floor")
        self.closed[fence.report, fence.day] = fence.through
        for number in range(1, fence.through + 1):
            self.closed_at.setdefault((fence.report, fence.day, number), self.world.clock.now)
        for commit in [key for key in self.commits if self._is_closed(generation_of(key))]:
            self._forget(commit)

    def _at_work(self, fence: Fence) -> bool:
        """Whether something of a generation that is closed now was young, by the store's clock,
        when clean-up asked for the time."""
        now = self.asked.get(self.world.running, self.world.clock.store_time())
        floor = now - expire.FLOOR.total_seconds()
        return any(
            floor < self.bucket.objects[name].modified < now
            for name in self.bucket.below(f"{STORE}reports/{fence.report}/{fence.day}")
        )

    def _acts_on_closed(self, key: str, at: Generation) -> None:
        """Who begins after a generation was closed must not add anything to it that counts."""
        closed, actor = (
            self.closed_at.get((at.report, at.day, int(at.generation))),
            self.world.running,
        )
        if closed is not None and actor is not None and actor.began > closed:
            self.broken(11, f"{key} is put by who began after its generation was closed")

    def _is_closed(self, at: Generation) -> bool:
        return int(at.generation) <= self.closed.get((at.report, at.day), 0)

    def _forget(self, key: str) -> None:
        commit = self.commits.pop(key, None)
        for name in _files(commit) if commit else ():
            self.named.pop(STORE + name, None)

    def _pin(self, key: str, old: Stored | None, new: Stored | None) -> None:
        if new is None:
            self.broken(2, f"the pin {key} was deleted")
        else:
            self.oracle.pins[key] = decode(Pin, new.data, key)

    def _manifest(self, key: str, old: Stored | None, new: Stored | None) -> None:
        if new is None:
            return
        manifest = decode(Manifest, new.data, key)
        self.oracle.manifests[key] = manifest
        if manifest.base >= manifest.run and not self._is_closed(generation_of(key)):
            self.broken(2, f"{key} goes on from run {manifest.base}, which comes after it")
        self._acts_on_closed(key, generation_of(key))
        pin = self.oracle.pins[manifest.sources[0].pin]
        marker = f"{key_of(pin.path)}/_SUCCESS"
        if manifest.final and not manifest.incomplete and marker not in self.bucket.objects:
            self.broken(13, f"{key} is of a day that was not complete, and does not say so")
        there = {(key_of(f.uri), f.identity) for f in pin.files}
        began = self.world.running.began_step if self.world.running else self.world.steps
        for name in filter(is_data, self.bucket.below(key_of(pin.path))):
            file = (name, self.bucket.objects[name].identity)
            if file not in there and self.arrived[file] < began:
                self.broken(1, f"{key} does not pin {name}, which came before it was planned")

    def _commit(self, key: str, old: Stored | None, new: Stored | None) -> None:
        if new is None:
            if key in self.commits:
                self.broken(11, f"{key} was deleted, and its generation is not closed")
            return
        commit = decode(RunCommit, new.data, key)
        at = generation_of(key)
        if self._is_closed(at):
            self._acts_on_closed(key, at)
            return
        manifest = self.oracle.manifest(at, commit.run)
        if manifest is None or manifest.base != commit.base:
            self.broken(3, f"{key} goes on from run {commit.base}, the manifest does not")
            return
        self.commits[key] = commit
        for name in _files(commit):
            self.named[STORE + name] = key
        for artifact in commit.artifacts:
            self._holds(key, artifact, self.oracle.delta(manifest))
        if commit.result is not None:
            self._holds(key, commit.result, self.oracle.result(at, commit.run) or ())

    def _holds(self, key: str, part: ArtifactPartition, wanted: Rows) -> None:
        names = [f"{STORE}{part.folder}/{file.name}" for file in part.files]
        if self.damaged.intersection(names):
            return  # since it was written: whoever reads it must notice
        found = self._read(names)
        if isinstance(found, str):
            self.broken(3, f"{key} names {found.removeprefix(STORE)}, which is not there")
        elif total(found) != wanted or len(found) != part.rows:
            said = f"its files hold {found}, it says {part.rows} rows"
            self.broken(1, f"{key}: {part.family} should be {wanted}; {said}")

    def _read(self, keys: Iterable[str]) -> Rows | str:
        """The rows of files, or the name of one that is missing."""
        rows: list[tuple[int, int]] = []
        for key in keys:
            if key not in self.bucket.objects:
                return key
            rows += rows_of(self.bucket.objects[key].data)
        return tuple(rows)

    def _pointer(self, key: str, old: Stored | None, new: Stored | None) -> None:
        if new is None:
            self.broken(9, f"{key} was deleted")
            return
        pointer = decode_pointer(new.data, key)
        before = self.pointers.get(key)
        if isinstance(pointer, Unpublished):
            if before is not None:
                self.broken(9, f"{key} says that nothing is published, {before.version} was")
            return
        if before is not None:
            self._moves_on(key, before, pointer)
            if before.folder != pointer.folder:
                self.superseded[before.folder] = self.world.clock.now
            for name in pointed(before):
                self.named.pop(name, None)
        if before is None or before.version != pointer.version:
            lacks = f"{', early' * pointer.early}{', incomplete' * bool(pointer.incomplete)}"
            self.world.note(f"{READERS_FIND}: {pointer.version}{lacks}")
            at = Generation(pointer.report, pointer.day, str(pointer.generation))
            self._acts_on_closed(key, at)
        self.pointers[key] = pointer
        folder = key_of(pointer.folder)
        if folder.startswith(WAREHOUSE):
            self._sink_is_there(key, pointer)
            return
        for name in pointed(pointer):
            self.named[name] = key
        at = Generation(pointer.report, pointer.day, str(pointer.generation))
        wanted = self.oracle.result(at, pointer.run)
        self._says_what_lacks(key, at, pointer.run, pointer.incomplete)
        if self.damaged.intersection(pointed(pointer)):
            return  # after it was compared: no order of steps keeps that from happening
        found = self._read(pointed(pointer))
        if isinstance(found, str):
            self.broken(9, f"{key} points at {found}, which is not there")
        elif tuple(sorted(found)) != wanted or len(found) != pointer.rows:
            said = f"published are {found}, said to be {pointer.rows} rows"
            self.broken(1, f"{key}: {pointer.version} should be {wanted}; {said}")

    def _says_what_lacks(
        self, key: str, at: Generation, run: int, said: tuple[tuple[str, str], ...]
    ) -> None:
        manifest = self.oracle.manifest(at, run)
        if manifest is not None and said != manifest.incomplete:
            self.broken(13, f"{key} says that {said} is missing, {manifest.incomplete} was")

    def _moves_on(self, key: str, before: Pointer, after: Pointer) -> None:
        older = after.generation < before.generation
        early = after.early and (
            not before.early or (after.generation == before.generation and after.run < before.run)
        )
        if older or early:
            self.broken(9, f"{key} went back from {before.version} to {after.version}")

    def _sink_is_there(self, key: str, pointer: Pointer) -> None:
        name = f"{key_of(pointer.folder)}/{pointer.files[0].name}"
        there = self.bucket.objects.get(name)
        stamp = read_stamp(there.data) if there else None
        if stamp is None or stamp.generation < pointer.generation:
            self.broken(9, f"{key} says {pointer.version}, and {name} is {stamp}")

    def _sink(self, key: str, old: Stored | None, new: Stored | None) -> None:
        stamp = read_stamp(new.data) if new is not None else None
        if new is None or stamp is None:
            self.broken(9, f"{key} is not a published file any more")
            return
        before = read_stamp(old.data) if old is not None else None
        if before is not None and before.generation > stamp.generation:
            self.broken(9, f"{key} went back from {before.version} to {stamp.version}")
        at = Generation(stamp.report, stamp.day, str(stamp.generation))
        run = int(stamp.version.split("-")[1])
        self._says_what_lacks(key, at, run, stamp.incomplete)
        if rows_of(new.data) != self.oracle.result(at, run):
            self.broken(1, f"{key} holds {rows_of(new.data)}, not {self.oracle.result(at, run)}")

    def planned(self, ready: PreparedRun) -> None:
        """Whoever plans a run goes on from what the first one decided."""
        manifest = self.oracle.manifest(ready.at, ready.run)
        if ready.result and manifest and ready.result.plan.run.base != manifest.base:
            self.broken(4, f"{ready.plan_key} does not go on from run {manifest.base}")

    def committed(self, at: Generation, commit: RunCommit) -> None:
        """Whoever commits a run is told which attempt counts."""
        counts = self.commits.get(at.commit(commit.run))
        if counts is not None and counts.attempt != commit.attempt:
            self.broken(4, f"{commit.attempt} believes that it has committed run {commit.run}")

    def broken(self, number: int, what: str) -> None:
        """Invariant ``number`` of docs/how/invariants.md does not hold."""
        self.world.violation = self.world.violation or f"invariant {number}: {what}"


def pointed(pointer: Pointer) -> list[str]:
    """The keys that a pointer names."""
    return [f"{key_of(pointer.folder)}/{file.name}" for file in pointer.files]


def _files(commit: RunCommit) -> list[str]:
    parts = [*commit.artifacts, *([commit.result] if commit.result else [])]
    return [f"{part.folder}/{file.name}" for part in parts for file in part.files]
