"""One query, one deadline: the worked cases, integer programming, and an exact search."""

from __future__ import annotations

import math
import random

import pytest

from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve, steady
from forerun.planner.schedule.batch_cost import FittedCost, PartsOfDay, linear_cost
from forerun.planner.schedule.piecewise import PiecewiseLinear
from forerun.planner.schedule.single import Feasible, Infeasible, schedule_single

WINDOW = steady(0, 10, 10)
"""Section 3.1: a tuple a second, the last one at 10."""
TWO_A_SECOND = linear_cost(0.0, 0.5)


@pytest.mark.parametrize(
    ("deadline", "batches"),
    [
        (16, [(11, 10)]),
        (15, [(10, 10)]),
        (12, [(7, 6), (10, 4)]),
        (11, [(6, 4), (8, 4), (10, 2)]),
    ],
)
def test_the_cases_of_section_3_1(deadline, batches):
    found = schedule_single(TWO_A_SECOND, WINDOW, deadline)
    assert isinstance(found, Feasible)
    assert [(batch.start, batch.rows) for batch in found.batches] == batches
    assert found.end == deadline


def test_a_deadline_at_the_last_arrival_is_infeasible():
    found = schedule_single(TWO_A_SECOND, WINDOW, 10)
    assert isinstance(found, Infeasible)
    # One tuple takes half a second, and the last one is there at 10.
    assert found.missing == pytest.approx(0.5, abs=0.01)
    assert isinstance(schedule_single(TWO_A_SECOND, WINDOW, 10 + found.missing), Feasible)


def test_the_missing_time_is_the_least():
    cost = linear_cost(2.0, 0.5, merge=1.0, per_batch=0.5)
    found = schedule_single(cost, WINDOW, 11)
    assert isinstance(found, Infeasible)
    assert isinstance(schedule_single(cost, WINDOW, 11 + found.missing), Feasible)
    assert isinstance(schedule_single(cost, WINDOW, 11 + found.missing - 0.01), Infeasible)


def test_the_final_aggregation_takes_time_before_the_deadline():
    cost = linear_cost(0.0, 0.5, per_batch=0.5)
    found = schedule_single(cost, WINDOW, 13)
    assert isinstance(found, Feasible)
    # Two batches would leave 2 s for 4 tuples and merge in 1 s: as at deadline 12 without it.
    assert [batch.rows for batch in found.batches] == [6, 4]
    assert (found.aggregation, found.end) == (1.0, 13)


def test_more_batches_are_assumed_until_their_aggregation_fits():
    cost = linear_cost(0.0, 0.5, per_batch=0.5)
    found = schedule_single(cost, WINDOW, 12.5)
    assert isinstance(found, Feasible)
    assert len(found.batches) == 3
    assert found.aggregation == 1.5
    assert found.end <= 12.5


def test_parts_of_a_day_are_rows_beyond_a_usual_day_too():
    cost = PartsOfDay(lambda part, batches: 10 + 100 * part + 5 * (batches - 1), 50)
    assert [cost.tuples_in(seconds) for seconds in (9, 10, 12, 110, 310)] == [0, 0, 1, 50, 150]
    assert (cost.cost(150), cost.cost(0), cost.final_aggregation(3)) == (310, 0, 10)


def _assert_valid(found: Feasible, cost: FittedCost, arrivals: ArrivalCurve, deadline: float):
    done, free = 0, -math.inf
    for batch in found.batches:
        assert batch.start >= free - 1e-6
        done += batch.rows
        assert arrivals.time_of(done) <= batch.start + 1e-6
        assert batch.seconds == pytest.approx(cost.cost(batch.rows))
        free = batch.end
    assert done == arrivals.total
    assert found.aggregation == cost.final_aggregation(len(found.batches))
    assert found.end <= deadline + 1e-6


