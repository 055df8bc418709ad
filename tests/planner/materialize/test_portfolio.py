"""What is handed out is never dearer than what one method alone gives, whatever arrives when."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import pytest

from forerun.planner import api
from forerun.planner.cost.constants import CLEAREST
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.materialize import portfolio
from forerun.planner.materialize.candidate import Candidate, PlanDecision
from forerun.planner.materialize.portfolio import MethodPlan
from forerun.planner.request import PDW, PlanRequest, Problem, Settings, TimePoint, ivm
from forerun.planner.rules.methods.catalog import SINGLE
from tests.planner.sql.tpch import SOURCES
from tests.planner.starts import CHEAP_RUNS
from tests.selection import few

pytestmark = pytest.mark.search
QUERIES = sorted((Path(__file__).parents[2] / "tpch").glob("q*.sql"))
ROWS = {
    "region": 5, "nation": 25, "supplier": 100_000, "customer": 1_500_000, "part": 2_000_000,
    "partsupp": 8_000_000, "orders": 15_000_000, "lineitem": 60_000_000,
}  # fmt: skip
GROWING = ("orders", "lineitem", "customer", "partsupp")
PATTERNS: dict[str, tuple[tuple[TimePoint, ...], Problem]] = {
    "half-and-half": ((TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0)), PDW),
    "most-of-it-early": ((TimePoint(weight=0.7, arrived=0.8), TimePoint(weight=1.0)), PDW),
    "one-late-table": (
        (
            TimePoint(weight=0.25, arrived=0.6, by_source=(("lineitem", 0.1),)),
            TimePoint(weight=0.3, arrived=0.8, by_source=(("lineitem", 0.2),)),
            TimePoint(weight=1.0),
        ),
        PDW,
    ),
    "three-runs": (
        (
            TimePoint(weight=0.25, arrived=0.58),
            TimePoint(weight=0.3, arrived=0.79),
            TimePoint(weight=1.0),
        ),
        PDW,
    ),
    "a-result-at-each-run": (
        (TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0)),
        ivm(2),
    ),
}


def planned(
    path: Path, pattern: str, method: str = "auto", prices: Prices = SPARK
) -> api.PlanResult:
    points, problem = PATTERNS[pattern]
    sources = tuple(
        replace(s, changing=s.name in GROWING, rows=ROWS[s.name], bytes=100 * ROWS[s.name])
        for s in SOURCES
    )
    return api.plan(
        PlanRequest(
            report="r", sql=path.read_text(), sources=sources, points=points, problem=problem,
            method=method, settings=Settings(tries=8, prices=prices),
        )
    )  # fmt: skip


def is_worth_it(one: Candidate, decision: PlanDecision) -> bool:
    """What early work has to be: clearly cheaper than none, be that the user's text or own batch,
    and its last run no dearer. The limit of a method that is asked for by name is for the text."""
    seen = (decision.chosen, *decision.rejected)
    own = [other.rank[0] for other in seen if other.kind == "own-batch"]
    limit = min([one.limit, *(CLEAREST * cost for cost in own if cost < decision.batch.rank[0])])
    return one.rank[0] < limit and one.by_run[-1] <= decision.late.by_run[-1]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("path", few(QUERIES, 5), ids=lambda path: path.stem)
def test_auto_is_never_above_the_best_single_method(path: Path, pattern: str) -> None:
    found = planned(path, pattern)
    assert not found.compared.left_out
    decision = found.decision
    for one in api.plans_by_method(found):
        if one.candidate is not None and is_worth_it(one.candidate, decision):
            assert decision.chosen.rank <= one.candidate.rank, one.method.name


def test_what_one_method_keeps_is_where_all_together_go_on_from() -> None:
    """TPC-H Q15 keeps the sums by supplier for both of its readers. No single change leads there
    from what the greedy search over all starts with; continuous views begin with it."""
    path = next(p for p in QUERIES if p.stem == "q15")
    found = planned(path, "three-runs")
    settings = replace(found.request.settings, compare=0)
    apart = api.plan(replace(found.request, settings=settings))
    assert found.compared.alone == ("cv",)
    assert apart.compared.alone == ()
    assert found.decision.chosen.rank < apart.decision.chosen.rank


@cache
def plans_by_method(path: Path) -> tuple[MethodPlan, ...]:
    return api.plans_by_method(planned(path, "half-and-half"))


@pytest.mark.parametrize("method", SINGLE, ids=lambda method: method.name)
def test_an_alternative_costs_what_planning_it_alone_gives(method) -> None:
    seen = 0
    for path in QUERIES[:16]:
        one = next(a for a in plans_by_method(path) if a.method is method)
        if one.candidate is None:
            assert one.why_not
            continue
        alone = planned(path, "half-and-half", method.name)
        assert one.candidate.total == alone.decision.chosen.total
        assert one.candidate.by_run == alone.decision.chosen.by_run
        seen += 1
    assert seen


def test_a_spent_budget_is_said() -> None:
    path = next(p for p in QUERIES if p.stem == "q15")
    whole = planned(path, "half-and-half", prices=CHEAP_RUNS)
    request = replace(whole.request, settings=replace(whole.request.settings, compare=1))
    found = api.plan(request)
    assert whole.compared.alone
    assert (found.compared.alone, found.compared.left_out) == ((), whole.compared.alone)
    assert found.compared.evaluations < whole.compared.evaluations


def test_what_no_budget_is_left_for_is_not_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(p for p in QUERIES if p.stem == "q15")
    request = planned(path, "half-and-half", prices=CHEAP_RUNS).request
    request = replace(request, settings=replace(request.settings, compare=1))
    explored = Mock(side_effect=portfolio.explore)
    monkeypatch.setattr(portfolio, "explore", explored)
    assert api.plan(request).compared.left_out
    assert explored.call_count == 1


def test_nothing_is_planned_apart_where_early_work_is_as_dear_as_batch() -> None:
    path = next(p for p in QUERIES if p.stem == "q15")
    cheap = planned(path, "half-and-half", prices=CHEAP_RUNS)
    assert not cheap.decision.chosen.is_batch
    assert cheap.compared.alone
    batch = cheap.decision.batch.total
    # Two runs at 0.3 and 1: what is saved is spent on opening the first one.
    given = cheap.request.settings
    settings = replace(given, prices=replace(given.prices, run_start=batch))
    dear = api.plan(replace(cheap.request, settings=settings))
    early = [one for one in dear.decision.rejected if not one.is_batch]
    assert dear.decision.chosen.is_batch
    assert early
    assert min(one.total for one in early) >= dear.decision.batch.total
    assert (dear.compared.alone, dear.compared.left_out) == ((), ())
