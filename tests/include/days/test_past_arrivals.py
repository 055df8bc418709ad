"""When the rows of past days came, read from the pins of a store."""

from __future__ import annotations

import datetime as dt

import pyarrow.parquet as pq
import pytest

from include.days.past_arrivals import last_pins, past_day, published_days, read_arrivals
from include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from include.sources.pins import pin_source
from include.state.layout import pins_folder, pointer_key, source_id
from include.state.opening import open_store
from include.state.pointers import Pointer
from include.state.records import encode
from tests.include.days.day_cases import COLUMNS, table

BERLIN = dt.date(2026, 3, 2)  # a Monday


@pytest.fixture
def spec(tmp_path) -> ReportSpec:
    orders = SourceSpec(
        name="orders",
        path=str(tmp_path / "in" / "{ds}"),
        columns=COLUMNS,
        complete_when=ClockTime(),
    )
    shops = SourceSpec(
        name="shops", path=str(tmp_path / "shops"), columns=COLUMNS, arrival="static"
    )
    return ReportSpec(
        name="totals",
        sql="SELECT k, sum(v) AS v FROM orders GROUP BY k",
        sources=(orders, shops),
        policy=RunPolicy(runs=(RunTime(at="12:00"), RunTime(at="24:00"))),
        timezone="Europe/Berlin",
    )


@pytest.fixture
def past(tmp_path, spec):
    return _Past(open_store(str(tmp_path / "store")), spec, tmp_path)


class _Past:
    """Days that have gone by: what came when, and whether a result was published."""

    def __init__(self, store, spec, folder) -> None:
        self.store, self.spec, self.folder = store, spec, folder

    def day(self, day: dt.date, *pins: tuple[float, int], publish: bool = True, **pointer) -> None:
        """So many rows had come so many hours after the day's start."""
        there = 0
        start = dt.datetime.combine(day, dt.time(), tzinfo=self.spec.zone).astimezone(dt.UTC)
        for number, (hours, rows) in enumerate(pins):
            path = self.folder / "in" / day.isoformat() / f"{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table(*((k, k) for k in range(rows - there))), path)
            there = rows
            pin_source(self.store, self.spec.sources[0], day, start + dt.timedelta(hours=hours))
        if publish:
            found = Pointer(
                report="totals", day=day.isoformat(), version="1", generation=1, run=2,
                folder="", files=(), rows=1, published_at="", **pointer,
            )  # fmt: skip
            self.store.put(pointer_key("totals", day.isoformat()), encode(found))

    def arrivals(self, day: dt.date):
        return read_arrivals(self.store, self.spec, day)


def ago(days: int) -> dt.date:
    return BERLIN - dt.timedelta(days=days)


def test_a_day_is_laid_out_by_its_pins(past):
    past.day(ago(1), (6, 100), (12, 300), (24, 400))
    forecast = past.arrivals(BERLIN)["orders"]
    assert forecast.total(0) == 400
    assert forecast.fraction(0).at(12 * 3600) == 0.75
    assert forecast.fraction(0).at(9 * 3600) == 0.5
    assert "shops" not in past.arrivals(BERLIN)  # it does not grow


def test_weekdays_are_told_apart_once_there_are_three(past):
    for week in (1, 2, 3):
        past.day(ago(7 * week), (6, 40), (24, 50))
    for days in (1, 2, 3):
        past.day(ago(days), (18, 40), (24, 80))
    forecast = past.arrivals(BERLIN)["orders"]
    assert forecast.total(0) == 50
    assert forecast.fraction(0).at(6 * 3600) == 0.8
    assert forecast.total(6) == 65  # one Sunday is no pattern: all days count


def test_only_days_that_were_published_whole_count(past):
    past.day(ago(1), (6, 1), (24, 2), publish=False)
    past.day(ago(2), (6, 1), (24, 2), incomplete=(("orders", "no _SUCCESS"),))
    past.day(ago(3), (6, 1), (24, 2), early=True)
    assert published_days(past.store, past.spec, BERLIN) == []
    assert past.arrivals(BERLIN) == {}
    past.store.put(pointer_key("totals", ago(3).isoformat()), b"{")
    assert past.arrivals(BERLIN) == {}
    past.day(ago(4), (6, 1), (24, 2))
    assert published_days(past.store, past.spec, BERLIN) == [ago(4)]
    assert past.arrivals(ago(4)) == {}  # not the day itself


def test_a_day_that_was_only_pinned_later_says_nothing_of_when(past):
    past.day(ago(1), (24 * 5, 400))
    assert past.arrivals(BERLIN) == {}


def test_late_data_does_not_make_a_day_complete_late(past):
    past.day(ago(1), (12, 300), (24, 400), (24 * 9, 405))
    assert past.arrivals(BERLIN)["orders"].total(0) == 400
    past.day(ago(2), (12, 300), (32, 400))  # two hours after the deadline: that was the day
    found = past_day(past.store, past.spec, past.spec.sources[0], ago(2))
    assert found.pins[-1] == (32 * 3600, 400)


def test_a_day_on_which_clocks_change_is_told_in_hours_that_passed(past):
    spring = dt.date(2026, 3, 29)
    past.day(spring, (6, 100), (23, 200))
    found = past_day(past.store, past.spec, past.spec.sources[0], spring)
    assert found.pins == ((6 * 3600, 100), (23 * 3600, 200))


def test_a_damaged_pin_is_passed_over(past):
    past.day(ago(1), (6, 100), (12, 300), (24, 400))
    source = past.spec.sources[0]
    name = source_id(source.name, source.path, source.format)
    key = f"{pins_folder(name, ago(1).isoformat())}/2.json"
    past.store.put(key, past.store.get(key).replace(b'"rows":', b'"rosw":', 1))
    assert past.arrivals(BERLIN)["orders"].fraction(0).at(12 * 3600) == pytest.approx(0.5)
    assert last_pins(past.store, past.spec, ago(1))["orders"].rows == 400
