"""Who is around a day and no process of it: who delivers, who damages what is stored, who reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from forerun.include.days.results import read_pointer
from forerun.include.stores.store import MissingKeyError
from tests.simulation import doors
from tests.simulation.actors import STORE_URI, Cast, Day
from tests.simulation.engine import parquet, rows_of
from tests.simulation.invariants import STORE, Invariants, pointed
from tests.simulation.scheduler import process
from tests.simulation.store import SimStore, key_of


@dataclass(frozen=True)
class Delivery:
    """What is done to one file of a source after ``sleep`` seconds: put rows, or delete it."""

    sleep: float
    name: str
    rows: tuple[tuple[int, int], ...] | None


@dataclass(frozen=True, kw_only=True)
class Deliveries:
    """Files of a source come, change and vanish. Nothing happens to the deliverer itself."""

    folder: str
    steps: tuple[Delivery, ...]

    def __call__(self, cast: Cast) -> None:
        store = _from_outside(cast)
        for step in self.steps:
            cast.world.sleep(step.sleep)
            key = f"{self.folder}/{step.name}"
            if step.rows is None:
                store.delete(key)
            else:
                store.put(key, b"" if step.name.startswith("_") else parquet(step.rows))


def _from_outside(cast: Cast) -> SimStore:
    """The store for one who is no process of Forerun, and to whom nothing happens."""
    if cast.world.running is not None:
        cast.world.running.robust = True
    return SimStore(cast.watch.bucket, "")


@dataclass(frozen=True, kw_only=True)
class Blow:
    """One thing that is damaged: how, and how far back in the order in which things were stored.
    ``pounces``: when the newest thing is one that can be hit, or on a result or a kept partition
    that somebody has just looked at and found unchanged."""

    sleep: float
    how: Literal["gone", "replaced", "garbled"]
    back: float
    pounces: Literal["", "new", "result", "sums"] = ""


@dataclass(frozen=True, kw_only=True)
class Damage:
    """Somebody deletes files of the state, writes over some that are named, or turns a bit in a
    record."""

    blows: tuple[Blow, ...]

    def __call__(self, cast: Cast) -> None:
        store, watch = _from_outside(cast), cast.watch
        for blow in self.blows:
            cast.world.sleep(blow.sleep)
            prey = partial(_prey, blow, cast)
            if blow.pounces:
                cast.world.wait_until(prey)
            keys = prey() or [key for key in watch.bucket.objects if _is_hit_by(blow, key, watch)]
            if not keys:
                continue
            key = keys[len(keys) - 1 - int(blow.back * len(keys))]
            if blow.how == "gone":
                store.delete(key)
            elif blow.how == "replaced":
                store.put(key, parquet(((9, 999),)))
            else:
                whole = watch.bucket.objects[key].data
                at = int(blow.back * len(whole))
                turned = whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :]
                watch.garbled[key] = (whole, turned)
                store.put(key, turned)


def _prey(blow: Blow, cast: Cast) -> list[str]:
    """What a blow has waited for, if it is there."""
    bucket = cast.watch.bucket
    last = next((event for event in reversed(cast.world.trace) if event.op != "waited"), None)
    keys: list[str] = []
    if blow.pounces == "new":
        keys = [next(reversed(bucket.objects), "")]
    elif last and last.op == bucket.look and f"/{blow.pounces}/" in last.key:
        keys = [key for key in bucket.objects if f"{key}/".startswith(f"{last.key}/")]
    return [key for key in keys if _is_hit_by(blow, key, cast.watch)]


def _is_hit_by(blow: Blow, key: str, watch: Invariants) -> bool:
    if blow.how == "garbled":
        return key.startswith(STORE) and key.endswith(".json") and key not in watch.garbled
    return key in watch.named or (blow.how == "gone" and "/artifacts/" in key)


@dataclass(frozen=True, kw_only=True)
class PointerReader:
    """A reader of the pointer: whole versions, or a loud error if it dawdled longer than policy."""

    day: Day
    sleeps: tuple[float, ...]
    patience: float

    def __call__(self, cast: Cast) -> None:
        for sleep in self.sleeps:
            cast.world.sleep(sleep)
            process(cast.world, "read", lambda: self._read(cast))

    def _read(self, cast: Cast) -> None:
        world, store, day = cast.world, doors.open_sim(STORE_URI), self.day
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
                if since is None or world.clock.now - since < self.patience:
                    world.broken(f"invariant 9: a reader of {pointer.version} finds no {file.name}")
                return
            rows += rows_of(data)
        whole_ones = not any(name in cast.watch.damaged for name in pointed(pointer))
        if whole_ones and "warehouse/" not in pointer.folder and len(rows) != pointer.rows:
            world.broken(f"invariant 9: a reader of {pointer.version} has {rows}")


@dataclass(frozen=True, kw_only=True)
class FolderReader:
    """A reader of a partition folder, who lists it and reads what is there."""

    folder: str
    sleeps: tuple[float, ...]

    def __call__(self, cast: Cast) -> None:
        whole = doors.locate_sim("s3://sim/").store
        seen = False
        for sleep in self.sleeps:
            cast.world.sleep(sleep)

            def look() -> bool:
                files = [f for f in whole.list(self.folder) if f.key.endswith(".parquet")]
                for file in files:
                    whole.get(file.key)
                return len(files) == 1

            ended = process(cast.world, "read", look)
            if isinstance(ended, MissingKeyError) or (seen and ended is False):
                cast.world.broken(f"invariant 9: {self.folder} is empty for a reader")
            seen = seen or ended is True
