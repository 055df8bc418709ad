"""The budgets of owners in a plan: early runs that they do not cover are planned no more.

On the cluster an early run begins if what its owner has used on that day and what the run is
forecast to take fit into the budget (:func:`forerun.include.state.slots.why_spent`). Here the same
is asked of planned runs, in order of time. A report with a run that is refused is planned again
with fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from forerun.include.reports.cluster import Cluster
from forerun.planner.schedule.many import NightPlan
from forerun.planner.schedule.night import NightReport, ReportPlan


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets of a cluster, the owner of each report, and what owners have used by day."""

    cluster: Cluster
    owners: Mapping[str, str]
    used: Mapping[tuple[str, str], float]

    def covered(self, plans: Sequence[ReportPlan]) -> dict[str, int]:
        """Of the reports that have a run which its owner's budget does not cover: how many early
        runs come before that one."""
        early = (
            (run.start, number, plan)
            for plan in plans
            for number, run in enumerate(plan.runs[:-1])
            if self._budget(plan) is not None
        )
        spent, found = dict(self.used), dict[str, int]()
        for start, number, plan in sorted(early, key=lambda one: (one[0], one[2].report.name)):
            budget, name = self._budget(plan) or 0.0, plan.report.name
            account = self.owners[name], self.cluster.day_at(start)
            price = self.cluster.price_at(start) / 3600
            after = spent.get(account, 0.0) + price * plan.report.cores * plan.runs[number].seconds
            if after > budget:
                found.setdefault(name, number)
            elif name not in found:
                spent[account] = after
        return found

    def _budget(self, plan: ReportPlan) -> float | None:
        return self.cluster.budget_of(self.owners.get(plan.report.name, ""))


def plan_within(
    budgets: Budgets | None,
    reports: Sequence[NightReport],
    plan: Callable[[Sequence[NightReport]], NightPlan],
) -> NightPlan:
    """Plan reports so that budgets cover all early runs. Each time that a run is refused its report
    has fewer, so this comes to an end."""
    while True:
        found = plan(reports)
        covered = budgets.covered(found.plans) if budgets else {}
        if not covered:
            return found
        reports = [
            replace(one, at_most=min(one.at_most, 1 + covered.get(one.name, one.at_most)))
            for one in reports
        ]