def _fewest_by_integer_programming(
    rows: int, rate: float, start: float, per_row: float, deadline: float
) -> int | None:
    """Equations 5 to 8, by HiGHS, for 1, 2, ... batches. (8 counts arrivals from the window's
    start, here 0.)"""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    for n in range(1, rows + 1):
        sizes, starts = range(n), range(n, 2 * n)
        matrix, low, high = [], [], []

        def add(terms, least, most, matrix=matrix, low=low, high=high, n=n):
            row = np.zeros(2 * n)
            for place, factor in terms:
                row[place] += factor
            matrix.append(row)
            low.append(least)
            high.append(most)

        add([(i, 1.0) for i in sizes], rows, rows)
        for i in sizes:
            then = [(starts[i + 1], -1.0)] if i + 1 < n else []
            until = 0.0 if i + 1 < n else deadline
            add([(starts[i], 1.0), (i, per_row), *then], -np.inf, until - start)
            add([(starts[i], rate), *((j, -1.0) for j in range(i + 1))], 0.0, np.inf)
        found = milp(
            np.zeros(2 * n),
            constraints=LinearConstraint(np.array(matrix), low, high),
            bounds=Bounds([1.0] * n + [-np.inf] * n, np.inf),
            integrality=[1] * n + [0] * n,
        )
        if found.success:
            return n
        if n * start + rows * per_row > deadline:
            return None
    return None


@pytest.mark.parametrize("seed", range(5))
def test_as_many_batches_as_by_integer_programming(seed):
    """500 random linear instances; sizes may differ. All figures are in eighths, so that neither
    side is decided by a rounding."""
    draw = random.Random(seed)
    counts = {}
    for _ in range(100):
        rows, rate = draw.randint(2, 40), draw.choice([0.5, 1.0, 2.0])
        start, per_row = draw.randint(0, 16) / 8, draw.randint(1, 8) / (8 * rate)
        window = rows / rate
        whole = start + rows * per_row
        deadline = window + math.floor(8 * whole * draw.uniform(0.05, 1.1)) / 8
        found = schedule_single(linear_cost(start, per_row), steady(0, window, rows), deadline)
        n = _fewest_by_integer_programming(rows, rate, start, per_row, deadline)
        here = len(found.batches) if isinstance(found, Feasible) else None
        assert here == n, (rows, rate, start, per_row, deadline)
        counts[n] = counts.get(n, 0) + 1
    assert {None, 1, 2, 3} <= set(counts)


def _fewest_by_search(cost: FittedCost, arrivals: ArrivalCurve, deadline: float) -> int | None:
    """Exact for any cost model: the earliest end of every number of batches over every number of
    rows."""
    total = arrivals.total
    ends = [0.0 if done == 0 else math.inf for done in range(total + 1)]
    for n in range(1, total + 1):
        ends = [
            min(
                (
                    max(ends[before], arrivals.time_of(done)) + cost.cost(done - before)
                    for before in range(done)
                ),
                default=math.inf,
            )
            for done in range(total + 1)
        ]
        if ends[total] + cost.final_aggregation(n) <= deadline + 1e-6:
            return n
    return None


@pytest.mark.parametrize("seed", range(40))
def test_as_few_batches_as_an_exact_search_finds(seed):
    """Costs that grow ever slower, arrivals that jump, and a final aggregation. With the latter the
    paper's loop may assume more batches than it then uses; it is never below the search, and the
    loop's answer always holds."""
    draw = random.Random(seed)
    total = draw.randint(3, 18)
    knee, steep = draw.uniform(1, total), draw.uniform(0.1, 0.9)
    start = draw.uniform(0, 1)
    batch = PiecewiseLinear(
        (0.0, knee), (start, start + steep * knee), beyond=steep * draw.uniform(0.2, 1)
    )
    merge = draw.choice([0.0, draw.uniform(0, 0.5)])
    cost = FittedCost(batch, PiecewiseLinear((2.0,), (2 * merge,), beyond=merge))
    at, knots = 0.0, [(0.0, 0.0)]
    for rows in range(1, total + 1):
        at += draw.choice([0.1, 0.5, 1.0, 4.0])
        knots.append((at, float(rows)))
    arrivals = arrival_curve(knots)
    deadline = at + cost.cost(total) * draw.uniform(0.1, 1.1)
    found = schedule_single(cost, arrivals, deadline)
    n = _fewest_by_search(cost, arrivals, deadline)
    if isinstance(found, Infeasible):
        assert n is None
        return
    _assert_valid(found, cost, arrivals, deadline)
    assert len(found.batches) == n if merge == 0 else len(found.batches) >= n
