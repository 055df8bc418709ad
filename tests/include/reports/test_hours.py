"""Prices by the hour of the clock, and the instants they mean, also where clocks change."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from forerun.include.reports.clock import TimeError
from forerun.include.reports.hours import Hours, daily_curve, instant
from forerun.planner.errors import ScheduleError

BERLIN = ZoneInfo("Europe/Berlin")


def _hours(*pieces: tuple[str, str, float]) -> list[Hours]:
    return [Hours(start=start, end=end, value=value) for start, end, value in pieces]


NIGHT = _hours(
    ("00:00", "02:00", 1), ("02:00", "03:00", 2), ("03:00", "22:00", 3), ("22:00", "24:00", 4)
)


def _at(text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).timestamp()


def test_a_curve_over_two_days():
    curve = daily_curve(NIGHT, date(2026, 1, 31), 2, BERLIN, "the price")
    assert (curve.start, curve.end) == (_at("2026-01-31"), _at("2026-02-02"))
    assert curve.at(_at("2026-01-31T22:30")) == 4
    assert curve.at(_at("2026-02-01T02:30")) == 2


def test_an_hour_that_is_skipped_is_skipped():
    curve = daily_curve(NIGHT, date(2026, 3, 29), 1, BERLIN, "the price")
    assert curve.end - curve.start == 23 * 3600
    assert 2 not in curve.values
    assert curve.at(_at("2026-03-29T03:00")) == 3


@pytest.mark.parametrize("times", [("02:15", "02:45"), ("02:30", "03:00"), ("01:30", "02:30")])
def test_times_within_a_skipped_hour_make_no_gap_and_no_overlap(times):
    """02:30 does not exist and means 03:30, which is after what 03:00 means."""
    start, end = times
    pieces = _hours(("00:00", start, 1), (start, end, 2), (end, "24:00", 3))
    curve = daily_curve(pieces, date(2026, 3, 29), 1, BERLIN, "the price")
    assert curve.end - curve.start == 23 * 3600
    assert curve.at(_at("2026-03-29T01:00")) == 1
    assert curve.at(_at("2026-03-29T05:00")) == 3


def test_an_hour_that_comes_twice_has_its_value_twice():
    curve = daily_curve(NIGHT, date(2026, 10, 25), 1, BERLIN, "the price")
    assert curve.end - curve.start == 25 * 3600
    assert curve.at(_at("2026-10-25T02:30")) == 2
    assert curve.at(_at("2026-10-25T02:30", fold=1)) == 2
    (twice,) = (piece for piece in curve.pieces if piece.value == 2)
    assert twice.end - twice.start == 2 * 3600


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (_hours(("00:00", "12:00", 1), ("13:00", "24:00", 1)), "not given from 12:00 to 13:00"),
        (_hours(("00:00", "12:30", 1), ("12:00", "24:00", 1)), "twice from 12:00 to 12:30"),
        (_hours(("00:00", "24:00", 0)), "is 0 from 00:00 to 24:00"),
        (_hours(("06:00", "24:00", 1)), "is given from 06:00 to 24:00"),
    ],
)
def test_errors_are_in_clock_times(pieces, message):
    with pytest.raises(ScheduleError, match=message):
        daily_curve(pieces, date(2026, 3, 29), 1, BERLIN, "the price")


@pytest.mark.parametrize("time", ["+02:00", "25:00", "noon"])
def test_only_clock_times_of_a_day(time):
    with pytest.raises(TimeError):
        daily_curve(_hours(("00:00", time, 1)), date(2026, 1, 1), 1, BERLIN, "the price")


def test_an_instant_of_a_reports_day():
    assert instant(date(2026, 1, 31), "26:00", BERLIN) == _at("2026-02-01T02:00")
