"""The cores that the decision about a night leaves to one of its reports, which looks closer.

The night is decided by what runs are said to take (:mod:`forerun.planner.schedule.many`). What an
early run is worth depends on the query, so a report compares plans of its own runs, beside what the
decision gives to those whose final run has to begin before its own. Whoever is after it sees it in
the same way, so nobody moves to and fro.

No run is put off for what others only plan. A core that is left idle for somebody who is late, or
done already, is lost to all, while a run that waits for cores has its turn. So an early run that
finds its place taken is brought forward, and a final run is planned where its turn comes in time:
after those that have less time, which go before it when cores are handed out, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.cluster import FreeCores, NightCluster, TakenCores

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


class Others:
    """The cores of a cluster for a report that needs so many, beside those that are ``held`` and
    those that are ``planned`` for reports before it. Instants are those of the cluster."""

    def __init__(
        self,
        cluster: NightCluster,
        cores: float,
        held: Sequence[TakenCores] = (),
        planned: Sequence[TakenCores] = (),
    ) -> None:
        self._end, self._cores = cluster.end, cores
        self.planned = len(planned)
        self._certain = FreeCores(cluster, held)
        self._early = FreeCores(cluster, (*held, *planned))
        self._final = FreeCores(replace(cluster, blackouts=()), (*held, *planned))

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
