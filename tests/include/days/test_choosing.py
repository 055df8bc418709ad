"""The times of a day, chosen from what a store knows, and chosen again as the day goes on."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from forerun.include.days.handle import Day
from forerun.include.days.run_times import own_times, read_times, store_times
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.values.hours import Hours
from forerun.include.runs.prepare import prepare_run
from forerun.include.state.records import encode
from forerun.include.times.choosing import Decision, NothingToChooseError, _Choosing, choose_day
from forerun.planner.contract.codec import to_json
from forerun.planner.contract.seal import seal
from tests.include.days.past_days import (
    BERLIN,
    MONDAY,
    PastDays,
    ago,
    at,
    chosen_report,
    ledger,
    opened,
    past_days,
    schedule,
)

ONCE = Retries(count=0, pauses_s=0.0)


@pytest.fixture
def past(tmp_path) -> PastDays:
    return past_days(tmp_path)


def choose(day: Day, hours: float, before: int = 1, **more):
    return choose_day(day, Decision(before=before, now=at(hours), retries=ONCE, **more))


def hours_of(times) -> list[float | None]:
    """When the slots are, in hours after the day's start."""
    return [
        None if start is None else round((start - at(0)).total_seconds() / 3600, 2)
        for start in times.starts
    ]


def test_early_runs_are_where_compute_is_cheap(past):
    times = choose(opened(past), 0)
    hours = hours_of(times)
    early = [hour for hour in hours[:-1] if hour is not None]
    assert early
    assert any(16 < hour < 18 for hour in early)  # the last of the cheap hours has most of the rows
    assert hours[-1] == 24
    assert "below batch" in times.schedule.why
    assert not times.forced
    prices = [0.2 if 6 <= hour < 18 else 0.8 for hour in early]
    assert [one.weight for one in times.schedule.runs] == [*prices, 1.0]


def test_what_was_chosen_is_what_runs_are_planned_with(past):
    day = opened(past)
    times = choose(day, 0)
    for number in range(17):
        past.deliver(MONDAY, number, 20)
    start = times.starts[0]
    prepared = prepare_run(day, 1, now=start)
    used = [run for run, start in enumerate(times.starts, 1) if start is not None]
    assert [run.index for run in prepared.result.plan.runs if run.opened] == used
    assert next(run.weight for run in prepared.result.plan.runs if run.opened) == 0.2


def test_without_a_history_the_report_s_own_times_hold(past, tmp_path):
    bare = PastDays(tmp_path / "bare", past.spec)
    day = opened(bare)
    with pytest.raises(NothingToChooseError, match="no run of it is in the ledger"):
        choose(day, 0)
    assert read_times(day) == own_times(day)
    assert hours_of(read_times(day)) == [6, 12, 18, 24]
    ledger(bare, ago(1))
    with pytest.raises(NothingToChooseError, match="no past day tells when rows of orders come"):
        choose(day, 0)


def test_a_source_that_is_late_moves_the_rest_of_the_day(past):
    """At 17:00 there is what past days had at 15:00: all that is to come is taken to be two hours
    late. The final run waits for the source, and for no forecast of it."""
    past.spec = replace(past.spec, deadline="30:00")
    day = opened(past)
    first = choose(day, 0)
    past.deliver(MONDAY, 0, 300)
    again = choose(day, 17, before=2)
    assert again.number == first.number + 1
    assert read_times(day).schedule == again.schedule
    assert hours_of(again)[0] == hours_of(first)[0]  # what has gone by stays
    assert hours_of(again)[-1] == 24
    there = {one.run: dict(one.arrived)["orders"] for one in again.schedule.runs}
    rest = [(run, hour) for run, hour in enumerate(hours_of(again), 1) if hour and run > 1]
    assert len(rest) > 1
    assert [there[run] for run, _ in rest] == pytest.approx(
        [*((hour - 2) / 24 for _, hour in rest[:-1]), 1], abs=0.01
    )


def test_a_smaller_and_a_larger_day_are_told_from_a_late_one(past):
    past.day(ago(4), (12, 120), (24, 240))
    ledger(past, ago(4))
    day = opened(past)
    past.deliver(MONDAY, 0, 150)  # at noon: a day of 300 rows, within what days were
    assert hours_of(choose(day, 12))[-1] == 24
    past.deliver(MONDAY, 1, 300)
    assert hours_of(choose(day, 12))[-1] == 24  # a day of 900


def test_a_source_that_is_complete_leaves_the_final_run_at_its_own_time(past):
    day = opened(past)
    past.deliver(MONDAY, 0, 480)
    times = choose(day, 12, complete=True)
    assert times.schedule.complete
    assert hours_of(times)[-1] == 24
    assert all(dict(one.arrived) == {"orders": 1.0} for one in times.schedule.runs)


def test_where_batch_is_too_slow_early_runs_are_opened_whatever_they_cost(past):
    """No hour is cheaper than the night; a batch takes 110 minutes and the report is due 60 minutes
    after midnight."""
    flat = (Hours(start="00:00", end="24:00", value=1.0),)
    past.spec = replace(past.spec, deadline="25:00", policy=replace(past.spec.policy, prices=flat))
    for back in (3, 2, 1):
        ledger(past, ago(back), wall_s=6600.0)
    times = choose(opened(past), 0)
    assert times.forced
    assert [start for start in times.starts[:-1] if start is not None]
    assert "one batch would miss the deadline" in times.schedule.why
    assert times.schedule.missing_s == 0
    calm = replace(past.spec, deadline="40:00")
    past.spec = calm
    assert not choose(opened(past), 0).forced


