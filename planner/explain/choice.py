"""Say in one sentence each why a plan is batch although early work was possible, and whose text
runs then."""

from __future__ import annotations

from collections.abc import Iterator

from forerun.planner.cost.constants import MICRO
from forerun.planner.explain.methods import NAMES
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.materialize.objective import OBJECTIVES, Objective
from forerun.planner.result import PlanResult


def why_batch(found: PlanResult) -> Iterator[str]:
    """Yield lines saying why early work lost: the best candidate and its cost against batch. Yields
    nothing if the plan has early work or batch was asked for."""
    decision = found.decision
    early = [one for one in decision.rejected if not one.is_batch]
    if found.plan.batch_because:
        yield f"  no early work: {found.plan.batch_because}"
    if not decision.chosen.is_batch or not decision.open:
        return
    if not early and decision.budget is not None:
        yield "  no early work: nothing that repays early work fits into the state budget"
        return
    if not early:
        yield "  no early work looked at: to open one more run costs more than it could save"
        return
    best = min(early, key=lambda one: (one.rank, one.opened))
    objective = OBJECTIVES[found.plan.objective]
    if not objective.is_weighted_cost:
        yield f"  no early work: at best ({_runs(found, best)}) {_shown(objective, best)} CPU s"
        return
    share = best.total / decision.batch.total if decision.batch.total else 1.0
    if best.total < best.limit:
        against = (
            f"but its final run alone {best.by_run[-1] / MICRO:.2f}, more than "
            f"{NAMES[decision.late.kind]}"
        )
    else:
        below = best.limit / decision.batch.total if decision.batch.total else 1.0
        against = f"{share:.2f} of batch; worth it below {below:.2f}"
    cost = f"{best.total / MICRO:.2f} CPU s weighted"
    yield f"  no early work: at best ({_runs(found, best)}) {cost}, {against}"


def why_own(found: PlanResult) -> Iterator[str]:
    """Own batch beside the user's text, where it is the plan because it is cheaper."""
    decision = found.decision
    own = decision.late
    if decision.chosen is not own or own.is_text:
        return
    share = own.rank[0] / decision.batch.rank[0]
    if found.request.settings.own_batch == "always":
        yield f"  own batch, as asked for: {share:.2f} of the text as it was written"
        return
    if not own.is_worth_it(decision.batch):
        yield (
            f"  own batch: {share:.2f} of the text as it was written; expected to be done sooner, "
            "as often as runs are ended here"
        )
        return
    below = own.limit / decision.batch.rank[0]
    yield f"  own batch: {share:.2f} of the text as it was written; worth it below {below:.2f}"


def budgets_spent(found: PlanResult) -> Iterator[str]:
    """The budgets that ended a search, by their names in the settings; nothing if none did."""
    if found.compared.spent:
        names = ", ".join(found.compared.spent)
        yield f"  the best plan found within the budgets of the search; spent: {names}"


def compared(found: PlanResult) -> Iterator[str]:
    """Say what decided, where plans are not compared by their weighted cost."""
    objective = OBJECTIVES[found.plan.objective]
    if not objective.is_weighted_cost:
        decision = found.decision
        yield (
            f"  compared by {objective.title}: {_shown(objective, decision.chosen)} CPU s, "
            f"batch {_shown(objective, decision.batch)} CPU s"
        )


def _runs(found: PlanResult, one: Candidate) -> str:
    return f"runs {', '.join(map(str, found.opened(one)))}"


def _shown(objective: Objective, one: Candidate) -> str:
    return ", ".join(f"{cost / MICRO:.2f}" for cost in objective.shown(one.by_run))


def kept_of_budget(found: PlanResult) -> Iterator[str]:
    """The bytes that lie in the store after each run, beside the budget; nothing without one."""
    decision = found.decision
    if decision.budget is None:
        return
    held = zip(found.opened(decision.chosen), decision.chosen.held, strict=False)
    kept = ", ".join(f"{in_units(count)} after run {run}" for run, count in held)
    yield (
        f"  keeps {kept or 'nothing'}, of a state budget of {in_units(decision.budget)} (estimates)"
    )


def in_units(count: int) -> str:
    """Bytes as a person says them."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
