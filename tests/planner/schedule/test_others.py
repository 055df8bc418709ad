"""What others leave to a report that chooses its times: hours they fill are dear or no hours."""

from __future__ import annotations

import random

import pytest

from planner.schedule.arrivals import arrival_curve
from planner.schedule.candidate_times import RestOfDay
from planner.schedule.cluster import Blackout, Cluster, joined_blackouts
from planner.schedule.congestion import CELL_S, Congestion
from planner.schedule.others import UNSHARED, Others, TakenCores
from planner.schedule.step_curve import Piece, StepCurve, constant

HOUR = 3600.0
PRICES = StepCurve([Piece(0, 6 * HOUR, 0.2), Piece(6 * HOUR, 48 * HOUR, 0.8)], "the price")
NIGHT = Cluster(
    ceiling=StepCurve([Piece(0, 2 * HOUR, 2), Piece(2 * HOUR, 48 * HOUR, 8)]),
    prices=PRICES,
    blackouts=(Blackout(start=4 * HOUR, end=5 * HOUR),),
)


def taken(start: float, hours: float, cores: float) -> TakenCores:
    return TakenCores(start=start * HOUR, seconds=hours * HOUR, cores=cores)


def test_runs_begin_where_cores_are_free():
    others = Others(NIGHT, 4, held=[taken(2, 1, 6)], planned=[taken(5, 2, 6)])
    assert others.early_begins(0, HOUR) == 3 * HOUR  # the ceiling, then whoever holds cores
    assert others.early_begins(3.5 * HOUR, HOUR) == 7 * HOUR  # the blackout, then the planned
    assert others.final_begins(3.5 * HOUR, HOUR) == 3.5 * HOUR  # urgent: in the blackout, too
    assert others.final_begins(4.5 * HOUR, HOUR) == 7 * HOUR
    assert others.early_begins(47.5 * HOUR, HOUR) == 48 * HOUR  # no more than is known


def test_the_latest_start_that_is_done_in_time():
    others = Others(NIGHT, 4, held=[taken(2, 1, 6)], planned=[taken(5, 2, 6)])
    assert others.early_by(9 * HOUR, HOUR) == 8 * HOUR
    assert others.early_by(7.5 * HOUR, HOUR) == 3 * HOUR
    assert others.early_by(7.5 * HOUR, 2 * HOUR) is None
    assert UNSHARED.early_by(7.5 * HOUR, HOUR) == 6.5 * HOUR


def test_hours_that_are_full_are_dearer_by_the_price_of_the_negotiation():
    others = Others(NIGHT, 4, planned=[taken(8, 2, 6)])
    congestion = Congestion(NIGHT)
    congestion.take(8 * HOUR, 10 * HOUR, 6)
    tariff, prices = congestion.tariff(4), others.crowded(PRICES)
    for at in (7.0, 8.0, 9.5, 10.0):
        span = at * HOUR, at * HOUR + CELL_S
        assert prices.integral(*span) == pytest.approx(tariff.integral(*span))
    assert prices.at(7.99 * HOUR) == 0.8 < prices.at(8 * HOUR)
    assert others.added(9.5 * HOUR, HOUR) == pytest.approx(others.added(8 * HOUR, HOUR) / 2)
    assert others.added(10 * HOUR, HOUR) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_curve_of_a_crowded_night_is_its_tariff(seed):
    draw = random.Random(seed)
    congestion = Congestion(NIGHT)
    for _ in range(20):
        start = draw.uniform(-1, 47) * HOUR
        congestion.take(start, min(start + draw.uniform(60, 9000), 48 * HOUR), draw.choice([1, 4]))
    tariff = congestion.tariff(2)
    curve = tariff.curve()
    for _ in range(50):
        start, end = sorted(draw.uniform(0, 48 * HOUR) for _ in range(2))
        assert curve.integral(start, end) == pytest.approx(tariff.integral(start, end))


def rest(**changes) -> RestOfDay:
    given = {
        "now": 0.0, "ready": 24 * HOUR, "latest": 30 * HOUR, "due": 32 * HOUR,
        "curves": {"orders": arrival_curve([(0.0, 0.0), (24 * HOUR, 1000.0)])},
        "prices": constant(0, 48 * HOUR, 1.0), "seconds": lambda part, batches: part * HOUR,
        **changes,
    }  # fmt: skip
    return RestOfDay(**given)


def test_the_final_run_is_where_cores_are_free_before_it_is_where_they_are_cheap():
    cheap_late = StepCurve([Piece(0, 29 * HOUR, 1.0), Piece(29 * HOUR, 48 * HOUR, 0.1)])
    cluster = Cluster(ceiling=constant(0, 48 * HOUR, 8), prices=cheap_late)
    assert rest(prices=cheap_late).final == 29 * HOUR
    full = Others(cluster, 4, planned=[taken(29, 4, 6)])
    assert rest(prices=cheap_late, cores=full).final == 24 * HOUR
    some = Others(cluster, 4, planned=[taken(29, 4, 4)])
    assert rest(prices=cheap_late, cores=some).final == 29 * HOUR


def test_early_runs_are_candidates_where_they_can_begin():
    cluster = Cluster(ceiling=constant(0, 48 * HOUR, 8), prices=constant(0, 48 * HOUR, 1.0))
    held = Others(cluster, 4, held=[taken(0, 13, 8)])
    alone, beside = rest().early(11), rest(cores=held).early(11)
    assert min(alone) < 13 * HOUR <= min(beside)
    assert rest(cores=UNSHARED).early(11) == alone


def test_blackouts_that_touch_are_one_and_empty_ones_none():
    assert joined_blackouts([(5, 6), (1, 2), (2, 3), (4, 4)]) == (
        Blackout(start=1, end=3),
        Blackout(start=5, end=6),
    )
