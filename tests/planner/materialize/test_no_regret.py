"""Estimates have an error, which decides in one place only: against batch, at the end. Of two plans
that work early, the cheaper one is taken, however little the difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.api import plan
from forerun.planner.cost.constants import CLEAREST, CLEARLY
from forerun.planner.request import PlanRequest, Settings, TimePoint
from tests.planner.sql.tpch import SOURCES
from tests.planner.starts import CHEAP_RUNS

ROWS = {"orders": 15e6, "lineitem": 60e6, "customer": 1.5e6, "part": 2e6, "partsupp": 8e6}
GROWING = ("orders", "lineitem", "customer", "partsupp")
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.25, 0.58), (0.3, 0.79), (1.0, 1.0)))


def request_of(number: int, scale: float) -> PlanRequest:
    text = (Path(__file__).parents[2] / "tpch" / f"q{number:02}.sql").read_text()
    sources = tuple(
        replace(s, changing=s.name in GROWING, rows=int(scale * ROWS.get(s.name, 10_000)))
        for s in SOURCES
    )
    return PlanRequest(
        report="r", sql=text, sources=sources, points=POINTS, settings=Settings(prices=CHEAP_RUNS)
    )


@pytest.mark.parametrize(
    ("number", "scale"), [(1, 0.35), (1, 0.6), (3, 0.6), (3, 0.7), (4, 0.3), (4, 0.4), (13, 0.2)]
)
def test_early_work_is_clearly_cheaper_or_it_is_batch(number: int, scale: float) -> None:
    decision = plan(request_of(number, scale)).decision
    chosen, batch = decision.chosen, decision.batch
    if not chosen.is_batch:
        assert chosen.total < chosen.limit <= CLEARLY * batch.total
        assert chosen.by_run[-1] <= batch.by_run[-1]
        cheaper = [
            one
            for one in decision.rejected
            if one.total < chosen.total and one.by_run[-1] <= batch.by_run[-1]
        ]
        assert not cheaper


@pytest.mark.parametrize(("number", "scale"), [(1, 0.4), (3, 0.5), (4, 0.2)])
def test_what_is_cheaper_within_the_interval_is_not_done(number: int, scale: float) -> None:
    decision = plan(request_of(number, scale)).decision
    early = [one for one in decision.rejected if not one.is_batch]
    best = min(early, key=lambda one: one.total)
    assert decision.chosen.is_batch
    late = decision.late.total  # the text, or own batch, which is cheaper for the third
    assert CLEAREST * late <= best.limit <= best.total < late
