"""The chosen times against all subsets; the deadline before the money."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from statistics import mean

import pytest

from forerun.planner import api
from forerun.planner.materialize.opened_sets import ALONE
from forerun.planner.request import PlanRequest, Settings, TimePoint
from forerun.planner.schedule.choose import Timing, choose_times
from tests.planner.sales import SALES
from tests.planner.starts import CHEAP_RUNS

SQL = "SELECT g, sum(v) AS v, count(*) AS n FROM sales GROUP BY g"


def asked(*points: tuple[float, float], **more) -> PlanRequest:
    """A day with runs at these prices and fractions, the final one after them at price 1."""
    found = tuple(TimePoint(weight=weight, arrived=arrived) for weight, arrived in points)
    return PlanRequest(
        report="sales",
        sql=SQL,
        sources=(SALES,),
        points=(*found, TimePoint(weight=1.0)),
        settings=Settings(prices=CHEAP_RUNS),
        **more,
    )


def drawn(draw: random.Random, count: int) -> PlanRequest:
    arrived = sorted(draw.random() for _ in range(count))
    return asked(*((draw.choice((0.1, 0.2, 0.5, 0.8)), part) for part in arrived))


def every(request: PlanRequest, most: int) -> tuple[tuple[int, ...], ...]:
    early = range(1, len(request.points))
    return tuple(one for size in range(most + 1) for one in combinations(early, size))


def test_the_choice_among_all_subsets():
    gaps, sizes = [], set()
    for seed in range(6):
        request = drawn(random.Random(seed), 7)
        chosen = choose_times(request, 3)
        settings = replace(request.settings, all_sets=True)
        all_of_them = replace(request, open_sets=every(request, 3), settings=settings)
        best = api.plan(all_of_them).decision.chosen
        gaps.append(chosen.cost / (best.total / 1e6) - 1)
        sizes.add(len(chosen.opened))
        assert chosen.planned <= 1 + ALONE + 2
        assert len(chosen.opened) <= 4
        assert chosen.opened[-1] == 8
    assert min(gaps) >= -1e-9
    assert mean(gaps) <= 0.02
    assert len(sizes) > 1  # days differ in how many runs they want


def test_what_the_chosen_runs_cost_is_what_their_own_plan_costs():
    request = drawn(random.Random(3), 11)
    chosen = choose_times(request, 3)
    points = tuple(request.points[number - 1] for number in chosen.opened)
    alone = api.plan(replace(request, points=points)).decision.chosen
    assert alone.total / 1e6 == pytest.approx(chosen.cost, rel=1e-6)


def test_only_what_is_left_of_a_day_is_chosen():
    request = replace(asked((0.1, 0.2), (0.1, 0.5), (0.1, 0.9)), current=3)
    assert choose_times(request, 2).opened[0] >= 3
    assert choose_times(request, 0).opened == (4,)


HOURS = 3600.0


def timed(due: float, per_cpu_s: float) -> Timing:
    """Runs at 6, 12, 18, 22 and 24 hours; a run takes so many seconds for each of CPU."""
    return Timing(
        starts=tuple(hour * HOURS for hour in (6, 12, 18, 22, 24)),
        due=due * HOURS,
        work=100.0,
        seconds=lambda cost_s, batches=1: 10.0 * (batches - 1) + per_cpu_s * cost_s,
    )


DEAR = asked((3.0, 0.25), (3.0, 0.5), (3.0, 0.75), (3.0, 0.9))


def work_of(request: PlanRequest) -> float:
    """Estimated CPU seconds of batch."""
    return api.plan(request).decision.batch.total / 1e6


def test_dear_early_runs_are_opened_where_batch_would_be_late():
    """Batch takes two hours, and the report is due one hour after the final run may start."""
    assert choose_times(DEAR, 3).opened == (5,)
    slow = timed(25.0, 2 * HOURS / work_of(DEAR))
    slow = replace(slow, work=work_of(DEAR))
    chosen = choose_times(DEAR, 3, slow)
    assert chosen.forced
    assert chosen.missing == 0
    assert len(chosen.opened) == 2  # no more than it takes
    assert chosen.cost > chosen.batch
    assert "one batch would miss the deadline by 3,600 s" in chosen.why
    assert "whatever they cost" in chosen.why


def test_with_time_enough_money_decides():
    calm = replace(timed(40.0, 2 * HOURS / work_of(DEAR)), work=work_of(DEAR))
    chosen = choose_times(DEAR, 3, calm)
    assert (chosen.opened, chosen.forced, chosen.missing) == ((5,), False, 0)


def test_a_day_that_cannot_be_met_says_by_how_much():
    """A final run takes an hour whatever it has to do."""
    stuck = replace(timed(24.5, 0.0), work=work_of(DEAR))
    stuck = replace(stuck, seconds=lambda cost_s, batches=1: HOURS)
    chosen = choose_times(DEAR, 3, stuck)
    assert (chosen.opened, chosen.forced) == ((5,), False)
    assert chosen.missing == pytest.approx(HOURS / 2)
    assert "1,800 s" in chosen.why


def test_runs_that_would_overlap_are_not_chosen():
    """A run over half a day takes seven hours: one at 18 hours would not end before the final."""
    cheap = asked((0.1, 0.25), (0.1, 0.5), (0.1, 0.75), (0.1, 0.9))
    free = choose_times(cheap, 3)
    assert 4 in free.opened
    slow = replace(timed(40.0, 14 * HOURS / work_of(cheap)), work=work_of(cheap))
    chosen = choose_times(cheap, 3, slow)
    ends = 0.0
    arrived = 0.0
    for run in chosen.opened[:-1]:
        start, share = slow.starts[run - 1], cheap.points[run - 1].arrived - arrived
        assert start >= ends
        ends, arrived = start + 14 * HOURS * share * 0.8, cheap.points[run - 1].arrived
    assert ends <= 24 * HOURS
    assert chosen.missing == 0
