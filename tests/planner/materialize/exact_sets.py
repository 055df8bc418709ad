"""The cheapest set of shared partitions, by branch and bound: exact, and fast enough for twenty.

For a set S of shared partitions, a plan costs what the result costs where all of S is read for
nothing, plus what making each partition of S costs. Sharing more never makes the first part, nor
the making of one partition, dearer. So with some partitions decided to be in, some out, and the
rest free to read and not paid for, the sum is a lower bound of every set that agrees with what is
decided; and where the plan of the bound reads nothing that is undecided, the bound is attained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forerun.planner.temporal.extraction import ExtractedPlan, extract_plan
from forerun.planner.temporal.solution import Partition, Solution
from forerun.planner.temporal.solve import Solver
from forerun.planner.temporal.space import Space

Shared = frozenset[Partition]


@dataclass
class ExactSets:
    """One search; ``evaluations`` counts the temporal searches it took."""

    space: Space
    solver: Solver
    weights: Mapping[int, int]
    best: int | None = None
    evaluations: int = 0
    _near: Solution | None = field(default=None, repr=False)

    def candidates(self) -> list[Partition]:
        """Every partition that some chain could write."""
        made = self.solver.solve().chain_costs
        return sorted((kept, index) for index, costs in enumerate(made) for kept in costs)

    def cheapest(self) -> int:
        """The cost of the best plan over every set of partitions."""
        self._branch(frozenset(), frozenset(self.candidates()))
        if self.best is None:
            raise ValueError("the problem has no plan")
        return self.best

    def _branch(self, decided: Shared, open_: Shared) -> None:
        solution = self._solve(decided | open_)
        plan = self._extract(solution)
        if plan is None:
            return
        bound = solution.entries[-1][plan.root].cost
        bound += sum(solution.chain_costs[index][kept].cost for kept, index in decided)
        self._note(self._extract(self._solve(decided | (plan.used & open_))))
        if self.best is not None and bound >= self.best:
            return
        wanted = (plan.used & open_) or open_
        if not wanted:
            return
        one = max(wanted, key=lambda each: (plan.partition_costs.get(each, 0), each))
        self._branch(decided | {one}, open_ - {one})
        self._branch(decided, open_ - {one})

    def _solve(self, shared: Shared) -> Solution:
        self.evaluations += 1
        self._near = self.solver.solve(shared, self._near)
        return self._near

    def _extract(self, solution: Solution) -> ExtractedPlan | None:
        return extract_plan(self.space, solution, self.weights)

    def _note(self, plan: ExtractedPlan | None) -> None:
        if plan is not None and (self.best is None or plan.total < self.best):
            self.best = plan.total
