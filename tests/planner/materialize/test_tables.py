"""Tables of plans that are not chosen are let go, and nothing else changes by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.contract import encode_plan
from forerun.planner.materialize import opening
from forerun.planner.materialize.searched_sets import SearchedSets
from forerun.planner.materialize.sharing import GreedySharing
from forerun.planner.request import PDW, PlanRequest, Problem, Settings, TimePoint, ivm
from tests.planner.materialize.test_portfolio import GROWING, QUERIES, ROWS
from tests.planner.sql.tpch import SOURCES
from tests.planner.starts import CHEAP_RUNS
from tests.selection import few

pytestmark = pytest.mark.search
POINTS = (
    TimePoint(weight=0.25, arrived=0.4),
    TimePoint(weight=0.4, arrived=0.6),
    TimePoint(weight=0.3, arrived=0.9),
    TimePoint(weight=1.0),
)


def request(sql: str, problem: Problem = PDW) -> PlanRequest:
    sources = tuple(
        replace(s, changing=s.name in GROWING, rows=ROWS[s.name], bytes=100 * ROWS[s.name])
        for s in SOURCES
    )
    settings = Settings(tries=8, prices=CHEAP_RUNS, all_sets=True)
    return PlanRequest(
        report="r", sql=sql, sources=sources, points=POINTS, problem=problem, settings=settings
    )


class Whole(GreedySharing):
    """Lets nothing go."""

    def __init__(self, *args, whole, **more) -> None:
        super().__init__(*args, whole=True, **more)

    def forget(self) -> None:
        pass


@pytest.mark.parametrize("path", few(QUERIES[::3], 3), ids=lambda path: path.stem)
def test_the_plan_is_the_same_with_all_tables(path, monkeypatch) -> None:
    requests = [request(path.read_text(), problem) for problem in (PDW, ivm(4))]
    lean = [api.plan(one) for one in requests]
    with monkeypatch.context() as patched:
        patched.setattr(opening, "GreedySharing", Whole)
        patched.setattr(SearchedSets, "lean", lambda self, found, batch: found)
        whole = [api.plan(one) for one in requests]
    for one, other in zip(lean, whole, strict=True):
        assert encode_plan(one.plan) == encode_plan(other.plan)
        mine, theirs = (
            sorted((c.rank, c.opened) for c in found.decision.rejected) for found in (one, other)
        )
        assert mine == theirs


def test_what_will_not_be_chosen_has_no_tables() -> None:
    found = api.plan(request(next(p for p in QUERIES if p.stem == "q03").read_text()))
    decision = found.decision
    assert decision.chosen.extracted is not None
    assert decision.chosen.extracted.has_tables
    others = [one.extracted for one in decision.rejected if one.keeps]
    assert len(others) >= 4
    assert sum(one.has_tables for one in others) <= 2
    # What explain shows of them is there.
    assert all(one.keeps and one.used and one.total for one in others)


def test_what_was_let_go_is_found_again(monkeypatch) -> None:
    searches: list[GreedySharing] = []

    class Watched(GreedySharing):
        def __init__(self, *args, **more) -> None:
            super().__init__(*args, **more)
            searches.append(self)

    monkeypatch.setattr(opening, "GreedySharing", Watched)
    api.plan(request(next(p for p in QUERIES if p.stem == "q03").read_text()))
    for search in searches:
        seen = search.first()
        again = search.first()  # this time it was seen before
        search.forget()
        assert "_invalidation" not in search._solver.__dict__
        anew = search.first()
        assert seen is not None
        assert again is not None
        assert anew is not None
        assert seen.has_tables
        assert again.has_tables
        assert anew.has_tables
        assert seen.total == again.total == anew.total
        assert seen.used == again.used == anew.used
