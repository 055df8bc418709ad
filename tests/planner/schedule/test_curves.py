"""Curves: their inverses, their errors, and what they are after a change."""

from __future__ import annotations

import math

import pytest

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.arrivals import arrival_curve, steady
from forerun.planner.schedule.piecewise import PiecewiseLinear
from forerun.planner.schedule.step_curve import Piece, StepCurve, constant


def test_a_function_and_its_inverses():
    f = PiecewiseLinear((0.0, 2.0, 4.0), (1.0, 1.0, 5.0), beyond=3.0)
    assert [f.at(x) for x in (-1, 0, 1, 3, 5)] == [1, 1, 1, 3, 8]
    assert (f.first(1), f.first(3), f.first(8)) == (-math.inf, 3, 5)
    assert (f.last(0.5), f.last(1), f.last(3), f.last(8)) == (-math.inf, 2, 3, 5)
    flat = PiecewiseLinear((0.0, 1.0), (0.0, 1.0))
    assert (flat.first(2), flat.last(2), flat.last(1)) == (math.inf, math.inf, math.inf)


@pytest.mark.parametrize(
    ("xs", "ys", "beyond"),
    [
        ((), (), 0.0),
        ((0.0,), (0.0, 1.0), 0.0),
        ((0.0, 1.0), (1.0, 0.0), 0.0),
        ((1.0, 0.0), (0.0, 1.0), 0.0),
        ((0.0,), (0.0,), -1.0),
        ((0.0,), (math.nan,), 0.0),
    ],
)
def test_what_falls_or_is_out_of_order_is_refused(xs, ys, beyond):
    with pytest.raises(ScheduleError):
        PiecewiseLinear(xs, ys, beyond)


def test_arrivals_by_instant_and_by_rows():
    curve = arrival_curve([(0, 0), (100, 40), (100, 60), (200, 60), (300, 100)])
    assert [curve.rows_at(t) for t in (-1, 0, 50, 99, 100, 150, 250, 999)] == [
        0, 0, 20, 39, 60, 60, 80, 100,
    ]  # fmt: skip
    assert [curve.time_of(n) for n in (0, 20, 41, 60, 61, 100)] == [0, 50, 100, 100, 202.5, 300]
    assert curve.time_of(101) == math.inf
    assert curve.complete_at == 300
    for n in range(1, 101):
        assert curve.rows_at(curve.time_of(n)) >= n
        assert curve.rows_at(curve.time_of(n) - 0.01) < n


def test_instants_of_the_epoch_are_as_good_as_small_ones():
    curve = steady(1.7e9, 1.7e9 + 3600, 10_000_000)
    for n in (1, 3, 7_777_777, 10_000_000):
        assert curve.rows_at(curve.time_of(n)) >= n


def test_a_source_is_late_from_an_instant_on():
    curve = steady(0, 100, 100).shifted(50, since=40)
    assert [curve.rows_at(t) for t in (20, 40, 90, 100, 150)] == [20, 40, 40, 50, 100]
    assert steady(0, 100, 100).shifted(50).rows_at(60) == 10


def test_what_is_left_of_a_day():
    curve = steady(0, 100, 100).after(40)
    assert (curve.total, curve.rows_at(40), curve.rows_at(70), curve.complete_at) == (
        60,
        0,
        30,
        100,
    )
    assert steady(0, 100, 100).after(0).rows_at(70) == 70
    last = steady(0, 100, 100).after(500)
    assert (last.total, last.rows_at(98), last.complete_at) == (1, 0, 100)
    assert steady(0, 100, 100).scaled(0.5).total == 50


@pytest.mark.parametrize("knots", [[], [(0, 0)], [(0, 0), (1, 0.5)], [(1, 3), (0, 5)]])
def test_no_arrivals_are_refused(knots):
    with pytest.raises(ScheduleError):
        arrival_curve(knots)


PRICES = StepCurve([Piece(0, 10, 1.0), Piece(10, 20, 0.5), Piece(20, 30, 2.0)], "the price")


def test_a_price_over_time():
    assert [PRICES.at(t) for t in (0, 9.9, 10, 29)] == [1.0, 1.0, 0.5, 2.0]
    assert PRICES.integral(5, 25) == 5 + 5 + 10
    assert PRICES.breakpoints(0, 20) == (10,)
    assert PRICES.with_piece(Piece(5, 25, 3.0)).pieces == (
        Piece(0, 5, 1.0), Piece(5, 25, 3.0), Piece(25, 30, 2.0),
    )  # fmt: skip
    assert PRICES.plus(constant(0, 30, 1.0)).at(12) == 1.5


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([], "empty"),
        ([Piece(0, 1, 1.0), Piece(2, 3, 1.0)], "is not given from 1 to 2"),
        ([Piece(0, 2, 1.0), Piece(1, 3, 1.0)], "is given twice from 1 to 2"),
        ([Piece(0, 3, 1.0), Piece(1, 2, 1.0)], "is given twice from 1 to 2"),
        ([Piece(0, 1, 0.0)], "is 0 from 0 to 1"),
        ([Piece(0, 1, -2.0)], "is -2 from 0 to 1"),
        ([Piece(0, 1, math.nan)], "is nan from 0 to 1"),
        ([Piece(1, 1, 1.0)], "empty"),
    ],
)
def test_gaps_overlaps_and_nothing_are_refused(pieces, message):
    with pytest.raises(ScheduleError, match=message):
        StepCurve(pieces, "the ceiling")


def test_a_curve_is_not_known_beyond_its_ends():
    for at in (-1, 30.5):
        with pytest.raises(ScheduleError, match="the price is not known"):
            PRICES.at(at)