def test_what_a_batch_takes_does_not_depend_on_its_price(past):
    """100 CPU seconds at a fifth of the price are 20 in the ledger."""
    for back in (3, 2, 1):
        ledger(past, ago(back), weight=0.2)
    asked = Decision(before=1, now=at(0), retries=ONCE)
    assert _Choosing(opened(past), asked)._batch_s == pytest.approx(100.0)


def test_the_final_run_waits_for_a_lower_price_and_not_beyond_what_is_safe(past):
    prices = (
        Hours(start="00:00", end="01:00", value=1.0),
        Hours(start="01:00", end="03:00", value=0.3),
        Hours(start="03:00", end="24:00", value=0.9),
    )
    past.spec = replace(
        past.spec, deadline="30:00", policy=replace(past.spec.policy, prices=prices)
    )
    assert hours_of(choose(opened(past), 0))[-1] == 25
    past.spec = replace(past.spec, deadline="25:05")
    assert hours_of(choose(opened(past), 0))[-1] == 24


@pytest.mark.parametrize(
    ("day", "hours"), [(dt.date(2026, 3, 29), 23), (dt.date(2026, 10, 25), 25)]
)
def test_prices_follow_the_clock_on_days_when_it_changes(past, day, hours):
    """The final run is at the midnight that ends the day, and runs cost what the clock says."""
    for back in (3, 2, 1):
        before = day - dt.timedelta(days=back)
        past.day(before, *((hour, 20 * hour) for hour in (6, 12, 18, 24)))
        ledger(past, before)
    handle = opened(past, day)
    times = choose_day(handle, Decision(before=1, now=at(0, day), retries=ONCE))
    starts = [start.astimezone(BERLIN) for start in times.starts if start is not None]
    assert (starts[-1].hour, starts[-1].day) == (0, (day + dt.timedelta(days=1)).day)
    assert (starts[-1].astimezone(dt.UTC) - at(0, day)) == dt.timedelta(hours=hours)
    assert len(starts) > 1
    prices = {one.run: one.weight for one in times.schedule.runs}
    for run, start in enumerate(times.starts[:-1], 1):
        if start is not None:
            cheap = 6 <= start.astimezone(BERLIN).hour < 18
            assert prices[run] == (0.2 if cheap else 0.8)


class TestRecord:
    @pytest.fixture
    def day(self, tmp_path) -> Day:
        """A day whose schedule has runs in slots 1, 2 and 4."""
        day = opened(PastDays(tmp_path, chosen_report(tmp_path)))
        store_times(day, schedule(day, {1: 10, 2: 17, 4: 24}))
        return day

    def test_slots_without_a_run_are_like_the_next_one(self, day):
        times = read_times(day)
        assert hours_of(times) == [10, 17, None, 24]
        assert times.instants == (at(10), at(17), at(24), at(24))
        assert (times.after(1), times.after(2)) == (at(17), at(24))
        assert times.may_open == (1, 2)
        assert [point.weight for point in times.points] == [0.2, 0.2, 1.0, 1.0]
        assert own_times(day).may_open is None

    def test_a_damaged_schedule_is_passed_over_with_a_warning(self, day, caplog):
        key = day.at.schedule(1)
        day.store.put(key, day.store.get(key).replace(b'"before": 1', b'"before": 2'))
        assert read_times(day) == own_times(day)
        assert "the report's own times hold" in caplog.text
        assert "checksum" in caplog.text

    def test_so_is_one_of_a_newer_version(self, day, caplog):
        header = {"record": "RunSchedule", "record_version": 3}
        record = to_json(read_times(day).schedule)
        day.store.put(day.at.schedule(2), seal({**header, **record}))
        assert read_times(day) == own_times(day)
        assert "version 3" in caplog.text

    def test_so_is_one_that_does_not_fit_the_report(self, day, caplog):
        good = read_times(day).schedule
        first, last = good.runs[0], good.runs[-1]
        for number, runs in enumerate(
            (
                (),
                good.runs[:-1],
                (*good.runs[:-1], replace(last, run=5)),
                (replace(first, run=0), last),
                (first, first, last),
                (replace(first, at="noon"), last),
                (replace(first, at="2026-03-02T12:00"), last),
                (replace(first, at="2027-03-02T12:00Z"), last),
            ),
            start=2,
        ):
            wrong = replace(good, runs=runs, number=number)
            day.store.put(day.at.schedule(number), encode(wrong))
            assert read_times(day) == own_times(day)
            assert f"schedule {number} of totals, 2026-03-02, does not fit" in caplog.text
        assert store_times(day, good).number == 10
        assert read_times(day).starts == store_times(day, good).starts

    def test_runs_are_planned_all_the_same(self, tmp_path):
        past = PastDays(tmp_path, chosen_report(tmp_path))
        day = opened(past)
        day.store.put(day.at.schedule(1), b"{")
        past.deliver(MONDAY, 0, 480)
        assert prepare_run(day, 4, now=at(24)).result.plan.run.opened
