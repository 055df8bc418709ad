"""Which expressions a plan uses, and the rules that made them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from forerun.planner.api import PlanResult
from forerun.planner.memo.groups import Expression
from forerun.planner.temporal.extraction import inputs_of


def chosen_rules(result: PlanResult) -> Counter[str]:
    """How often a plan uses what each rule has found; empty for batch."""
    return Counter(one.origin for _, one in chosen_expressions(result) if one.origin)


def chosen_expressions(result: PlanResult) -> Iterator[tuple[int, Expression]]:
    """What a plan computes, each with the index of its run among the opened ones; nothing for
    batch."""
    chosen = result.decision.chosen.extracted
    if chosen is None:
        return
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
            if entry.expression is not None:
                yield index, entry.expression
            below = inputs_of(entry, place, index)[0]
            waiting += [(entry.moved or chosen.entry(index, one), one) for one in below]
