"""Generated days that keep the rows that are still alone equal batch; what they keep is right."""

from __future__ import annotations

from forerun.planner.api import PlanResult, plan
from forerun.planner.rules.methods.unmatched import UNMATCHED
from tests.properties.engines import InterpreterEngine
from tests.properties.execute import Day, request_of, run_case
from tests.properties.generate import random_case


def keeps_what_is_alone(result: PlanResult) -> bool:
    chosen = result.decision.chosen.extracted
    if chosen is None:
        return False
    names = {rule.name for rule in UNMATCHED}
    return any(
        entry.expression is not None and entry.expression.origin in names
        for index, entries in enumerate(chosen.solution.entries)
        for place, entry in entries.items()
        if (index, place[0]) in chosen.worked
    )


def test_days_that_keep_what_is_alone_equal_batch() -> None:
    """By chance it is the cheapest way on a few days out of a hundred that ask for existence."""
    engine, found = InterpreterEngine(), 0
    with engine.recording():
        for seed in range(93_000, 93_120):
            case = random_case(seed)
            if "EXISTS" not in case.query.sql and " IN (" not in case.query.sql:
                continue
            if keeps_what_is_alone(plan(request_of(case, 1, case.runs, Day(), case.early))):
                run_case(case, engine, judge_kept=True)
                found += 1
    assert found >= 1
