"""A night: reports with deadlines, and what is decided for each of them."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.batch_cost import BatchCost
from forerun.planner.schedule.cluster import Cluster
from forerun.planner.schedule.piecewise import TICK


@dataclass(frozen=True, slots=True, kw_only=True)
class NightReport:
    """A report of a night. ``arrivals`` is the forecast of its slowest source; each of its runs has
    ``cores`` for itself. ``reserve``: seconds that should be left before the deadline, for a run
    that is slower than forecast, or is tried again; where that is not possible, as many as are.
    ``at_most``: runs a night, the final one included."""

    name: str
    cost: BatchCost
    arrivals: ArrivalCurve
    deadline: float
    cores: float
    reserve: float = 0.0
    at_most: int = 4

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

    def safe_start(self, cluster: Cluster) -> float:
        """The latest start of the final run that meets the deadline."""
        return cluster.latest(self.report.deadline, self.runs[-1].seconds)
