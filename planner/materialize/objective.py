"""What plans are compared by: the weighted sum of what their runs cost, or the last run first.

The temporal search adds up integers. For the reverse-lexicographic comparison of the runs' costs
(Tempura 6.2) it is given weights that grow faster than any cost: then the sum is one number with
the cost of each run as a digit, the last run's as the first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.request import PlanRequest

MICRO = 1_000_000
ABOVE_ALL_COSTS = 1 << 96
"""More than one run costs in any plan that is compared, in millionths of a CPU second: 10**12 for
each group that is made dear, for as many readers as a query has."""


@dataclass(frozen=True, slots=True)
class Goal:
    """The problem of a request, as its parts of the search need it."""

    request: PlanRequest

    @property
    def last_run_first(self) -> bool:
        return self.request.problem.objective == "last-run-first"

    @property
    def weights(self) -> Mapping[int, int]:
        """The weight of each run in the temporal search."""
        points = enumerate(self.request.points, 1)
        if self.last_run_first:
            return {run: ABOVE_ALL_COSTS ** (run - 1) for run, _ in points}
        return {run: round(point.weight * MICRO) for run, point in points}

    @property
    def early_results(self) -> tuple[int, ...]:
        """The early runs still to come at which the result is wanted."""
        wanted, last = self.request.problem.results_at, len(self.request.points)
        return tuple(run for run in range(self.request.current, last) if run in wanted)

    def early_results_among(self, opened: tuple[int, ...]) -> tuple[int, ...]:
        """The same, as indices into the opened runs."""
        wanted = self.early_results
        return tuple(index for index, run in enumerate(opened) if run in wanted)

    def total(self, opened: tuple[int, ...], by_run: tuple[float, ...]) -> float:
        """Costs of runs at their prices; what is reported, whatever plans are compared by."""
        points = self.request.points
        return sum(points[r - 1].weight * cost for r, cost in zip(opened, by_run, strict=True))

    def rank(self, opened: tuple[int, ...], by_run: tuple[float, ...]) -> tuple[float, ...]:
        """The lower, the better a plan."""
        if not self.last_run_first:
            return (self.total(opened, by_run),)
        costs = dict(zip(opened, by_run, strict=True))
        return tuple(costs.get(run, 0.0) for run in range(len(self.request.points), 0, -1))

    @property
    def decisive(self) -> Mapping[int, float]:
        """How much the costs of runs weigh in what is compared first."""
        points = self.request.points
        if self.last_run_first:
            return {len(points): 1.0}
        return {run: point.weight for run, point in enumerate(points, 1)}
