"""The objectives by which plans are compared. :data:`OBJECTIVES` is the table: a new objective is
one more entry.

The temporal search adds up integers, whatever the objective is. For the weighted sum, an integer
stands for money. For the reverse-lexicographic comparison of the runs' costs (Tempura 6.2), the
weights grow faster than any cost: the sum is then one number whose digits are the costs of the
runs, the last run's first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from forerun.planner.request import PlanRequest, TimePoint

WEIGHT_STEPS = 1_000_000_000
"""The weight of the most expensive run in the temporal search. The weights of the others are
rounded to integers below it, so only their ratios count, and prices may differ by a factor of a
billion."""
ABOVE_ALL_COSTS = 1 << 96
"""A number above the cost of one run in any plan that is compared, in millionths of a CPU
second."""

Points = Sequence[TimePoint]


@dataclass(frozen=True, slots=True)
class Objective:
    """One way to compare plans, as the parts of the planner need it. ``points`` are the runs of the
    day; ``opened`` are the runs that a plan opens, and ``by_run`` is what each of them costs.

    ``search_weights`` gives the temporal search a weight for each run. ``rank`` orders plans, the
    lower the better. ``decisive`` says how much the cost of each run counts in the first number of
    a rank, by which a plan is compared with batch. ``is_weighted_cost`` says that this first number
    is the weighted cost, which explain shows in any case; otherwise explain says that plans are
    compared by ``title``, and shows the costs in the order that ``shown`` gives.
    """

    name: str
    title: str
    search_weights: Callable[[Points], Mapping[int, int]]
    rank: Callable[[Points, tuple[int, ...], tuple[float, ...]], tuple[float, ...]]
    decisive: Callable[[Points], Mapping[int, float]]
    shown: Callable[[tuple[float, ...]], tuple[float, ...]]
    is_weighted_cost: bool = False


def weighted_cost(points: Points, opened: tuple[int, ...], by_run: tuple[float, ...]) -> float:
    """Return the sum of the runs' costs, each times the price of compute in its run."""
    return sum(points[r - 1].weight * cost for r, cost in zip(opened, by_run, strict=True))


def _price_ratios(points: Points) -> dict[int, int]:
    """Weigh runs by the ratios of their prices, so that the unit of prices changes no plan. No run
    has a weight of zero."""
    dearest = max(point.weight for point in points)
    return {
        run: max(1, round(point.weight / dearest * WEIGHT_STEPS))
        for run, point in enumerate(points, 1)
    }


def _digits(points: Points) -> dict[int, int]:
    """Give each run a weight above all that the runs before it may cost."""
    return {run: ABOVE_ALL_COSTS ** (run - 1) for run, _ in enumerate(points, 1)}


def _last_first(
    points: Points, opened: tuple[int, ...], by_run: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the costs of all runs of the day, the last run's first; a run that is not opened costs
    0."""
    costs = dict(zip(opened, by_run, strict=True))
    return tuple(costs.get(run, 0.0) for run in range(len(points), 0, -1))


OBJECTIVES: Mapping[str, Objective] = {
    one.name: one
    for one in (
        Objective(
            name="weighted-sum",
            title="the weighted sum of the runs",
            search_weights=_price_ratios,
            rank=lambda points, opened, by_run: (weighted_cost(points, opened, by_run),),
            decisive=lambda points: {run: point.weight for run, point in enumerate(points, 1)},
            shown=lambda by_run: by_run,
            is_weighted_cost=True,
        ),
        Objective(
            name="last-run-first",
            title="the last run first",
            search_weights=_digits,
            rank=_last_first,
            decisive=lambda points: {len(points): 1.0},
            shown=lambda by_run: by_run[::-1],
        ),
    )
}
"""Every objective by the name that requests and plans have for it."""


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """Applies the objective of a request to the runs of its day."""

    request: PlanRequest

    @property
    def objective(self) -> Objective:
        """The objective of the request."""
        return OBJECTIVES[self.request.problem.objective]

    @property
    def weights(self) -> Mapping[int, int]:
        """The weight of each run in the temporal search."""
        return self.objective.search_weights(self.request.points)

    @property
    def early_results(self) -> tuple[int, ...]:
        """The early runs, from the current one on, that have to give the result."""
        wanted, last = self.request.problem.results_at, len(self.request.points)
        return tuple(run for run in range(self.request.current, last) if run in wanted)

    def early_results_among(self, opened: tuple[int, ...]) -> tuple[int, ...]:
        """Return the early runs that have to give the result, as indices into the opened runs."""
        wanted = self.early_results
        return tuple(index for index, run in enumerate(opened) if run in wanted)

    def total(self, opened: tuple[int, ...], by_run: tuple[float, ...]) -> float:
        """Return the weighted cost of a plan, which is reported whatever plans are compared by."""
        return weighted_cost(self.request.points, opened, by_run)

    def rank(self, opened: tuple[int, ...], by_run: tuple[float, ...]) -> tuple[float, ...]:
        """Return the rank of a plan under the objective: the lower, the better."""
        return self.objective.rank(self.request.points, opened, by_run)

    @property
    def decisive(self) -> Mapping[int, float]:
        """Return how much the cost of each run counts in the first number of a rank."""
        return self.objective.decisive(self.request.points)
