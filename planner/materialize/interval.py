"""How much cheaper than batch early work has to be: the interval that decides at the end.

Both are estimates, and subject to the same errors; what counts is how sure their difference is.
See :mod:`planner.temporal.doubt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from planner.cost.constants import CLEAREST, CLEARLY, SURE
from planner.temporal.chosen import Chosen
from planner.temporal.doubt import Doubt, Uncertainty, spread


@dataclass(frozen=True)
class Interval:
    """Around the cost of batch. ``weights``: of the costs of runs in what is compared; ``plans``:
    one for each result that batch computes."""

    uncertainty: Uncertainty
    weights: Mapping[int, float]
    batch: float
    plans: tuple[Chosen, ...]

    def limit(self, chosen: Chosen, cost: float) -> float:
        """What a plan that costs ``cost`` has to cost less than. Doubts are added up only where
        they decide."""
        low, high = CLEAREST * self.batch, CLEARLY * self.batch
        if not low <= cost < high:
            return low if cost < low else high
        mine = self.uncertainty.of_cost(chosen, self.weights)
        return max(low, min(high, self.batch - SURE * spread(mine, self._doubts)))

    @cached_property
    def _doubts(self) -> Mapping[Doubt, float]:
        total: dict[Doubt, float] = {}
        for plan in self.plans:
            for doubt, size in self.uncertainty.of_cost(plan, self.weights).items():
                total[doubt] = total.get(doubt, 0.0) + size
        return total
