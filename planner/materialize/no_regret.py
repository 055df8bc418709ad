"""The no-regret margin: by how much early work has to be cheaper than batch to be chosen.

Both costs are estimates that share many errors; what counts is how certain their difference is. See
:mod:`forerun.planner.temporal.uncertainty`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from forerun.planner.cost.constants import CLEAREST, CLEARLY, SURE
from forerun.planner.temporal.extraction import ExtractedPlan
from forerun.planner.temporal.uncertainty import ErrorTerm, Uncertainty, spread


@dataclass(frozen=True)
class NoRegretLimit:
    """The limit below the cost of batch. ``batch`` is that cost in the number that plans are
    compared by first, and ``weights`` how much each run's cost counts in it. ``plans`` has one plan
    for each result that batch computes."""

    uncertainty: Uncertainty
    weights: Mapping[int, float]
    batch: float
    plans: tuple[ExtractedPlan, ...]

    def limit(self, chosen: ExtractedPlan, cost: float) -> float:
        """Return the cost below which a plan is clearly cheaper than batch. ``cost`` is the plan's
        own: if it is above or below both fixed bounds, no error terms need to be summed up."""
        low, high = CLEAREST * self.batch, CLEARLY * self.batch
        if not low <= cost < high:
            return low if cost < low else high
        mine = self.uncertainty.of_cost(chosen, self.weights)
        return max(low, min(high, self.batch - SURE * spread(mine, self._error_terms)))

    def limit_for_good(self, chosen: ExtractedPlan) -> float:
        """Return the limit of a plan that is one run, which nothing puts right later: all of the
        interval counts, however cheap the plan is, and so do errors of the prices."""
        mine = self.uncertainty.of_cost(chosen, self.weights)
        sure = self.batch - SURE * spread(mine, self._error_terms)
        return min(CLEAREST * self.batch, sure)

    @cached_property
    def _error_terms(self) -> Mapping[ErrorTerm, float]:
        total: dict[ErrorTerm, float] = {}
        for plan in self.plans:
            for term, size in self.uncertainty.of_cost(plan, self.weights).items():
                total[term] = total.get(term, 0.0) + size
        return total
