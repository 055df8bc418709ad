"""Prices by the hour of the clock, and the instants they mean, also where clocks change."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from forerun.include.reports.cluster import Blackout, Cluster
from forerun.include.reports.values.clock import TimeError
from forerun.include.reports.values.hours import Hours, daily_curve, instant, spans_of
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


@pytest.mark.parametrize(
    ("times", "lasts"),
    [(("02:15", "02:45"), 0), (("02:30", "03:00"), 0), (("01:30", "02:30"), 1800)],
)
def test_what_lies_within_a_skipped_hour_is_skipped_and_moves_nowhere(times, lasts):
    start, end = times
    pieces = _hours(("00:00", start, 1), (start, end, 2), (end, "24:00", 3))
    curve = daily_curve(pieces, date(2026, 3, 29), 1, BERLIN, "the price")
    assert curve.end - curve.start == 23 * 3600
    assert sum(piece.end - piece.start for piece in curve.pieces if piece.value == 2) == lasts
    assert curve.at(_at("2026-03-29T01:00")) == 1
    assert curve.at(_at("2026-03-29T03:00")) == 3
    dark = Blackout(start=start, end=end).on(date(2026, 3, 29), BERLIN)
    assert sum(last - first for first, last in dark) == lasts


def test_what_lies_within_an_hour_that_comes_twice_holds_in_both():
    pieces = _hours(("00:00", "02:15", 1), ("02:15", "02:45", 2), ("02:45", "24:00", 3))
    curve = daily_curve(pieces, date(2026, 10, 25), 1, BERLIN, "the ceiling")
    for fold in (0, 1):
        assert [curve.at(_at(f"2026-10-25T02:{m}", fold)) for m in (10, 20, 50)] == [1, 2, 3]
    assert Blackout(start="02:15", end="02:45").on(date(2026, 10, 25), BERLIN) == [
        (_at("2026-10-25T02:15", fold), _at("2026-10-25T02:45", fold)) for fold in (0, 1)
    ]
    cluster = Cluster(
        name="night",
        timezone="Europe/Berlin",
        ceiling=(Hours(start="00:00", end="24:00", value=1),),
        blackouts=(Blackout(start="02:15", end="02:45"),),
    )
    dark = [cluster.dark_until(_at("2026-10-25T02:20", fold)) for fold in (0, 1)]
    assert dark == [_at("2026-10-25T02:45", fold) for fold in (0, 1)]


def test_a_span_of_the_night_holds_wherever_the_clock_shows_it():
    day, what = date(2026, 10, 24), "a blackout"
    assert spans_of(day, "26:15", "26:45", BERLIN, what) == [
        (_at("2026-10-25T02:15", fold), _at("2026-10-25T02:45", fold)) for fold in (0, 1)
    ]
    start, end = _at("2026-10-24T23:00"), _at("2026-10-25T02:30", 1)
    assert spans_of(day, "23:00", "26:30", BERLIN, what) == [
        (start, end - 3600), (_at("2026-10-25T02:00", 1), end)
    ]  # fmt: skip
    assert spans_of(day, "23:00", "28:00", BERLIN, what) == [(start, _at("2026-10-25T04:00"))]
    assert spans_of(day, "+23:00", "+26:30", BERLIN, what) == [(start, start + 3.5 * 3600)]
    for times in (("26:00", "25:00"), ("+02:00", "+02:00")):
        with pytest.raises(ScheduleError, match="is empty"):
            spans_of(day, *times, BERLIN, what)


CHANGES = {  # by hour, by half an hour, at midnight forward and back, and a day that is not there
    "Europe/Berlin": (date(2026, 3, 28), date(2026, 10, 24)),
    "Australia/Lord_Howe": (date(2026, 4, 4), date(2026, 10, 3)),
    "Asia/Beirut": (date(2026, 3, 28), date(2026, 10, 24)),
    "America/Havana": (date(2026, 3, 7), date(2026, 10, 31)),
    "Pacific/Apia": (date(2011, 12, 28), date(2011, 12, 29)),
}


@pytest.mark.parametrize("zone", sorted(CHANGES))
def test_clock_times_keep_their_order_and_parts_of_a_day_make_it_whole(zone):
    clock = ZoneInfo(zone)
    for day in CHANGES[zone]:
        instants = [instant(day, f"{m // 60:02}:{m % 60:02}", clock) for m in range(0, 3840, 5)]
        assert instants == sorted(instants)
        hours = _hours(*((f"{h:02}:00", f"{h + 1:02}:00", h + 1) for h in range(24)))
        # Without a gap and without an overlap, or it raises.
        curve = daily_curve(hours, day, 4, clock, "the price")
        assert curve.start == instants[0]
        for at in range(round(curve.start), round(curve.end), 900):
            assert curve.at(at) == datetime.fromtimestamp(at, clock).hour + 1


def test_a_run_in_the_skipped_hour_is_not_after_a_deadline_that_is_later_on_the_clock():
    day = date(2026, 3, 28)
    assert instant(day, "26:30", BERLIN) <= instant(day, "27:00", BERLIN)


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
