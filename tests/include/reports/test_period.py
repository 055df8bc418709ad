"""Reports about a week, a month or any calendar's period: their days, their times, their texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forerun.include.reports.parameters import day_parameters
from forerun.include.reports.period import Monthly, PeriodsFrom, Trailing, Weekly, days_from
from forerun.include.reports.run_policy import Choose
from forerun.include.reports.spec import (
    RunPolicy,
    RunTime,
    SpecError,
    decode_report,
    encode_report,
)
from forerun.include.reports.values.clock import parse_time
from forerun.planner.errors import ForerunError
from tests.airflow.reports import sales_report, sales_source

SUNDAY = date(2026, 3, 8)
FISCAL = PeriodsFrom(dates=("2026-02-01", "2026-03-01", "2026-03-29", "2026-05-03"))
ANY_DAY = st.dates(date(2000, 1, 1), date(2040, 12, 31))
PERIODS = [
    *(Weekly(starts=day) for day in ("mon", "wed", "sun")),
    *(Monthly(months=months) for months in (1, 2, 3, 4, 6, 12)),
]


def weekly(**changes):
    policy = RunPolicy(runs=(RunTime(at="-4d 12:00", weight=0.2), RunTime(at="24:00")))
    return sales_report(**{"period": Weekly(), "policy": policy, **changes})


@pytest.mark.parametrize("period", PERIODS, ids=str)
@given(day=ANY_DAY)
def test_periods_lie_side_by_side_and_each_day_is_in_one(period, day):
    first, last = period.bounds(day)
    assert first <= day <= last
    shortest, longest = period.days
    assert shortest <= (last - first).days + 1 <= longest
    assert {period.bounds(each) for each in (first, last)} == {(first, last)}
    assert period.bounds(last + timedelta(days=1))[0] == last + timedelta(days=1)


def test_weeks_and_months_of_a_calendar():
    assert Weekly().bounds(date(2026, 3, 4)) == (date(2026, 3, 2), SUNDAY)
    assert Weekly(starts="sun").bounds(SUNDAY) == (SUNDAY, date(2026, 3, 14))
    assert Monthly().bounds(date(2024, 2, 3)) == (date(2024, 2, 1), date(2024, 2, 29))
    assert Monthly(months=3).bounds(date(2026, 5, 9)) == (date(2026, 4, 1), date(2026, 6, 30))
    assert (Monthly().days, Monthly(months=3).days) == ((28, 31), (90, 92))


def test_any_calendar_by_the_days_on_which_its_periods_begin():
    assert FISCAL.bounds(date(2026, 3, 1)) == (date(2026, 3, 1), date(2026, 3, 28))
    assert FISCAL.bounds(date(2026, 5, 2)) == (date(2026, 3, 29), date(2026, 5, 2))
    assert FISCAL.days == (28, 35)
    for outside in (date(2026, 1, 31), date(2026, 5, 3)):
        with pytest.raises(SpecError, match="no period has 2026"):
            FISCAL.bounds(outside)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Monthly(months=5), "periods of 5 months"),
        (lambda: Weekly(starts="monday"), "'monday' is unknown"),
        (lambda: PeriodsFrom(dates=("2026-01-01",)), "where periods begin"),
        (lambda: PeriodsFrom(dates=("2026-02-01", "2026-01-01")), "where periods begin"),
        (lambda: Trailing(days_back=0), "0 days"),
        (lambda: Trailing(days_back=7, days_ago=-1), "-1 days ago"),
        (lambda: Trailing(days_back=7, days_ago=400), "7 days, 400 days ago"),
    ],
)
def test_what_is_no_period_is_refused(made, said):
    with pytest.raises(ForerunError, match=said):
        made()


def test_times_before_the_last_day():
    assert parse_time("-3d 12:00", "x").seconds == (12 - 3 * 24) * 3600
    spec = weekly(timezone="Europe/Berlin", deadline="30:00")
    # The clock goes forward on the last day: noon of Wednesday is still by winter time.
    last = date(2026, 3, 29)
    assert spec.points(last) == (
        datetime(2026, 3, 25, 11, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC),
    )  # fmt: skip
    assert spec.begins(last) == datetime(2026, 3, 22, 23, tzinfo=UTC)
    assert spec.deadline_on(last) == datetime(2026, 3, 30, 4, tzinfo=UTC)
    assert spec.due_after_s == ((6 * 24 + 30) * 3600,) * 2
    assert spec.date_text(last) == "2026-03-23 to 2026-03-29"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"period": None}, "before its day begins"),
        ({"policy": RunPolicy(runs=(RunTime(at="-7d 12:00"), RunTime(at="24:00")))}, "of 7 days"),
        ({"policy": RunPolicy(choose=Choose())}, "chooses the times"),
        ({"sources": (sales_source("/d", arrival="static", complete_when=None),)}, "is static"),
    ],
)
def test_what_a_period_cannot_have_is_refused(changes, said):
    with pytest.raises(SpecError, match=said):
        weekly(**changes)
    assert replace(weekly(), period=Monthly()).period == Monthly()


def test_a_source_has_the_folders_of_the_days_of_the_period():
    (source,) = weekly().sources
    assert list(source.folders_on(SUNDAY)) == [
        f"/data/sales/{day}" for day in days_from(date(2026, 3, 2), SUNDAY)
    ]
    monthly = sales_source("/d", path="/d/{yyyy}/{mm}", over=Monthly())
    assert monthly.folders_on(SUNDAY) == {"/d/2026/03": SUNDAY}
    alone = sales_source("/d", path="/d/all", over=Monthly())
    assert alone.folders_on(SUNDAY) == {"/d/all": SUNDAY}
    assert alone.pinned_as == "/d/all"


def test_a_daily_report_reads_the_month_to_date_or_the_last_days():
    to_date = sales_source("/d", over=Monthly())
    assert to_date.days_on(SUNDAY) == days_from(date(2026, 3, 1), SUNDAY)
    last = sales_source("/d", over=Trailing(days_back=3))
    assert last.days_on(SUNDAY) == days_from(date(2026, 3, 6), SUNDAY)
    before = sales_source("/d", over=Trailing(days_back=7, days_ago=7))
    assert before.days_on(SUNDAY) == days_from(date(2026, 2, 23), date(2026, 3, 1))
    # Each is another source than the day's own: they share no pins.
    assert len({one.pinned_as for one in (to_date, last, before, sales_source("/d"))}) == 4


def test_the_texts_of_a_period():
    week = {one.name: one.value for one in weekly().parameters_on(SUNDAY)}
    assert week == {
        "report_date": "2026-03-08", "report_start": "2026-03-02 00:00:00",
        "report_end": "2026-03-09 00:00:00", "period_start": "2026-03-02",
        "period_end": "2026-03-08",
    }  # fmt: skip
    day = {one.name: one.value for one in day_parameters(SUNDAY, weekly().zone)}
    assert day["period_start"] == day["period_end"] == day["report_date"]


def test_the_report_dates_of_a_range():
    assert weekly().report_dates(date(2026, 3, 4), date(2026, 3, 9)) == (SUNDAY, date(2026, 3, 15))
    assert sales_report().report_dates(SUNDAY, SUNDAY) == (SUNDAY,)


@pytest.mark.parametrize("period", [Weekly(starts="thu"), Monthly(months=3), FISCAL])
def test_json_keeps_the_period(period):
    spec = weekly(period=period)
    assert decode_report(encode_report(spec)) == spec
