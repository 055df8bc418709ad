"""Which rules made the expressions that a plan uses."""

from __future__ import annotations

from collections import Counter

from planner.api import PlanResult
from planner.temporal.chosen import inputs_of


def chosen_rules(result: PlanResult) -> Counter[str]:
    """How often a plan uses what each rule has found; empty for batch."""
    chosen = result.decision.chosen.chosen
    found: Counter[str] = Counter()
    if chosen is None:
        return found
    last = len(chosen.solution.spans) - 1
    for index in range(last + 1):
        waiting = [
            (chosen.cell(index, place, made=True), place)
            for (_, at), place in chosen.partitions.items()
            if at == index
        ]
        if index == last:
            waiting.append((chosen.cell(index, chosen.root), chosen.root))
        while waiting:
            cell, place = waiting.pop()
            if cell.expression is not None and cell.expression.origin:
                found[cell.expression.origin] += 1
            below = inputs_of(cell, place, index)[0]
            waiting += [(cell.moved or chosen.cell(index, one), one) for one in below]
    return found
