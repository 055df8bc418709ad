"""When the rows of past days came, read from the pins of a store."""

from __future__ import annotations

import datetime as dt

import pytest

from forerun.include.state.layout import pins_folder, pointer_key, source_id
from forerun.include.times.past_arrivals import (
    by_instants,
    past_day,
    published_days,
    read_arrivals,
)
from forerun.planner.schedule.arrivals import arrival_curve
from tests.include.days.past_days import MONDAY, PastDays, ago, report_of


@pytest.fixture
def past(tmp_path):
    return PastDays(tmp_path, report_of(tmp_path))


def arrivals(past, day):
    return read_arrivals(past.store, past.spec, day)


def test_a_day_is_laid_out_by_its_pins(past):
    past.day(ago(1), (6, 100), (12, 300), (24, 400))
    forecast = arrivals(past, MONDAY)["orders"]
    assert forecast.total(0) == 400
    assert forecast.fraction(0).at(12 * 3600) == 0.75
    assert forecast.fraction(0).at(9 * 3600) == 0.5
    assert "shops" not in arrivals(past, MONDAY)  # it does not grow


def test_weekdays_are_told_apart_once_there_are_three(past):
    for week in (1, 2, 3):
        past.day(ago(7 * week), (6, 40), (24, 50))
    for days in (1, 2, 3):
        past.day(ago(days), (18, 40), (24, 80))
    forecast = arrivals(past, MONDAY)["orders"]
    assert forecast.total(0) == 50
    assert forecast.fraction(0).at(6 * 3600) == 0.8
    assert forecast.total(6) == 65  # one Sunday is no pattern: all days count


def test_only_days_that_were_published_whole_count(past):
    past.day(ago(1), (6, 1), (24, 2), publish=False)
    past.day(ago(2), (6, 1), (24, 2), incomplete=(("orders", "no _SUCCESS"),))
    past.day(ago(3), (6, 1), (24, 2), early=True)
    assert published_days(past.store, past.spec, MONDAY) == []
    assert arrivals(past, MONDAY) == {}
    past.store.put(pointer_key("totals", ago(3).isoformat()), b"{")
    assert arrivals(past, MONDAY) == {}
    past.day(ago(4), (6, 1), (24, 2))
    assert published_days(past.store, past.spec, MONDAY) == [ago(4)]
    assert arrivals(past, ago(4)) == {}  # not the day itself


def test_a_day_that_was_only_pinned_later_says_nothing_of_when(past):
    past.day(ago(1), (24 * 5, 400))
    assert arrivals(past, MONDAY) == {}


def test_late_data_does_not_make_a_day_complete_late(past):
    past.day(ago(1), (12, 300), (24, 400), (24 * 9, 405))
    assert arrivals(past, MONDAY)["orders"].total(0) == 400
    past.day(ago(2), (12, 200), (30, 390), (32, 400))  # two hours after the deadline
    found = past_day(past.store, past.spec, past.spec.sources[0], ago(2))
    assert found.pins == ((12 * 3600, 200), (24 * 3600, 390))


def test_a_final_run_that_waited_for_its_price_does_not_make_the_source_late(past):
    past.day(ago(1), (12, 200), (29, 400))
    found = past_day(past.store, past.spec, past.spec.sources[0], ago(1))
    assert found.pins == ((12 * 3600, 200), (24 * 3600, 400))
    past.day(ago(2), (12, 200), (26, 300), (29, 400))  # what an earlier pin saw, it saw
    found = past_day(past.store, past.spec, past.spec.sources[0], ago(2))
    assert found.pins[1:] == ((26 * 3600, 400),)


def test_days_on_which_clocks_change_are_told_by_the_clock(past):
    spring, autumn = dt.date(2026, 3, 29), dt.date(2026, 10, 25)
    past.day(spring, (6, 100), (23, 200))
    found = past_day(past.store, past.spec, past.spec.sources[0], spring)
    assert found.pins == ((7 * 3600, 100), (24 * 3600, 200))
    past.day(autumn, (2.5, 100), (3.25, 150), (25, 200))  # the hour from 2 comes twice
    found = past_day(past.store, past.spec, past.spec.sources[0], autumn)
    assert found.pins == ((2.5 * 3600, 150), (24 * 3600, 200))


@pytest.mark.parametrize(("day", "hours"), [(MONDAY, 24), (dt.date(2026, 3, 29), 23)])
def test_a_curve_by_the_clock_is_one_over_instants(past, day, hours):
    curve = arrival_curve([(0, 0), (2.5 * 3600, 10), (3 * 3600, 20), (24 * 3600, 100)])
    found = by_instants(past.spec, day, curve)
    start = dt.datetime.combine(day, dt.time(), tzinfo=past.spec.zone).timestamp()
    assert found.complete_at == start + hours * 3600
    assert found.rows_at(start + 12 * 3600) == (58 if hours == 23 else 54)


def test_a_damaged_pin_is_passed_over(past):
    past.day(ago(1), (6, 100), (12, 300), (24, 400))
    source = past.spec.sources[0]
    name = source_id(source.name, source.path, source.format)
    key = f"{pins_folder(name, ago(1).isoformat())}/2.json"
    past.store.put(key, past.store.get(key).replace(b'"rows":', b'"rosw":', 1))
    assert arrivals(past, MONDAY)["orders"].fraction(0).at(12 * 3600) == pytest.approx(0.5)
