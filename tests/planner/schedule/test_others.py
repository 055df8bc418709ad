"""What others leave to a report that chooses its times: hours they fill are dear or no hours."""

from __future__ import annotations

from forerun.planner.schedule.arrivals import arrival_curve
from forerun.planner.schedule.candidate_times import RestOfDay
from forerun.planner.schedule.cluster import (
    BlackoutSpan,
    NightCluster,
    TakenCores,
    joined_blackouts,
)
from forerun.planner.schedule.others import UNSHARED, Others
from forerun.planner.schedule.step_curve import Piece, StepCurve, constant

HOUR = 3600.0
PRICES = StepCurve([Piece(0, 6 * HOUR, 0.2), Piece(6 * HOUR, 48 * HOUR, 0.8)], "the price")
NIGHT = NightCluster(
    ceiling=StepCurve([Piece(0, 2 * HOUR, 2), Piece(2 * HOUR, 48 * HOUR, 8)]),
    prices=PRICES,
    blackouts=(BlackoutSpan(start=4 * HOUR, end=5 * HOUR),),
)


def taken(start: float, hours: float, cores: float) -> TakenCores:
    return TakenCores(start=start * HOUR, seconds=hours * HOUR, cores=cores)


def test_only_what_is_certain_puts_an_early_run_off():
    others = Others(NIGHT, 4, held=[taken(2, 1, 6)], planned=[taken(5, 2, 6)])
    assert others.opens(0, HOUR) == 3 * HOUR  # the ceiling, then whoever holds cores
    assert others.opens(3.5 * HOUR, HOUR) == 5 * HOUR  # the blackout; the planned has its turn
    assert others.opens(47.5 * HOUR, HOUR) == 48 * HOUR  # no more than is known


def test_the_final_run_has_its_turn_after_those_before_it():
    others = Others(NIGHT, 4, held=[taken(2, 1, 6)], planned=[taken(5, 2, 6)])
    assert others.final_begins(3.5 * HOUR, HOUR) == 3.5 * HOUR  # urgent: in the blackout, too
    assert others.final_begins(4.5 * HOUR, HOUR) == 7 * HOUR


def test_an_early_run_is_brought_forward_and_not_too_far():
    others = Others(NIGHT, 4, held=[taken(2, 1, 6)], planned=[taken(10, 2, 6), taken(20, 9, 6)])
    assert others.early_by(10 * HOUR, HOUR) == 9 * HOUR
    assert others.early_by(11 * HOUR, HOUR) == 9 * HOUR
    assert others.early_by(12 * HOUR, HOUR) == 11 * HOUR  # it waits rather than two hours less
    assert others.early_by(1 * HOUR, HOUR) == 0  # there is no place at all
    assert UNSHARED.early_by(7.5 * HOUR, HOUR) == 6.5 * HOUR


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
    cluster = NightCluster(ceiling=constant(0, 48 * HOUR, 8), prices=cheap_late)
    assert rest(prices=cheap_late).final == 29 * HOUR
    full = Others(cluster, 4, planned=[taken(29, 4, 6)])
    assert rest(prices=cheap_late, cores=full).final == 24 * HOUR
    some = Others(cluster, 4, planned=[taken(29, 4, 4)])
    assert rest(prices=cheap_late, cores=some).final == 29 * HOUR


def test_early_runs_are_candidates_where_they_can_begin():
    cluster = NightCluster(ceiling=constant(0, 48 * HOUR, 8), prices=constant(0, 48 * HOUR, 1.0))
    held = Others(cluster, 4, held=[taken(0, 13, 8)])
    alone, beside = rest().early(11), rest(cores=held).early(11)
    assert min(alone) < 13 * HOUR <= min(beside)
    assert rest(cores=UNSHARED).early(11) == alone


def test_blackouts_that_touch_are_one_and_empty_ones_none():
    assert joined_blackouts([(5, 6), (1, 2), (2, 3), (4, 4)]) == (
        BlackoutSpan(start=1, end=3),
        BlackoutSpan(start=5, end=6),
    )
