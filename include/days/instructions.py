"""The instructions that people have given a day while it is under way, from its page.

Each instruction lies under the next number of the day's generation, put if absent: none is lost,
and every reader sees them in one order. The tasks of the day read them when they look at the clock
and when they plan. A day that is opened anew begins without any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from forerun.include.state.layout import Generation
from forerun.include.state.records import decode, encode
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoreReader
from forerun.planner.contract.plan_v1 import later

Kind = Literal["batch", "skip-early", "replan", "publish-anyway", "repair", "publish"]
"""``batch``: skip the early runs that are left, and run the report's own text now, over what its
sources have. ``skip-early``: skip them, and do the rest in the final run at its time. ``replan``:
plan again the run that is planned and not committed; Airflow's own clearing does that, and the
instruction says who wanted it. ``publish-anyway``: publish the result although a critical
expectation does not hold, with a reason that readers are told. ``repair``: said to a published
generation, of which a DAG run then computes a repair. ``publish``: said to the generation of a
repair, whose difference somebody has read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """``by`` is who gave it, by the name that Airflow knows, at ``at``. ``form`` is the id of the
    form that was sent: sent twice it is one instruction. ``reason``: why, where that is asked
    for."""

    kind: Kind
    by: str
    at: str
    form: str
    reason: str = later("")

    @property
    def text(self) -> str:
        """Return who wanted it and when, for logs."""
        return f"{self.by} has said so at {self.at}"


@dataclass(frozen=True, slots=True)
class Told:
    """All instructions to a generation, oldest first."""

    given: tuple[Instruction, ...] = ()

    @property
    def batch(self) -> Instruction | None:
        """The newest one to run batch, None if there is none."""
        return self._newest("batch")

    @property
    def skips_early(self) -> Instruction | None:
        """The newest one after which no early run is to begin, None if there is none."""
        return self._newest("batch", "skip-early")

    @property
    def publish_anyway(self) -> Instruction | None:
        """Return the newest instruction to publish although critical expectations do not hold, or
        None."""
        return self._newest("publish-anyway")

    @property
    def repair(self) -> Instruction | None:
        """Return the newest instruction to prepare a repair, or None."""
        return self._newest("repair")

    @property
    def publish(self) -> Instruction | None:
        """Return the newest instruction to publish a repair, or None."""
        return self._newest("publish")

    def _newest(self, *kinds: Kind) -> Instruction | None:
        return next((one for one in reversed(self.given) if one.kind in kinds), None)


def read_told(store: StoreReader, at: Generation) -> Told:
    """Read what a generation was told. One lookup, and one more for each instruction."""
    given: list[Instruction] = []
    while (found := store.find(key := at.instruction(len(given) + 1))) is not None:
        given.append(decode(Instruction, found.data, key))
    return Told(tuple(given))


def next_instruction(store: StoreReader, at: Generation, told: Told) -> str:
    """The URI at which the next instruction will lie: what waits for it looks only there."""
    return f"{store.root}/{at.instruction(len(told.given) + 1)}"


def instruct(store: Store, at: Generation, wanted: Instruction) -> bool:
    """Give a generation an instruction. False if the same form has given it before."""
    backoff = Backoff(at.instructions)
    while True:
        told = read_told(store, at)
        if any(one.form == wanted.form for one in told.given):
            return False
        if store.put_if_absent(at.instruction(len(told.given) + 1), encode(wanted)):
            return True
        backoff.wait()
