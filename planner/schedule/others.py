"""The cores that the other reports of a cluster leave to one that chooses its times.

Reports decide one at a time, each for itself. All of them keep one order: the report whose final
run has to begin first goes first, as it does when cores are handed out. A report plans around those
before it and does not look at those after it, so what is decided depends on nobody who depends on
it: however stale a view was, nobody moves to and fro, and of those who want the same hour only
those leave it for whom there is no room.

No run is put off for what others only plan. A core that is left idle for somebody who is late, or
done already, is lost to all, while a run that waits for cores has its turn. So an early run that
finds its place taken is brought forward, and a final run is planned where its turn comes in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.cluster import Cluster, FreeCores

_FORWARD_S = 5400.0
"""An early run is brought forward by so much at most: before that too little of what it is for has
come, and to wait for cores is better."""


class Cores(Protocol):
    """Tells when the runs of a report can begin."""

    def opens(self, at: float, seconds: float) -> float:
        """Return when an early run of so many seconds that is wanted at an instant can begin, by
        what is certain to be in its way."""
        ...

    def early_by(self, end: float, seconds: float) -> float:
        """Return the instant for which to plan an early run that should be done by ``end``."""
        ...

    def final_begins(self, at: float, seconds: float) -> float:
        """Return when a final run that is wanted at an instant has its turn. No blackout is in its
        way: none holds it once its start is urgent."""
        ...


class _Unshared:
    def opens(self, at: float, seconds: float) -> float:  # noqa: ARG002
        return at

    final_begins = opens

    def early_by(self, end: float, seconds: float) -> float:
        return end - seconds


UNSHARED: Cores = _Unshared()
"""A report that shares its cores with nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenCores:
    """Cores that another report has or wants from ``start`` on."""

    start: float
    seconds: float
    cores: float

    @property
    def end(self) -> float:
        return self.start + self.seconds


class Others:
    """The cores of a cluster for a report that needs so many, beside those that are ``held`` and
    those that reports before it have ``planned`` to take. Instants are those of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        cores: float,
        held: Sequence[TakenCores] = (),
        planned: Sequence[TakenCores] = (),
    ) -> None:
        self._end, self._cores = cluster.end, cores
        self.planned = len(planned)
        taken = (*held, *planned)
        self._certain = _free(cluster, held)
        self._early = _free(cluster, taken)
        self._final = _free(replace(cluster, blackouts=()), taken)

    def opens(self, at: float, seconds: float) -> float:
        return self._begins(self._certain, at, seconds)

    def early_by(self, end: float, seconds: float) -> float:
        alone, found = end - seconds, self._early.latest(end, seconds, self._cores)
        return alone if found is None or found < alone - _FORWARD_S else found

    def final_begins(self, at: float, seconds: float) -> float:
        return self._begins(self._final, at, seconds)

    def _begins(self, free: FreeCores, at: float, seconds: float) -> float:
        try:
            return free.earliest(at, seconds, self._cores)
        except ScheduleError:  # not before the end of what is known
            return max(at, self._end)


def _free(cluster: Cluster, taken: Iterable[TakenCores]) -> FreeCores:
    free = FreeCores(cluster)
    for one in taken:
        start = max(one.start, cluster.start)
        if start < min(one.end, cluster.end):
            free.take(start, one.end - start, one.cores)
    return free
