"""The plan of a report group: at which time points it opens an application, and what each report
does there."""

from __future__ import annotations

from collections.abc import Iterator

from forerun.planner.cost.constants import MICRO
from forerun.planner.explain import record, tree
from forerun.planner.report_group import GroupPlan, Member
from forerun.planner.request import TimePoint
from forerun.planner.result import PlanResult


def render(members: tuple[Member, ...], plan: GroupPlan) -> str:
    """The group as text, and below it the plan of each report."""
    parts = [*_header(members, plan), ""]
    for found in plan.results:
        parts += [tree.render(found) if isinstance(found, PlanResult) else f"error: {found}\n"]
    return "\n".join(parts)


def _header(members: tuple[Member, ...], plan: GroupPlan) -> Iterator[str]:
    yield f"group of {len(members)} reports"
    for point, time in sorted(_times(members).items()):
        doing = list(_doing(point, members, plan))
        what = f"application for {', '.join(doing)}" if doing else "no application"
        yield f"  time point {point}  weight {time.weight:<5g} arrived {time.arrived:>5.0%}  {what}"
    share = plan.cost / plan.batch if plan.batch else 1.0
    yield (
        f"  weighted cost {plan.cost / MICRO:.2f} CPU s, batch of all in one application "
        f"{plan.batch / MICRO:.2f} CPU s: {share:.2f} of it (estimates)"
    )
    yield "  costs of a report, below, are without the applications: these the group pays"


def _times(members: tuple[Member, ...]) -> dict[int, TimePoint]:
    """The time points of the group, by number, as the first report that has them gives them."""
    found: dict[int, TimePoint] = {}
    for member in members:
        for point, time in zip(member.points, member.request.points, strict=True):
            found.setdefault(point, time)
    return found


def _doing(point: int, members: tuple[Member, ...], plan: GroupPlan) -> Iterator[str]:
    """Yield the reports that do anything at a time point."""
    for member, found in zip(members, plan.results, strict=True):
        if isinstance(found, PlanResult) and point in member.at(found.decision.chosen):
            yield member.request.report


def as_json(members: tuple[Member, ...], plan: GroupPlan) -> dict[str, object]:
    """The group as JSON: ``opened`` time points, costs in millionths of a CPU second, and
    under ``reports`` each report's plan as
    :func:`forerun.planner.explain.record.as_json` gives it."""
    return {
        "opened": list(plan.opened),
        "weighted_cost": round(plan.cost),
        "batch_cost": round(plan.batch),
        "reports": [
            record.as_json(found)
            if isinstance(found, PlanResult)
            else {"report": member.request.report, "error": found.code, "message": found.message}
            for member, found in zip(members, plan.results, strict=True)
        ],
    }
