"""A day whose times are chosen is shown at these times."""

from __future__ import annotations

from forerun.include.days.run_times import store_times
from forerun.include.oncall.day.records import read_day_records
from forerun.include.reports.run_policy import Retries
from forerun.include.runs.prepare import open_generation
from forerun.include.state.records import OpenedBy
from tests.include.days.past_days import MONDAY, PastDays, at, chosen_report, schedule


def test_points_and_weights_are_those_of_the_newest_schedule(tmp_path):
    days = PastDays(tmp_path, chosen_report(tmp_path))
    by = OpenedBy(
        dag_id="totals", run_id="r", mode="auto", group="", retries=Retries(count=0, pauses_s=0.0)
    )
    day = open_generation(days.store.root, days.spec, MONDAY, trigger="t", now=at(0), opened_by=by)
    own = read_day_records(days.store, "totals", MONDAY.isoformat())
    assert own.points == tuple(at(hour) for hour in (6, 12, 18, 24))
    assert own.weights == (0.2, 0.2, 0.8, 1.0)
    store_times(day, schedule(day, {1: 10, 4: 25}))
    chosen = read_day_records(days.store, "totals", MONDAY.isoformat())
    assert chosen.points == (at(10), at(25), at(25), at(25))
    assert chosen.weights == (0.2, 1.0, 1.0, 1.0)
