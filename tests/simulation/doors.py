"""The doors through which the product gets onto the simulated store, and what is made cheaper.

The product runs as it is. Replaced are: how a URI becomes a store, the planner (by plans of one
query, :mod:`tests.simulation.plans`), random names (by counted ones, so that a seed says all), and
thread pools (by loops: an actor is one thread). Reading the same record or footer again, and
writing the same report, is remembered.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import gc
import logging
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from forerun.include.days import partition_sink
from forerun.include.machine import wall_clock
from forerun.include.reports import spec
from forerun.include.sources import files, row_counts
from forerun.include.sources.files import Location
from forerun.include.sources.parquet import footers
from forerun.include.state import expire, records
from forerun.include.stores import backoff, opening
from forerun.include.stores.store import Store
from forerun.planner.contract import Plan, codec
from forerun.spark_jobs import stages
from tests.simulation import remembering
from tests.simulation.plans import Style, make_plan
from tests.simulation.store import Bucket, SimStore, key_of

OWN = ("forerun.include.", "forerun.spark_jobs.", "tests.simulation.")


@dataclass
class Stage:
    """What the doors lead to, for the schedule that runs now."""

    bucket: Bucket | None = None
    styles: dict[str, Style] = field(default_factory=dict)
    counted: int = 0
    schedules: int = 0
    codec: _Codec | None = None

    def set(self, bucket: Bucket, styles: dict[str, Style]) -> None:
        """Begin a schedule."""
        self.bucket, self.styles, self.counted = bucket, styles, 0
        self.schedules += 1
        if self.schedules % 500 == 0:
            gc.collect()
        if self.codec is not None:
            self.codec.known.clear()


STAGE = Stage()


def open_sim(uri: str) -> Store:
    """In place of :func:`forerun.include.stores.opening.open_store`."""
    return SimStore(_bucket(), key_of(uri))


def locate_sim(path: str) -> Location:
    """In place of :func:`forerun.include.sources.files.locate` and ``locate_file``."""
    return Location(SimStore(_bucket(), ""), key_of(path))


def _bucket() -> Bucket:
    if STAGE.bucket is None:
        raise RuntimeError("no schedule runs")
    return STAGE.bucket


def _plan(request: Any) -> Any:
    return make_plan(request, STAGE.styles[request.report])


class _Loop:
    """A thread pool without threads."""

    def __init__(self, _threads: int) -> None:
        pass

    def __enter__(self) -> _Loop:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    map = staticmethod(map)


class _Uuid:
    """``uuid`` with names that are counted."""

    @staticmethod
    def uuid4() -> uuid.UUID:
        STAGE.counted += 1
        return uuid.UUID(int=(STAGE.counted * 0x9E3779B97F4A7C15F39CC0605CEDC834) % 2**128)


class _Time:
    """``time`` as the schedule has it: who sleeps lets others go on."""

    @staticmethod
    def monotonic() -> float:
        return _bucket().world.clock.now

    perf_counter = monotonic

    @staticmethod
    def sleep(_seconds: float) -> None:
        _bucket().world.sleep(1.0)


def host_clock() -> float:
    """The clock of the host on which the running actor is, in seconds since the epoch."""
    return _now().timestamp()


def _now() -> dt.datetime:
    world = _bucket().world
    return world.clock.host_time(world.running.skew if world.running else 0.0)


class _Codec:
    """Records as their ``repr`` in place of JSON: a tenth of the cost. What was written is given
    back as it was; anything else goes to the product's own codec."""

    def __init__(self, decode_one_of: Callable[..., Any], decode_plan: Callable[..., Any]) -> None:
        self._decode_one_of, self._decode_plan = decode_one_of, decode_plan
        self.known: dict[bytes, Any] = {}

    def encode(self, record: Any) -> bytes:
        data = repr(record).encode()
        self.known[data] = record
        return data

    def decode_one_of(self, kinds: tuple[type, ...], data: bytes, key: str) -> Any:
        found = self.known.get(data)
        return found if type(found) in kinds else self._decode_one_of(kinds, data, key)

    def decode_plan(self, data: bytes) -> Any:
        found = self.known.get(data)
        return found if type(found) is Plan else self._decode_plan(data)


@contextlib.contextmanager
def installed(more: Iterable[tuple[Any, Any]] = (), *, real_codec: bool = False) -> Iterator[None]:
    """Let the product run on the simulated store. ``more``: further pairs of what is replaced by
    what, everywhere (a mutation). ``real_codec``: records are JSON, as they are in life."""
    import forerun.include.runs.prepare
    import forerun.planner.api

    pairs = [
        (ThreadPoolExecutor, _Loop),
        (uuid, _Uuid),
        (opening.open_store, open_sim),
        (files.locate, locate_sim),
        (files.locate_file, locate_sim),
        (forerun.planner.api.plan, _plan),
        (footers.read_footer, remembering.footer(footers.read_footer)),
        (partition_sink._one_file, remembering.one_file(partition_sink._one_file)),
        (spec.encode_report, lru_cache(spec.encode_report)),
        (wall_clock.utc_now, _now),
        *more,
    ]
    if not real_codec:
        quick = STAGE.codec = _Codec(records.decode_one_of, codec.decode_plan)
        pairs += [
            (records.encode, quick.encode),
            (records.decode_one_of, quick.decode_one_of),
            (codec.encode_plan, quick.encode),
            (codec.decode_plan, quick.decode_plan),
        ]
    undo: list[tuple[Any, str, Any]] = [(expire, "FLOOR", expire.FLOOR)]  # schedules set it
    undo.append((row_counts, "pq", row_counts.pq))
    row_counts.pq = remembering.Metadata
    for module in (backoff, forerun.include.runs.prepare, stages):
        undo.append((module, "time", module.time))
        module.time = _Time
    quiet = logging.root.manager.disable
    logging.disable(logging.WARNING)
    gc.freeze()
    gc.disable()  # schedules make many objects: they are looked through now and then
    try:
        for old, new in pairs:
            undo += _replace(old, new)
        yield
    finally:
        STAGE.codec = STAGE.bucket = None
        gc.enable()
        gc.unfreeze()
        logging.disable(quiet)
        for owner, name, old in reversed(undo):
            setattr(owner, name, old)


def _replace(old: Any, new: Any) -> list[tuple[Any, str, Any]]:
    """Put ``new`` wherever a module of the product has ``old``; return how to undo it."""
    undo: list[tuple[Any, str, Any]] = []
    if "." in getattr(old, "__qualname__", ""):
        owner = getattr(sys.modules[old.__module__], old.__qualname__.partition(".")[0])
        setattr(owner, old.__name__, new)
        return [(owner, old.__name__, old)]
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(OWN) or name == __name__:
            continue
        for attribute, value in list(vars(module).items()):
            if value is old:
                undo.append((module, attribute, old))
                setattr(module, attribute, new)
    if not undo:
        raise LookupError(f"nothing has {old!r} any more")
    return undo
