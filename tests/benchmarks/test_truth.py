"""The replay of a plan by other figures: with those it was made with, it costs what the plan says;
and with figures that differ, what the same work then costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.algebra.relational import Filter, walk
from forerun.planner.api import PlanResult, plan
from forerun.planner.request import PlanRequest, Settings, TimePoint
from forerun.planner.temporal.extraction import ExtractedPlan
from tests.benchmarks.truth import TrueFigures, true_costs, written_rows
from tests.planner.sql.tpch import SOURCES
from tests.planner.starts import OPEN

ROWS = {"orders": 15e6, "lineitem": 60e6, "customer": 1.5e6, "part": 2e6, "partsupp": 8e6}
GROWING = ("orders", "lineitem", "customer", "partsupp")


def planned(name: str, scale: float = 1.0) -> PlanResult:
    sources = tuple(
        replace(s, changing=s.name in GROWING, rows=int(scale * ROWS.get(s.name, 10_000)))
        for s in SOURCES
    )
    text = (Path(__file__).parents[1] / "tpch" / f"{name}.sql").read_text()
    points = (TimePoint(weight=0.1, arrived=0.58), TimePoint(weight=1.0))
    return plan(
        PlanRequest(
            report="r",
            sql=text,
            sources=sources,
            points=points,
            settings=Settings(prices=OPEN),
        )
    )


def replayed(found: PlanResult, group_sizes: TrueFigures, chosen: ExtractedPlan) -> list[int]:
    return true_costs(found.space, chosen, group_sizes, OPEN)


@pytest.mark.parametrize("name", ["q01", "q04", "q09", "q12", "q15", "q18", "q20"])
def test_by_the_same_figures_a_plan_costs_what_it_says(name: str) -> None:
    found = planned(name)
    chosen = found.decision.chosen.extracted
    assert chosen is not None
    right = TrueFigures(found.space.memo, found.request, {})
    assert replayed(found, right, chosen) == list(chosen.by_run)


def test_more_rows_cost_more() -> None:
    found, other = planned("q12"), planned("q12", 2.0)
    chosen = found.decision.chosen.extracted
    assert chosen is not None
    right = TrueFigures(found.space.memo, other.request, {})
    costs = replayed(found, right, chosen)
    assert all(
        1.5 * said < cost < 2.5 * said for said, cost in zip(chosen.by_run, costs, strict=True)
    )


def test_a_predicate_that_lets_more_through() -> None:
    found = planned("q12")
    chosen = found.decision.chosen.extracted
    assert chosen is not None
    (predicate,) = {n.predicate for n in walk(found.relation) if isinstance(n, Filter)}
    more = TrueFigures(found.space.memo, found.request, {predicate: 3.0})
    same = TrueFigures(found.space.memo, found.request, {})
    was, now = (written_rows(found.space, chosen, one, 0) for one in (same, more))
    assert any(now[kept] == pytest.approx(3 * was[kept]) for kept in was)
