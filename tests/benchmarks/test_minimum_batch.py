"""Minimum batches against trying every size."""

from __future__ import annotations

import random

import pytest

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.batch_cost import FittedCost, linear_cost
from forerun.planner.schedule.piecewise import PiecewiseLinear
from tests.benchmarks.minimum_batch import minimum_batch, total_cost


@pytest.mark.parametrize("seed", range(30))
def test_no_smaller_number_of_rows_keeps_the_slack(seed):
    draw = random.Random(seed)
    total, start, steep = draw.randint(1, 300), draw.uniform(0, 9), draw.uniform(0.01, 1)
    batch = PiecewiseLinear(
        (0.0, 40.0), (start, start + 40 * steep), beyond=steep * draw.uniform(0.1, 1)
    )
    cost = FittedCost(batch, PiecewiseLinear((2.0,), (1.0,), beyond=draw.uniform(0, 2)))
    slack = draw.choice([0.0, 0.5, 1.0])
    found = minimum_batch(cost, total, slack=slack, longest=1e9)
    allowed = (1 + slack) * cost.cost(total)
    whole, rest = divmod(total, found.rows)
    batches = whole + (rest > 0)
    taken = whole * cost.cost(found.rows) + cost.cost(rest) + cost.final_aggregation(batches)
    assert taken <= allowed + 1e-9
    # A smaller size makes more batches, and then no division of the rows is cheap enough.
    tried = [-(-total // n) for n in range(1, total + 1) if total_cost(cost, total, n) <= allowed]
    assert found.rows == min(tried)
    assert found.ratio <= 1 + slack
    assert not found.conflict


def test_the_longest_batch_wins_and_says_so():
    found = minimum_batch(linear_cost(10.0, 1.0), 100, slack=0.1, longest=30)
    assert (found.rows, found.batches) == (20, 5)
    assert found.ratio == pytest.approx(150 / 110)
    assert found.conflict == (
        "batches of at most 30 s cost 1.36 times one batch, more than the 1.10 allowed"
    )


@pytest.mark.parametrize(
    ("total", "slack", "longest"), [(0, 0.5, 30), (9, -0.1, 30), (9, 0.5, 0), (9, 0.5, 10.5)]
)
def test_bounds_that_cannot_be_kept_are_refused(total, slack, longest):
    with pytest.raises(ScheduleError):
        minimum_batch(linear_cost(10.0, 1.0), total, slack=slack, longest=longest)
