"""What the other reports of a cluster leave to one that chooses its times.

Reports decide one at a time, each for itself. All of them keep one order: the report whose final
run has to begin first goes first, as it does when cores are handed out. A report plans around those
before it and does not look at those after it, so what is decided depends on nobody who depends on
it: however stale a view was, nobody moves to and fro, and of those who want the same hour only
those leave it for whom there is no room. It is the first round of the negotiation of
:mod:`planner.schedule.many`, by everybody for themselves, with the same price for crowded hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from planner.errors import ScheduleError
from planner.schedule.cluster import Cluster, FreeCores
from planner.schedule.congestion import Congestion
from planner.schedule.step_curve import StepCurve


class Cores(Protocol):
    """When the runs of a report can begin."""

    def early_begins(self, at: float, seconds: float) -> float:
        """An early run of so many seconds that would begin at an instant if it were alone."""
        ...

    def early_by(self, end: float, seconds: float) -> float | None:
        """The latest start of an early run that is to be done by ``end``; None if there is none."""
        ...

    def final_begins(self, at: float, seconds: float) -> float:
        """The final run, which no blackout holds once its start is urgent."""
        ...

    def crowded(self, prices: StepCurve) -> StepCurve:
        """What hours cost that cost ``prices`` if the report is alone."""
        ...


class _Unshared:
    def early_begins(self, at: float, seconds: float) -> float:  # noqa: ARG002
        return at

    final_begins = early_begins

    def early_by(self, end: float, seconds: float) -> float | None:
        return end - seconds

    def crowded(self, prices: StepCurve) -> StepCurve:
        return prices


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
        self._cluster, self._cores = cluster, cores
        congestion = Congestion(cluster)
        taken = [one for one in (*held, *planned) if cluster.start < one.end]
        taken = [one for one in taken if one.start < cluster.end]
        for one in taken:
            congestion.take(one.start, min(one.end, cluster.end), one.cores)
        self._tariff = congestion.tariff(cores)
        self._prices = self._tariff.curve()
        self.planned = len(planned)
        self._early = _free(cluster, taken)
        self._final = _free(replace(cluster, blackouts=()), taken)

    def early_begins(self, at: float, seconds: float) -> float:
        return self._begins(self._early, at, seconds)

    def early_by(self, end: float, seconds: float) -> float | None:
        return self._early.latest(end, seconds, self._cores)

    def crowded(self, prices: StepCurve) -> StepCurve:  # noqa: ARG002 - the cluster has the same
        return self._prices

    def final_begins(self, at: float, seconds: float) -> float:
        return self._begins(self._final, at, seconds)

    def added(self, at: float, seconds: float) -> float:
        """What the mean second of a run costs more than without the others."""
        end = min(at + max(seconds, 1.0), self._cluster.end)
        both = self._tariff.integral(at, end), self._cluster.prices.integral(at, end)
        return max(0.0, both[0] - both[1]) / (end - at)

    def _begins(self, free: FreeCores, at: float, seconds: float) -> float:
        try:
            return free.earliest(at, seconds, self._cores)
        except ScheduleError:  # not before the end of what is known
            return max(at, self._cluster.end)


def _free(cluster: Cluster, taken: Iterable[TakenCores]) -> FreeCores:
    free = FreeCores(cluster)
    for one in taken:
        start = max(one.start, cluster.start)
        free.take(start, one.end - start, one.cores)
    return free
