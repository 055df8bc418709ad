"""Triggers of early runs: when they fire, when they do not, and what the day is planned by then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.days.manifests import manifest_of
from forerun.include.days.run_times import read_times
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.spec import AfterRows, AssetEvent, Every, PriceAtMost, WhenComplete
from forerun.include.runs.prepare import ask_for_run
from forerun.include.sources.parquet.footers import SourceFileError
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.times.early_start import EarlyStart, start_early
from tests.include.days.past_days import (
    MONDAY,
    NIGHT_IS_DEAR,
    PastDays,
    at,
    opened,
    past_days,
    report_of,
    with_marker,
)

ASSET = AssetEvent(uri="s3://lake/orders")


def policy(*triggers):
    """Early runs at 12:00 and 16:00 at the latest, with these triggers."""
    early = (RunTime(at=f"{12 + 4 * place}:00", when=when) for place, when in enumerate(triggers))
    return RunPolicy(runs=(*early, RunTime(at="24:00")), prices=NIGHT_IS_DEAR)


@pytest.fixture
def days(tmp_path):
    """Makes a report with triggers and no history."""

    def make(*triggers):
        return PastDays(tmp_path, report_of(tmp_path, policy=policy(*triggers)))

    return make


def test_rows_count_from_the_last_run_that_was_planned(days, monkeypatch):
    hundred = AfterRows(source="orders", rows=100)
    found = days(hundred, hundred)
    day = opened(found)
    read = []
    describe = ParquetFormat.describe

    def spied(self, location, files, declared=()):
        read.extend(file.key for file in files)
        return describe(self, location, files, declared)

    monkeypatch.setattr(ParquetFormat, "describe", spied)
    first = EarlyStart(day, 1)
    assert first.why(at(3)) == ""
    found.deliver(MONDAY, 1, 60)
    assert first.why(at(3)) == ""
    found.deliver(MONDAY, 2, 40)
    assert first.why(at(3)) == "100 new rows of orders"
    assert len(read) == 2, "each footer once"
    manifest_of(day, 1, at(4))
    second = EarlyStart(day, 2)
    assert second.why(at(5)) == ""
    found.deliver(MONDAY, 3, 99)
    assert second.why(at(5)) == ""
    found.deliver(MONDAY, 4, 1)
    assert second.why(at(5)) == "100 new rows of orders"
    assert first.by_clock(at(3)) is None


def test_a_file_that_cannot_be_read_is_an_error_of_the_source(days):
    found = days(AfterRows(source="orders", rows=1))
    day = opened(found)
    found.deliver(MONDAY, 1, 60)
    (found.folder / "in" / MONDAY.isoformat() / "1.parquet").write_bytes(b"half a file")
    with pytest.raises(SourceFileError, match="not a readable Parquet file"):
        EarlyStart(day, 1).why(at(3))


def test_an_interval_counts_from_the_last_run_that_was_planned(days):
    two_hours = Every(interval="+02:00")
    found = days(two_hours, two_hours)
    day = opened(found)
    first = EarlyStart(day, 1)
    assert first.by_clock(at(1)) == at(2)
    assert first.why(at(1.9)) == ""
    assert first.why(at(2)) == "the last run was +02:00 ago"
    found.deliver(MONDAY, 1, 60)
    manifest_of(day, 1, at(5))
    assert EarlyStart(day, 2).by_clock(at(6)) == at(7)
    assert EarlyStart(day, 2).by_clock(at(8)) == at(8)


def test_a_price_is_that_of_the_hour_on_the_report_s_clock(days):
    start = EarlyStart(opened(days(PriceAtMost(price=0.2))), 1)
    assert start.by_clock(at(1)) == at(6)
    assert start.why(at(5.9)) == ""
    assert start.why(at(6)) == "the price is at most 0.2"
    assert start.by_clock(at(7)) == at(7)
    assert start.by_clock(at(19)) == at(30), "the cheap hours of today are over"


def test_a_source_is_complete_by_what_it_says_itself(days):
    found = days(WhenComplete(source="orders"))
    found.spec = with_marker(found.spec)
    start = EarlyStart(opened(found), 1)
    found.deliver(MONDAY, 1, 60)
    assert start.why(at(3)) == ""
    (found.folder / "in" / MONDAY.isoformat() / "_SUCCESS").touch()
    assert start.why(at(3)) == "orders is complete"


def test_events_of_assets_are_known_to_those_who_ask_airflow(days):
    start = EarlyStart(opened(days(ASSET)), 1)
    assert start.why(at(3)) == ""
    assert start.why(at(3), {}) == ""
    assert start.why(at(3), {ASSET.uri: {str(MONDAY): ["an early result"]}}) == ""
    assert (
        start.why(at(3), {ASSET.uri: {str(MONDAY): []}}) == "asset s3://lake/orders has its event"
    )


def test_so_are_those_that_complete_a_source(days):
    found = days(WhenComplete(source="orders"))
    orders, shops = found.spec.sources
    found.spec = replace(found.spec, sources=(replace(orders, complete_when=ASSET), shops))
    start = EarlyStart(opened(found), 1)
    assert start.why(at(3)) == ""
    assert start.why(at(3), {ASSET.uri: {str(MONDAY): []}}) == "orders is complete"


def test_a_run_that_starts_early_has_the_price_of_the_hour_and_what_is_there(tmp_path):
    """20 rows an hour came on the days before: three hours of 24."""
    rows = AfterRows(source="orders", rows=60)
    found = past_days(tmp_path, policy=policy(rows, rows))
    day = opened(found)
    own = read_times(day)
    found.deliver(MONDAY, 1, 60)
    times = start_early(day, 1, at(3), "60 new rows of orders")
    assert read_times(day) == times
    assert times.starts == (at(3), at(16), at(24))
    assert times.schedule.why == "run 1 starts: 60 new rows of orders"
    assert [point.weight for point in times.points] == [1.0, 0.2, 1.0]
    there = [point.fraction("orders") for point in times.points]
    assert there == pytest.approx([60 / 480, 320 / 480, 1.0], abs=0.01)
    asked = ask_for_run(day, 1, now=at(3))
    assert asked.request.points == times.points
    assert own.starts == (at(12), at(16), at(24))
    found.deliver(MONDAY, 2, 100)
    again = start_early(day, 2, at(8), "more")
    assert again.starts == (at(3), at(8), at(24))
    assert [point.weight for point in again.points] == [1.0, 0.2, 1.0]


def test_a_source_that_is_late_is_whole_at_the_final_run(tmp_path):
    found = past_days(tmp_path, policy=policy(Every(interval="+11:00")))
    day = opened(found)
    found.deliver(MONDAY, 1, 20)
    start, final = start_early(day, 1, at(11), "it is time").points
    assert start.fraction("orders") < 0.1
    assert final.fraction("orders") == 1.0


def test_without_a_history_rows_are_taken_to_come_evenly(days):
    found = days(Every(interval="+03:00"))
    day = opened(found)
    found.deliver(MONDAY, 1, 60)
    times = start_early(day, 1, at(3), "it is time")
    assert [point.fraction("orders") for point in times.points] == [3 / 24, 1.0]
