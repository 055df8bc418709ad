"""Show what each method alone would give, beside what was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forerun.planner.cost.constants import MICRO
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.materialize.portfolio import MethodPlan
from forerun.planner.result import PlanResult

NAMES = {"batch": "batch", "own-batch": "own batch"}
"""What plans without early work are called."""


def lines(found: PlanResult, plans_by_method: Sequence[MethodPlan]) -> Iterator[str]:
    """A line per method: its cost, or the reason why it does not apply."""
    decision, compared = found.decision, found.compared
    name = found.decided
    chosen = NAMES.get(decision.chosen.kind, name)
    yield f"by method (weighted CPU s, estimates), of which {chosen} was chosen:"
    for one in plans_by_method:
        cost = one.why_not if one.candidate is None else _cost(found, one.candidate)
        yield f"  {one.method.name:<6} {cost}"
    if name == "auto":
        yield f"  auto   {_cost(found, decision.chosen)}"
    yield f"  batch  {_cost(found, decision.batch)}"
    if not decision.late.is_text:
        yield f"  {NAMES[decision.late.kind]}  {_cost(found, decision.late)}"
    if compared.left_out:
        yield (
            f"  not compared when this was chosen, since enough ways had been evaluated: "
            f"{', '.join(compared.left_out)}"
        )


def why_not(found: PlanResult, plans_by_method: Sequence[MethodPlan]) -> str:
    """Return a text on what was not chosen, and by how much it is dearer: each method alone, other
    runs opened, and batch. A method's cost is that of its own plan, as it is handed out when it is
    asked for."""
    decision = found.decision
    out = [f"chosen: {_cost(found, decision.chosen)}", ""]
    for one in plans_by_method:
        out.append(f"{one.method.name} alone, {one.method.title}")
        if one.candidate is None:
            out += [f"  does not apply: {one.why_not}", ""]
            continue
        out += [*_against(one.candidate, found), f"  keeps {'; '.join(one.keeps) or 'nothing'}", ""]
    for other in sorted(decision.rejected, key=lambda rejected: rejected.rank):
        what = NAMES.get(other.kind) or f"these runs opened: {_runs(found, other)}"
        out += [what, *_against(other, found), ""]
    return "\n".join(out)


def as_json(found: PlanResult, plans_by_method: Sequence[MethodPlan]) -> list[dict[str, object]]:
    """Each method with its cost in millionths of a CPU second, None where it does not apply."""
    return [
        {
            "method": one.method.name,
            "title": one.method.title,
            "rules": list(one.method.rule_names),
            "weighted_cost": None if one.candidate is None else round(one.candidate.total),
            "cost_by_run": (
                [] if one.candidate is None else [round(c) for c in one.candidate.by_run]
            ),
            "opened": [] if one.candidate is None else list(found.opened(one.candidate)),
            "keeps": list(one.keeps),
            "why_not": one.why_not,
            "chosen": one.method.name == found.decided,
        }
        for one in plans_by_method
    ]


def _cost(found: PlanResult, one: Candidate) -> str:
    batch = found.decision.batch
    share = one.total / batch.total if batch.total else 1.0
    how = "in one run at the end" if one.is_batch else f"runs {_runs(found, one)}"
    return f"{one.total / MICRO:.2f}, {share:.2f} of batch, {how}"


def _against(one: Candidate, found: PlanResult) -> Iterator[str]:
    """Yield lines on the cost of a candidate beside the plan that was chosen, over all and run by
    run."""
    chosen = found.decision.chosen
    yield f"  {_cost(found, one)}: {_difference(one.total - chosen.total)}"
    mine, its = (dict(zip(found.opened(c), c.by_run, strict=True)) for c in (chosen, one))
    for run in sorted(mine | its):
        was, would = mine.get(run, 0.0) / MICRO, its.get(run, 0.0) / MICRO
        if round(was, 2) != round(would, 2):
            yield f"  run {run}: {would:.2f} CPU s against {was:.2f}"


def _difference(more: float) -> str:
    if round(more / MICRO, 2) == 0:
        return "no dearer than what was chosen"
    return f"{abs(more) / MICRO:.2f} {'dearer' if more > 0 else 'cheaper'} than what was chosen"


def _runs(found: PlanResult, one: Candidate) -> str:
    return ", ".join(map(str, found.opened(one)))
