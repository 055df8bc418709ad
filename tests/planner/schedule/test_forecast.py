"""Arrival curves from the pins of past days."""

from __future__ import annotations

import pytest

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.forecast import ArrivalForecast, PastDay

H = 3600.0


def _day(weekday: int, total: float, noon: float) -> PastDay:
    pins = ((12 * H, noon * total), (20 * H, 0.9 * total), (24 * H, total))
    return PastDay(weekday=weekday, pins=pins)


DAYS = [_day(w, 1000 + 10 * w, 0.4 + 0.02 * w) for w in range(5)]
MONDAYS = [_day(0, 5000, 0.7), _day(0, 5200, 0.7)]


def test_days_are_laid_over_one_another_as_fractions():
    forecast = ArrivalForecast(DAYS)
    assert forecast.fraction(4).at(12 * H) == pytest.approx(0.44)
    assert forecast.fraction(4, share=1.0).at(12 * H) == pytest.approx(0.4)
    assert forecast.fraction(4, share=0.0).at(12 * H) == pytest.approx(0.48)
    assert forecast.fraction(4).at(24 * H) == 1
    assert forecast.total(4) == 1020


def test_a_cautious_forecast_is_never_ahead_of_the_middle():
    forecast = ArrivalForecast([*DAYS, *MONDAYS])
    middle, cautious = forecast.fraction(2), forecast.fraction(2, share=0.9)
    assert all(cautious.at(h * H) <= middle.at(h * H) for h in range(25))


def test_a_weekday_counts_by_itself_once_there_are_enough():
    two = ArrivalForecast([*DAYS[1:], *MONDAYS])
    assert two.total(0) == two.total(1)
    three = ArrivalForecast([*DAYS, *MONDAYS])
    assert three.total(0) == 5000
    assert three.fraction(0).at(12 * H) == pytest.approx(0.7)
    assert three.total(3) == 1030  # of all days


def test_a_curve_of_a_day_with_a_known_total():
    curve = ArrivalForecast(DAYS).curve(4, 1e9, total=200)
    assert curve.total == 200
    assert curve.rows_at(1e9 + 12 * H) == 88
    assert curve.time_of(88) == pytest.approx(1e9 + 12 * H)


def test_before_the_first_pin_rows_come_evenly():
    assert ArrivalForecast(DAYS[:1]).fraction(0).at(6 * H) == pytest.approx(0.2)


def test_without_rows_there_is_no_forecast():
    with pytest.raises(ScheduleError):
        ArrivalForecast([PastDay(weekday=0, pins=((1.0, 0.0),)), PastDay(weekday=1, pins=())])
    with pytest.raises(ScheduleError):
        ArrivalForecast(DAYS).fraction(0, share=1.5)
