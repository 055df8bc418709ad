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

from collections.abc import Sequence
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

    def has_turn(self, at: float, seconds: float) -> float:
        """Return when a run has its turn that is wanted at an instant, behind those that are
        planned, and outside of blackouts."""
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

    final_begins = has_turn = opens

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


class _Left:
    """The cores that are left, as runs take them: of what is ``certain``, and with what is planned
    for ``early`` runs and for ``final`` ones, which no blackout holds."""

    def __init__(self, cluster: Cluster, held: Sequence[TakenCores]) -> None:
        self.planned = 0
        self._cluster = cluster
        self.certain, self.early = FreeCores(cluster), FreeCores(cluster)
        self.final = FreeCores(replace(cluster, blackouts=()))
        for one in held:
            self._take(one, self.certain, self.early, self.final)

    def plan(self, one: TakenCores) -> None:
        self.planned += 1
        self._take(one, self.early, self.final)

    def _take(self, one: TakenCores, *of: FreeCores) -> None:
        start = max(one.start, self._cluster.start)
        if start < min(one.end, self._cluster.end):
            for free in of:
                free.take(start, one.end - start, one.cores)


class Others:
    """The cores of a cluster for a report that needs so many, beside those that are ``held`` and
    those that reports before it have ``planned`` to take. Instants are those of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        cores: float,
        held: Sequence[TakenCores] = (),
        planned: Sequence[TakenCores] = (),
        *,
        left: _Left | None = None,
    ) -> None:
        self._cluster, self._cores = cluster, cores
        self._left = left or _Left(cluster, held)
        for one in planned:
            self.plan(one)

    @property
    def planned(self) -> int:
        """Return how many runs of reports before it there are."""
        return self._left.planned

    def to(self, cores: float) -> Others:
        """The same cores for a report that needs so many. What is planned later holds for it,
        too."""
        return Others(self._cluster, cores, left=self._left)

    def plan(self, one: TakenCores) -> None:
        """A report before those that are asked for from now on takes cores."""
        self._left.plan(one)

    def opens(self, at: float, seconds: float) -> float:
        return self._begins(self._left.certain, at, seconds)

    def has_turn(self, at: float, seconds: float) -> float:
        return self._begins(self._left.early, at, seconds)

    def early_by(self, end: float, seconds: float) -> float:
        alone, found = end - seconds, self._left.early.latest(end, seconds, self._cores)
        return alone if found is None or found < alone - _FORWARD_S else found

    def final_begins(self, at: float, seconds: float) -> float:
        return self._begins(self._left.final, at, seconds)

    def _begins(self, free: FreeCores, at: float, seconds: float) -> float:
        try:
            return free.earliest(at, seconds, self._cores)
        except ScheduleError:  # not before the end of what is known
            return max(at, self._cluster.end)
