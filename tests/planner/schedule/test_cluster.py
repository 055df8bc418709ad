"""Free cores against counting them second by second; blackouts; what a cluster refuses."""

from __future__ import annotations

import random

import pytest

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.cluster import BlackoutSpan, FreeCores, NightCluster, peak
from forerun.planner.schedule.step_curve import Piece, StepCurve, constant

PRICES = constant(0, 60, 1.0)


def _cluster(draw: random.Random) -> NightCluster:
    ceiling = StepCurve([Piece(a, a + 20.0, float(draw.randint(2, 9))) for a in (0.0, 20.0, 40.0)])
    start = draw.randint(5, 40)
    blackout = BlackoutSpan(start=float(start), end=float(start + draw.randint(1, 6)))
    return NightCluster(ceiling=ceiling, prices=PRICES, blackouts=(blackout,))


@pytest.mark.parametrize("seed", range(20))
def test_the_earliest_place_is_the_first_at_which_enough_cores_are_free(seed):
    draw = random.Random(seed)
    cluster = _cluster(draw)
    free = FreeCores(cluster)
    left = [cluster.ceiling.at(s) if cluster.is_open(s, s + 1) else 0.0 for s in range(60)]
    for _ in range(40):
        release, seconds, cores = draw.randint(0, 50), draw.randint(1, 9), draw.randint(1, 5)
        fits = (s for s in range(release, 61 - seconds) if min(left[s : s + seconds]) >= cores)
        wanted = next(fits, None)
        if wanted is None:
            with pytest.raises(ScheduleError, match="at no time"):
                free.earliest(release, seconds, cores)
            continue
        assert free.earliest(release, seconds, cores) == wanted
        if draw.random() < 0.6:
            free.take(wanted, seconds, cores)
            left[wanted : wanted + seconds] = [n - cores for n in left[wanted : wanted + seconds]]


def test_blackouts_move_what_would_touch_them():
    cluster = NightCluster(
        ceiling=PRICES,
        prices=PRICES,
        blackouts=(BlackoutSpan(start=10, end=20), BlackoutSpan(start=25, end=30)),
    )
    assert [cluster.opens(at, 4) for at in (0, 6, 7, 15, 21, 22, 30)] == [0, 6, 20, 20, 21, 30, 30]
    assert cluster.opens(15, 6) == 30  # not between the two
    assert [cluster.latest(end, 4) for end in (40, 33, 26, 12, 10)] == [36, 21, 21, 6, 6]
    assert cluster.is_open(20, 25)
    assert not cluster.is_open(20, 25.1)


def test_what_is_no_cluster():
    with pytest.raises(ScheduleError, match="same night"):
        NightCluster(ceiling=constant(0, 50, 1.0), prices=PRICES)
    for spans in (((5, 5),), ((5, 9), (8, 12)), ((20, 30), (5, 9))):
        with pytest.raises(ScheduleError, match="blackout"):
            NightCluster(
                ceiling=PRICES,
                prices=PRICES,
                blackouts=tuple(BlackoutSpan(start=a, end=b) for a, b in spans),
            )


def test_the_peak_of_runs_that_touch():
    assert peak([]) == 0
    assert peak(iter([(0, 10, 4), (10, 20, 5), (5, 12, 2)])) == 7
