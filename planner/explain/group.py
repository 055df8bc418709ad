"""The plan of a report group: at which time points it opens an application, and what each report
does there."""

from __future__ import annotations

from collections.abc import Iterator

from planner.explain import record, tree
from planner.materialize.objective import MICRO
from planner.report_group import GroupPlan, Member
from planner.result import PlanResult


def render(members: tuple[Member, ...], plan: GroupPlan) -> str:
    """The group as text, and below it the plan of each report."""
    parts = [*_header(members, plan), ""]
    for found in plan.results:
        parts += [tree.render(found) if isinstance(found, PlanResult) else f"error: {found}\n"]
    return "\n".join(parts)


def _header(members: tuple[Member, ...], plan: GroupPlan) -> Iterator[str]:
    yield f"group of {len(members)} reports"
    last = max(point for member in members for point in member.points)
    for point in range(1, last + 1):
        doing = list(_doing(point, members, plan))
        what = f"application for {', '.join(doing)}" if doing else "no application"
        yield f"  time point {point}  {what}"
    share = plan.cost / plan.batch if plan.batch else 1.0
    yield (
        f"  weighted cost {plan.cost / MICRO:.2f} CPU s, batch of all in one application "
        f"{plan.batch / MICRO:.2f} CPU s: {share:.2f} of it (estimates)"
    )


def _doing(point: int, members: tuple[Member, ...], plan: GroupPlan) -> Iterator[str]:
    """Yield the reports that do anything at a time point."""
    for member, found in zip(members, plan.results, strict=True):
        if isinstance(found, PlanResult) and point in member.at(found.decision.chosen):
            yield member.request.report


def as_json(members: tuple[Member, ...], plan: GroupPlan) -> dict[str, object]:
    """The group as JSON: ``opened`` time points, costs in millionths of a CPU second, and under
    ``reports`` each report's plan as :func:`planner.explain.record.as_json` gives it."""
    return {
        "opened": list(plan.opened),
        "weighted_cost": round(plan.cost),
        "batch_cost": round(plan.batch),
        "reports": [
            record.as_json(found)
            if isinstance(found, PlanResult)
            else {"report": member.request.report, "error": found.message}
            for member, found in zip(members, plan.results, strict=True)
        ],
    }
