"""A known cost model is recovered from noisy history; what is not known is said."""

from __future__ import annotations

import random

import pytest

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.fit import fit_monotone
from forerun.planner.schedule.past_runs import PastRun, fit_cost
from forerun.planner.schedule.piecewise import PiecewiseLinear

MODELS = {
    "linear": PiecewiseLinear((0.0,), (15.0,), beyond=4e-5),
    "one knee": PiecewiseLinear((0.0, 1e6), (12.0, 92.0), beyond=2e-5),
    "two knees": PiecewiseLinear((0.0, 5e5, 2e6), (20.0, 80.0, 140.0), beyond=8e-5),
    "no start": PiecewiseLinear((0.0,), (0.0,), beyond=1e-4),
}


def _history(model: PiecewiseLinear, draw: random.Random, runs: int = 120) -> list[PastRun]:
    """Runs of all sizes, 3 % noise; one in ten was tried again, one in ten on a cold machine."""
    found = []
    for _ in range(runs):
        work = draw.choice([draw.uniform(1e4, 4e6), 10 ** draw.uniform(4, 6.6)])
        seconds = model.at(work) * draw.gauss(1, 0.03)
        kind = draw.random()
        seconds = 2 * seconds + 60 if kind < 0.1 else seconds + 45 if kind < 0.2 else seconds
        found.append(PastRun(work=work, seconds=seconds))
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_a_known_model_is_recovered(name, seed):
    model = MODELS[name]
    fit = fit_cost(_history(model, random.Random(seed)))
    assert fit.error < 0.06
    assert len(fit.cost.batch.xs) <= 5  # the start, at most three breakpoints, the last one seen
    for work in (5e4, 2e5, 5e5, 1e6, 2e6, 3e6, 4e6):
        assert fit.cost.batch.at(work) == pytest.approx(model.at(work), rel=0.08, abs=2.5)
    assert fit.cost.start == pytest.approx(model.at(0), abs=4)


def test_outliers_do_not_move_the_fit():
    clean = [PastRun(work=w * 1e5, seconds=10 + 3 * w) for w in range(1, 20)]
    dirty = [*clean, PastRun(work=5e5, seconds=400), PastRun(work=1e6, seconds=900)]
    assert fit_cost(dirty).cost.cost(10**6) == pytest.approx(40, rel=0.01)


def test_one_breakpoint_more_needs_a_reason():
    draw = random.Random(1)
    line = MODELS["linear"]
    points = [(x * 1e5, line.at(x * 1e5) * draw.gauss(1, 0.02)) for x in range(1, 40)]
    assert len(fit_monotone(points).function.xs) <= 3


def test_the_final_aggregation_is_fitted_by_the_number_of_batches():
    draw = random.Random(7)
    runs = _history(MODELS["linear"], draw)
    for batches in (2, 3, 4, 5, 6) * 4:
        work = draw.uniform(1e5, 2e6)
        seconds = (MODELS["linear"].at(work) + 3 + 4 * batches) * draw.gauss(1, 0.02)
        runs.append(PastRun(work=work, seconds=seconds, batches=batches))
    fit = fit_cost(runs)
    assert fit.merge_error is not None
    assert fit.merge_error < 0.1
    assert fit.cost.final_aggregation(1) == 0
    for batches in (2, 4, 6):
        assert fit.cost.final_aggregation(batches) == pytest.approx(3 + 4 * batches, rel=0.25)


def test_one_number_of_batches_tells_of_the_others_in_proportion():
    runs = [PastRun(work=w * 1e5, seconds=10 + 3 * w) for w in range(1, 9)]
    runs += [PastRun(work=2e5, seconds=16 + 6, batches=3)] * 3
    fit = fit_cost(runs)
    assert fit.cost.final_aggregation(3) == pytest.approx(6, rel=0.05)
    assert fit.cost.final_aggregation(6) == pytest.approx(12, rel=0.05)


def test_without_merges_there_is_no_error_of_them():
    fit = fit_cost(PastRun(work=w, seconds=10 + w) for w in range(1, 9))
    assert fit.merge_error is None
    assert fit.cost.final_aggregation(5) == 0


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [PastRun(work=1, seconds=2)] * 9,
        [PastRun(work=1, seconds=2), PastRun(work=2, seconds=2)],
        [PastRun(work=w, seconds=9, batches=2) for w in range(9)],
    ],
)
def test_too_few_runs_are_refused(runs):
    with pytest.raises(ScheduleError, match="do not tell"):
        fit_cost(runs)


def test_beyond_what_was_seen_growth_is_not_cheaper_than_before():
    fit = fit_monotone([(1, 10), (2, 20), (3, 30), (4, 30), (5, 30), (6, 30), (7, 30), (8, 30)])
    assert fit.function.at(80) > 80
