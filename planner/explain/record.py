"""The plan as JSON: the contract as it is stored, and beside it what it was chosen over."""

from __future__ import annotations

from dataclasses import asdict

from planner.contract.codec import to_json
from planner.explain.found import Found
from planner.explain.tree import lines
from planner.materialize.runs import Candidate

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def as_json(found: Found) -> dict[str, Json]:
    """``plan`` is the contract; ``operators`` the tree; ``state`` the estimated bytes in the store
    after each early run; ``candidates`` all that was costed, the chosen one first. Costs are
    millionths of a CPU second, in operators CPU seconds."""
    decision = found.decision
    candidates = (decision.chosen, *decision.rejected)
    held = zip(decision.chosen.opened, decision.chosen.held, strict=False)
    return {
        "plan": to_json(found.plan),
        "operators": [asdict(line) for line in lines(found)],
        "state": {
            "budget_bytes": decision.budget,
            "held_bytes": {str(run): count for run, count in held},
        },
        "candidates": [_candidate(one, one is decision.chosen) for one in candidates],
    }


def _candidate(one: Candidate, chosen: bool) -> Json:
    return {
        "method": "batch" if one.is_batch else "incremental",
        "opened": list(one.opened),
        "cost_by_run": [round(cost) for cost in one.by_run],
        "weighted_cost": round(one.total),
        "chosen": chosen,
    }
