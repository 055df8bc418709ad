"""A night: reports with deadlines, and what is decided for each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.batch_cost import BatchCost, PartsOfDay
from forerun.planner.schedule.cluster import NightCluster
from forerun.planner.schedule.piecewise import TICK

WHOLE = 1_000_000
"""The work of a day is counted in so many parts where it is not in rows of one source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightReport:
    """A report of a night, or a group of them whose runs are one application
    (:func:`together`). ``arrivals`` is the forecast of its slowest source; each of its runs has
    ``cores`` for itself. ``reserve``: seconds that should be left before the deadline, for a run
    that is slower than forecast, or is tried again; where that is not possible, as many as are.
    ``at_most``: runs a night, the final one included.

    ``decided``: its runs as they were decided last. They hold as long as they are in nobody's way,
    and if it ``keeps`` them whatever happens: it then only waits for cores."""

    name: str
    cost: BatchCost
    arrivals: ArrivalCurve
    deadline: float
    cores: float
    reserve: float = 0.0
    at_most: int = 4
    decided: tuple[PlannedRun, ...] = ()
    keeps: bool = False

    def __post_init__(self) -> None:
        if self.cores <= 0 or self.at_most < 1 or self.reserve < 0:
            raise ScheduleError(
                f"report {self.name} needs cores above 0 ({self.cores:g}), at least one run "
                f"({self.at_most}) and a reserve of at least 0 ({self.reserve:g})"
            )

    @property
    def batch_seconds(self) -> float:
        """Return the seconds of one run over all rows."""
        return self.cost.cost(self.arrivals.total)

    @property
    def latest_batch(self) -> float:
        """Return the latest start of one run over all rows that leaves the reserve."""
        return self.deadline - self.reserve - self.batch_seconds

    def rest(self, done: int, batches: int, decided: Sequence[PlannedRun] = ()) -> NightReport:
        """Return what is left of it after so many rows were done in so many runs, with those that
        are ``decided`` of the runs to come."""
        return replace(
            self,
            cost=self.cost.after(batches),
            arrivals=self.arrivals.after(done) if done else self.arrivals,
            at_most=max(1, self.at_most - batches),
            decided=tuple(decided),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run of a report: the instant it starts at, the rows it processes and the seconds it takes,
    for the final run with the final aggregation."""

    start: float
    rows: int
    seconds: float

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan:
    """The runs of a report in order; the last one is the final run. ``cost``: what they pay by the
    prices of the cluster, in core seconds."""

    report: NightReport
    runs: tuple[PlannedRun, ...]
    cost: float

    @property
    def end(self) -> float:
        return self.runs[-1].end

    @property
    def missing(self) -> float:
        """Seconds by which the deadline is missed, 0 if it is met."""
        late = self.end - self.report.deadline
        return late if late > TICK else 0.0

    @property
    def short(self) -> float:
        """Seconds of the reserve that are not left."""
        return max(0.0, self.end + self.report.reserve - self.report.deadline)

    @property
    def rank(self) -> tuple[float, float, float]:
        """Return the sort key of plans: infeasible before dear, and a kept reserve before cheap."""
        return self.missing, round(self.short, 3), self.cost

    def safe_start(self, cluster: NightCluster) -> float:
        """The latest start of the final run that meets the deadline."""
        return cluster.latest(self.report.deadline, self.runs[-1].seconds)

    def place(self, cluster: NightCluster) -> tuple[float, str]:
        """Return the sort key by which plans have their turn: the least lax first."""
        return self.safe_start(cluster) - self.report.reserve, self.report.name


def together(name: str, reports: Sequence[NightReport]) -> NightReport:
    """Return a group of reports as one report: an application that does the runs of all of them,
    one after the other, on the cores of the one that needs most, and is started once. It is done
    when the first of them is due, and has come as far as the mean of their rows, each weighted by
    the work of its batch. None of them has a decision of its own."""
    most = max(reports, key=lambda one: one.cores)
    works = [max(one.batch_seconds - one.cost.cost(1), TICK) for one in reports]
    start = min(one.cost.cost(1) for one in reports) * (len(reports) - 1)
    ends = [one.arrivals.complete_at for one in reports]

    def seconds(part: float, batches: int) -> float:
        costs = (one.cost.cost(round(part * one.arrivals.total)) for one in reports)
        return max(0.0, sum(costs) - start) + sum(
            one.cost.final_aggregation(batches) for one in reports
        )

    def come(at: float) -> float:
        parts = (one.arrivals.rows_at(at) / one.arrivals.total for one in reports)
        done = sum(part * work for part, work in zip(parts, works, strict=True)) / sum(works)
        return float(WHOLE if at >= max(ends) else min(WHOLE - 1, math.floor(done * WHOLE)))

    knots = sorted({x for one in reports for x in one.arrivals.rows.xs if x < max(ends)})
    due = min(one.deadline for one in reports)
    return NightReport(
        name=name,
        cost=PartsOfDay(seconds, WHOLE),
        arrivals=arrival_curve([*((x, come(x)) for x in knots), (max(ends), float(WHOLE))]),
        deadline=due,
        cores=most.cores,
        reserve=due - min(one.deadline - one.reserve for one in reports),
        at_most=min(one.at_most for one in reports),
    )
