"""Which of the batches that are ready runs next: least laxity, earliest deadline, and two that do
not look at deadlines (section 4.2). Nothing is preempted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from forerun.planner.errors import ScheduleError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyBatch:
    """A batch that may start now. ``remaining``: seconds of all that is left of its query, this
    batch and the final aggregation included; ``last_served``: the instant at which a batch of the
    query was started last, ``-inf`` if none was. ``name`` settles ties."""

    name: str
    deadline: float
    remaining: float
    last_served: float = float("-inf")

    def laxity(self, now: float) -> float:
        """Seconds that the query can still wait (equation 9)."""
        return self.deadline - now - self.remaining


class Strategy(StrEnum):
    """The strategies by the names of the paper."""

    LLF = "llf"
    EDF = "edf"
    SJF = "sjf"
    RR = "rr"


_URGENCY: dict[Strategy, Callable[[ReadyBatch, float], float]] = {
    Strategy.LLF: lambda batch, now: batch.laxity(now),
    Strategy.EDF: lambda batch, _: batch.deadline,
    Strategy.SJF: lambda batch, _: batch.remaining,
    Strategy.RR: lambda batch, _: batch.last_served,
}
"""What is least for the batch that goes first."""

_Batch = TypeVar("_Batch", bound=ReadyBatch)


def pick(ready: Sequence[_Batch], now: float, strategy: Strategy = Strategy.LLF) -> _Batch:
    """The batch to start now. Raises :class:`ScheduleError` if none is ready."""
    if not ready:
        raise ScheduleError("no batch is ready to be picked")
    urgency = _URGENCY[strategy]
    return min(ready, key=lambda batch: (urgency(batch, now), batch.name))
