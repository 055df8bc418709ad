"""When somebody is woken, before it is too late for batch, and what they are told."""

from __future__ import annotations

import datetime as dt
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.oncall.alerts import alert_of, watch
from forerun.include.oncall.remedies import BATCH_SHARES
from forerun.include.state.failure import failure_of, record_failure
from forerun.include.state.records import CheckRecord
from forerun.include.times.safe_start import AROUND_S
from tests.include.oncall.dag_days import DATE, at, dag_day

LATE = ("orders: no _SUCCESS",)


@pytest.fixture
def case(tmp_path):
    found = dag_day(tmp_path)
    found.begin()
    found.make(1, at(12))
    return found


def first_wrong(records, missing=LATE, poll=dt.timedelta(minutes=1)):
    """When a watch that looks every minute from noon on warns, and why."""
    now = at(12, 1)
    while now < records.deadline + dt.timedelta(hours=1):
        watched = watch(records, now, missing)
        if watched.wrong:
            return now, watched
        now += poll
    return None, None


def with_walls(records, batch_s, final_s):
    """The day with other forecasts: of batch, and of what is left for the final run."""
    needed = 3 * final_s + 60 + AROUND_S
    at_latest = records.spec.latest_safe_start(records.date, dt.timedelta(seconds=needed))
    safe = replace(records.safe, wall_s=final_s, needed_s=needed, at=at_latest)
    return replace(records, batch_wall_s=batch_s, safe=safe)


def test_a_source_that_stays_away_is_warned_of_at_the_latest_safe_start(case):
    records = with_walls(case.read(), 600.0, 120.0)
    when, watched = first_wrong(records)
    assert when == records.safe.at == at(29), "an hour is kept free"
    assert watched.wrong == "the latest safe start has passed; waits for orders: no _SUCCESS"
    assert first_wrong(records, missing=())[0] == at(29, 5), "nothing has planned it: Airflow?"


def test_of_many_nights_each_warning_leaves_time_for_batch(case):
    """Where the final run's own time leaves any: else it comes as soon as it can be known."""
    records, drawn = case.read(), random.Random(5)
    for _ in range(200):
        batch_s = drawn.uniform(20, 11 * 3600)
        shown = with_walls(records, batch_s, batch_s * drawn.uniform(0.1, 1.0))
        when, _ = first_wrong(shown, poll=dt.timedelta(minutes=10))
        left = (shown.deadline - when).total_seconds()
        assert left >= batch_s - 600, "the watch of this test looks every ten minutes"
    never = with_walls(records, 20 * 3600.0, 15 * 3600.0)
    when, watched = first_wrong(never)
    assert when == at(12, 1), "it cannot be in time, which is known from the first plan on"
    assert "after the deadline" in watched.wrong


def test_a_final_run_that_hangs_is_warned_of_while_batch_could_follow(case):
    case.plan(2, at(16))
    records = with_walls(case.read(), 3600.0, 600.0)
    when, watched = first_wrong(records, missing=())
    assert when == at(28, 59)
    assert watched.wrong.startswith("the final run takes longer than forecast")


def test_a_final_run_that_began_late_is_given_the_time_that_it_was_forecast_to_take(case):
    case.plan(2, at(29, 15))
    records = with_walls(case.read(), 3600.0, 1800.0)
    when, _ = first_wrong(records, missing=())
    assert when == at(29, 46)


def test_what_goes_on_by_itself_is_no_reason(case):
    records = with_walls(case.read(), 600.0, 120.0)
    spec = replace(records.spec, on_incomplete="publish_with_warning")
    assert first_wrong(replace(records, spec=spec))[0] == at(29, 5), "it should begin at five"
    case.make(2, at(16))
    assert watch(case.read(), at(16, 5)).wrong == ""
    case.publish(at(17))
    watched = watch(case.read(), at(31))
    assert (watched.over, watched.wrong) == (True, "")


def test_a_day_that_is_blocked_or_late_says_so(case):
    case.make(2, at(16), checks=(CheckRecord(target="orders", key="k", critical=1),))
    assert "1 critical expectation did not hold" in watch(case.read(), at(17)).wrong
    alert = alert_of(case.store, watch(case.read(), at(17)), at(17), kind="warning", page="p")
    assert alert.to_do[0].startswith("put right the data")


def test_an_alert_says_all_that_is_needed_at_three_in_the_morning(case):
    records = with_walls(case.read(), 600.0, 120.0)
    watched = watch(records, at(29), LATE)
    alert = alert_of(case.store, watched, at(29), kind="warning", page="http://air/x")
    assert alert.text.splitlines() == [
        f"WARNING: totals of {DATE}, due 2026-03-02 06:00 UTC, 60 min left",
        "What: the latest safe start has passed; waits for orders: no _SUCCESS",
        "Impact: readers have nothing of this day",
        "Last good version: none",
        "To do: deliver: orders: no _SUCCESS",
        "To do: run batch now, without what is missing, from the page: published at 05:11, in time",
        "Page: http://air/x",
        "Owner: forerun",
    ]
    missed = alert_of(case.store, watch(records, at(31), LATE), at(31), kind="missed", page="")
    assert missed.minutes_left == -60
    assert "deadline passed" in missed.text
    assert missed.to_do[-1].endswith("late: tell the readers")


@pytest.mark.parametrize(
    ("code", "batch", "advice"),
    [
        ("source-file", False, "then clear the task run_2.plan of the DAG run"),
        ("artifact", False, "or run batch now, from the page"),
        ("artifact", True, "then clear the task run_2.plan of the DAG run"),
        ("store-full", False, "then clear the task run_2.plan of the DAG run"),
    ],
)
def test_a_failure_is_told_at_once_and_never_what_has_just_failed(case, code, batch, advice):
    if batch:
        case.plan(2, at(16), method="batch")
    failure = failure_of(
        f"[{code}] it broke\n  hint: Mend it.", task="run_2.plan", run=2, at=at(16, 3), tries=3
    )
    record_failure(case.store, case.handle.at, failure)
    records = case.read()
    watched = watch(records, at(16, 4))
    assert watched.wrong == f"run_2.plan has failed: [{code}] it broke"
    alert = alert_of(case.store, watched, at(16, 4), kind="warning", page="here")
    assert alert.to_do == ("Mend it.", advice)
    assert alert.what == watched.wrong


def test_every_code_that_batch_shares_is_a_code():
    import forerun.include
    import forerun.planner
    import forerun.spark_jobs

    folders = [
        Path(one.__path__[0]) for one in (forerun.include, forerun.planner, forerun.spark_jobs)
    ]
    texts = [path.read_text() for folder in folders for path in folder.rglob("*.py")]
    codes = {code for text in texts for code in re.findall(r'code = "([a-z-]+)"', text)}
    assert BATCH_SHARES - codes == set()
