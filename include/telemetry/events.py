"""The events of a report's day while it is under way: each plan, the end of each run, what was
skipped, what was published, and how a report in shadow compares.

An event is one line of JSON in the log, and what metrics are made of. It has names, figures and
sentences for people; never SQL, settings or values of rows but what a sentence of a plan or a skip
says, so that it may go to a log that more people read than the store.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

Part = Literal["early", "final"]
Outcome = Literal["committed", "given-up", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The fields of every event: which run of which generation of a report's day it is about, and
    whether that is the ``final`` run of the day (a repair counts as one) or an ``early`` one."""

    name: ClassVar[str]
    report: str
    day: str
    generation: str
    run: int
    part: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(Event):
    """A run was planned. ``decided``: ``batch``, ``own-batch`` or ``early-work``. ``planned_cpu_s``
    and ``batch_cpu_s`` are what the rest of the day costs by the plan and as batch, in CPU seconds
    times their price, by estimate; ``run_cpu_s`` is this run's part of the plan. ``kept_bytes``:
    the most that is kept between runs, by estimate. ``submit``: whether the run has anything to do;
    if not, ``why``. ``batch_because``: what the ledger has against early work, empty for nothing.
    ``plan``: the key of the plan in the store."""

    name: ClassVar[str] = "planned"
    decided: str
    method: str
    planned_cpu_s: float
    batch_cpu_s: float
    run_cpu_s: float
    kept_bytes: int
    submit: bool
    why: str
    batch_because: str
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """A run was committed, gave up or failed. Seconds are those of the whole process, ``weight`` is
    the price at its time, ``estimated_cpu_s`` what it was planned to cost (times its price, as
    in the plan). ``rows``: of sources that it read; ``kept_bytes``: what it keeps for later runs.
    All figures are 0 for a run that failed: nothing was measured."""

    name: ClassVar[str] = "run_ended"
    outcome: Outcome
    why: str = ""
    attempt: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    executor_cpu_s: float = 0.0
    weight: float = 0.0
    estimated_cpu_s: float = 0.0
    rows: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(Event):
    """An early run was left out before it was planned; ``why`` is a sentence."""

    name: ClassVar[str] = "skipped"
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(Event):
    """A result was published. ``incomplete``: the sources that were not complete. ``margin_s``: the
    seconds that were left to the deadline, negative after it; null for an early result, and for a
    day that was opened after its deadline. ``measured_cpu_s`` and ``batch_cpu_s``: what the day
    took and what batch would have taken, in CPU seconds of processes times their price; null for an
    early result, and where nothing tells. ``state_age_s``: how long the oldest of what the day
    keeps had been kept, null without any."""

    name: ClassVar[str] = "published"
    version: str
    rows: int
    incomplete: tuple[str, ...]
    margin_s: float | None
    measured_cpu_s: float | None
    batch_cpu_s: float | None
    state_age_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Event):
    """A published day of a report in shadow was compared with what the other job made. ``verdict``:
    ``equal``, ``different`` or ``not-compared``; ``why`` nothing could be compared. ``cpu_s`` and
    ``other_cpu_s`` are what both took, the latter null where nobody knows. ``equal_days`` in a row
    of ``wanted_days``."""

    name: ClassVar[str] = "compared"
    version: str
    verdict: str
    why: str
    cpu_s: float
    other_cpu_s: float | None
    equal_days: int
    wanted_days: int


EVENTS: tuple[type[Event], ...] = (Planned, RunEnded, Skipped, Published, Compared)


def line(event: Event) -> str:
    """The event as one line of JSON, its name first."""
    return json.dumps({"event": event.name, **asdict(event)}, ensure_ascii=False)
