"""The plan as JSON: the contract as it is stored, and beside it what it was chosen over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from forerun.planner.contract.codec import to_json
from forerun.planner.explain import methods, steps
from forerun.planner.explain.tree import lines
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.materialize.portfolio import MethodPlan
from forerun.planner.result import PlanResult

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def as_json(found: PlanResult, plans_by_method: Sequence[MethodPlan] = ()) -> dict[str, object]:
    """``plan`` is the contract; ``operators`` the tree; ``state`` the estimated bytes in the store
    after each early run; ``candidates`` all that was costed, the chosen one first; ``methods`` the
    best plan of each alone, if that is at hand; ``search`` the work that was done, counted; and
    ``steps`` the rules that fired. Costs are millionths of a CPU second, in operators CPU seconds.
    """
    decision = found.decision
    candidates = (decision.chosen, *decision.rejected)
    held = zip(found.opened(decision.chosen), decision.chosen.held, strict=False)
    return {
        "plan": to_json(found.plan),
        "operators": [asdict(line) for line in lines(found)],
        "state": {
            "budget_bytes": decision.budget,
            "held_bytes": {str(run): count for run, count in held},
        },
        "candidates": [_candidate(found, one) for one in candidates],
        "method": found.compared.best.method.name,
        "methods": methods.as_json(found, plans_by_method),
        "search": _search(found),
        "steps": steps.as_json(found),
    }


def _search(found: PlanResult) -> dict[str, object]:
    """Work, counted. Of the memo that the plan is from; ``evaluations`` of ways over all memos."""
    memo, trace = found.space.memo, found.trace
    return {
        "tries": sum(trace.tried.values()),
        "firings": sum(trace.found.values()),
        "rewrites": len(found.rewrites),
        "groups": sum(1 for _ in memo.live_groups()),
        "expressions": len(memo.expressions),
        "tvrs": len(memo.tvrs),
        "evaluations": max(found.decision.evaluations, found.compared.evaluations),
        "budget_spent": trace.spent,
        "budgets_spent": list(found.compared.spent),
        "compared": list(found.compared.alone),
        "not_compared": list(found.compared.left_out),
        "by_rule": {
            name: {"tries": tries, "firings": trace.found.get(name, 0)}
            for name, tries in trace.tried.items()
        },
    }


def _candidate(found: PlanResult, one: Candidate) -> Json:
    return {
        "method": one.kind,
        "opened": list(found.opened(one)),
        "cost_by_run": [round(cost) for cost in one.by_run],
        "weighted_cost": round(one.total),
        "chosen": one is found.decision.chosen,
    }
