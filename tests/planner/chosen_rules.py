"""Which rules made the expressions that a plan uses."""

from __future__ import annotations

from collections import Counter

from planner.api import PlanResult
from planner.temporal.extraction import inputs_of


def chosen_rules(result: PlanResult) -> Counter[str]:
    """How often a plan uses what each rule has found; empty for batch."""
    chosen = result.decision.chosen.extracted
    found: Counter[str] = Counter()
    if chosen is None:
        return found
    last = len(chosen.solution.spans) - 1
    for index in range(last + 1):
        waiting = [
            (chosen.entry(index, place, made=True), place)
            for (_, at), place in chosen.partitions.items()
            if at == index
        ]
        if index == last:
            waiting.append((chosen.entry(index, chosen.root), chosen.root))
        while waiting:
            entry, place = waiting.pop()
            if entry.expression is not None and entry.expression.origin:
                found[entry.expression.origin] += 1
            below = inputs_of(entry, place, index)[0]
            waiting += [(entry.moved or chosen.entry(index, one), one) for one in below]
    return found
