"""The sets of opened runs that are searched, against all sets."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from statistics import mean

import pytest

from forerun.planner import api
from forerun.planner.materialize.opened_sets import ALONE, OpenedSets
from forerun.planner.request import Committed, PlanRequest, Problem, Settings, TimePoint
from tests.planner.sales import SALES
from tests.planner.sql.tpch import SOURCES
from tests.tpch.at_scale_10 import at_scale_10

TPCH = Path(__file__).parents[2] / "tpch"
GROWING = {"customer", "lineitem", "orders", "partsupp"}
LARGE = tuple(replace(at_scale_10(one), changing=one.name in GROWING) for one in SOURCES)
EARLY = 5


def drawn(draw: random.Random, kind: str, early: int = EARLY) -> tuple[TimePoint, ...]:
    """A day whose prices rise, fall, or go up and down, with anything there at each run."""
    weights = [draw.uniform(0.1, 0.9) for _ in range(early)]
    if kind != "mixed":
        weights.sort(reverse=kind == "falling")
    arrived = sorted(draw.random() for _ in range(early))
    points = zip(weights, arrived, strict=True)
    return (*(TimePoint(weight=w, arrived=a) for w, a in points), TimePoint(weight=1.0))


def asked(query: str, points: tuple[TimePoint, ...], **more: object) -> PlanRequest:
    # What each method gives alone is compared until so many ways are evaluated, which differs.
    given = {"settings": Settings(compare=0), **more}
    sql = (TPCH / f"{query}.sql").read_text()
    return PlanRequest(report=query, sql=sql, sources=LARGE, points=points, **given)


def with_all_sets(request: PlanRequest) -> PlanRequest:
    return replace(request, settings=replace(request.settings, all_sets=True))


def gap(request: PlanRequest) -> float:
    """By what part the plan is dearer than the best of all sets."""
    every, found = api.plan(with_all_sets(request)).decision, api.plan(request).decision
    assert every.searched >= found.searched
    return found.chosen.total / every.chosen.total - 1


@pytest.mark.search
@pytest.mark.parametrize("kind", ["rising", "falling", "mixed"])
def test_no_set_that_is_left_out_is_cheaper(kind: str) -> None:
    draw = random.Random(kind)
    gaps = [
        gap(asked(query, drawn(draw, kind)))
        for query in ("q01", "q04", "q06", "q12", "q14", "q15", "q19")
    ]
    assert max(gaps) <= 0.005
    assert mean(gaps) <= 0.001


@pytest.mark.search
def test_what_is_left_of_a_day_with_a_committed_run() -> None:
    first = asked("q12", drawn(random.Random(2), "falling"), method="progressive", may_open=(1,))
    plan = api.plan(first).plan
    committed = (Committed(index=1, families=plan.families),)
    left = replace(first, method="auto", may_open=None, current=2, committed=committed)
    assert plan.families
    assert gap(left) <= 0.005


def test_an_early_result_is_in_every_set() -> None:
    points = drawn(random.Random(3), "mixed")
    assert gap(asked("q06", points, problem=Problem(results_at=(3,)))) <= 0.005


def sets_of(request: PlanRequest, work: float = 2e8) -> list[tuple[int, ...]]:
    of_sizes = OpenedSets(request, work, frozenset({"sales"})).by_size()
    found = [one for size, sets in of_sizes for one in sets if len(one) == size]
    assert [len(one) for one in found] == sorted(len(one) for one in found)
    return found


def sales(points: tuple[TimePoint, ...], **more: object) -> PlanRequest:
    sql = "SELECT g, sum(v) AS s FROM sales GROUP BY g"
    return PlanRequest(report="r", sql=sql, sources=(SALES,), points=points, **more)


def rough_cost(request: PlanRequest, opened: tuple[int, ...], work: float) -> float:
    """Starting each run and its stage, and the part of the work that has come since the run
    before, at the price of the run."""
    prices, points = request.settings.prices, request.points
    arrived = [0.0, *(one.arrived for one in points)]
    return sum(
        points[run - 1].weight
        * (prices.run_start + prices.stage_start + work * (arrived[run] - arrived[before]))
        for before, run in pairwise((0, *opened))
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("wanted", [(), (4,), (2, 5)])
def test_of_each_size_the_set_is_searched_that_costs_least_by_the_rule(seed, wanted) -> None:
    points = drawn(random.Random(seed), "mixed", 7)
    request = sales(points, problem=Problem(results_at=wanted))
    found, last = sets_of(request), len(points)
    free = [run for run in range(1, last) if run not in wanted]
    for count in range(len(free) + 1):
        every = [tuple(sorted((*one, *wanted, last))) for one in combinations(free, count)]
        best = min(rough_cost(request, one, 2e8) for one in every)
        mine = [rough_cost(request, one, 2e8) for one in found if one in every]
        assert min(mine) == pytest.approx(best, rel=1e-6)
        assert len(mine) == 1 if count != 1 else 2 <= len(mine) <= ALONE


def test_how_much_has_arrived_counts_the_rows_of_each_source() -> None:
    """Nothing is known but by source: the default says that all is there from the beginning."""
    parts = [(0.2, 0.1), (0.2, 0.9), (0.9, 0.95)]
    early = [TimePoint(weight=w, by_source=(("sales", part),)) for w, part in parts]
    by_name = sales((*early, TimePoint(weight=1.0)))
    plain = [TimePoint(weight=w, arrived=part) for w, part in parts]
    assert sets_of(by_name) == sets_of(sales((*plain, TimePoint(weight=1.0))))


def test_only_what_may_open_is_in_a_set() -> None:
    points = drawn(random.Random(1), "mixed")
    assert set().union(*sets_of(sales(points, may_open=(2, 4)))) == {2, 4, 6}
    named = sales(points, open_sets=((1,), (2,), (3,), (4, 5), (1, 5)))
    assert {len(one) for one in sets_of(named)} == {2, 3}
    assert len(sets_of(with_all_sets(named))) == 5


def test_a_day_of_many_runs_has_few_sets() -> None:
    """Of 24 early runs there are 16 million sets."""
    points = drawn(random.Random(5), "rising", 24)
    assert len(sets_of(sales(points))) <= 24 + ALONE


def even(count: int) -> tuple[TimePoint, ...]:
    early = [TimePoint(weight=0.3, arrived=(i + 1) / count) for i in range(count - 1)]
    return (*early, TimePoint(weight=1.0))


@pytest.mark.search
def test_six_time_points_take_about_the_work_of_three() -> None:
    """The sets that are searched, and the alternatives that are costed for them."""
    queries = ("q01", "q03", "q04", "q06", "q12", "q14", "q15", "q19", "q22")
    found = {
        count: [api.plan(asked(query, even(count))).decision for query in queries]
        for count in (3, 6, 9)
    }
    assert all(one.searched == 3 for one in found[3])
    assert all(one.searched <= 1 + ALONE for one in (*found[6], *found[9]))
    spent = {count: sum(one.evaluations for one in some) for count, some in found.items()}
    assert max(spent[6], spent[9]) <= 1.3 * spent[3]


def test_sets_of_more_runs_are_searched_only_while_they_are_cheaper() -> None:
    """Each run saves less than the one before, and starts for the same."""
    request = asked("q14", even(6))
    every, found = api.plan(with_all_sets(request)).decision, api.plan(request).decision
    assert (every.searched, found.searched) == (30, 3)  # five early runs cannot pay
    assert found.chosen.opened == every.chosen.opened
