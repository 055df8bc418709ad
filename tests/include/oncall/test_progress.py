"""What a page says that Airflow does, after somebody has told a day something."""

from __future__ import annotations

import datetime as dt

from forerun.include.oncall.day.actions import DagRunState
from forerun.include.oncall.day.progress import progress_of
from forerun.include.oncall.day.standing import standing
from tests.include.oncall.dag_days import at, dag_day
from tests.include.oncall.test_actions import tell


def test_tasks_by_what_they_do_the_most_telling_first():
    tasks = {
        "open_day": "success",
        "run_1.plan": "skipped",
        "run_2.wait": "deferred",
        "watch": "deferred",
        "run_2.run": "running",
        "check": "",
    }
    assert progress_of(DagRunState(state="running", tasks=tasks)) == (
        "at work: run_2.run",
        "waiting: run_2.wait, watch",
        "2 of 6 tasks have ended well or were skipped",
    )


def test_a_day_that_was_told_something_says_so_before_its_tasks_have_woken(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.plan(1, at(12))
    assert standing(case.read(), at(13)).what == "run 1 is planned, and not committed yet"
    other = dag_day(tmp_path / "other")
    other.begin()
    assert standing(other.read(), at(11)).what == "next is run 1"
    tell(other, "skip-early")
    assert standing(other.read(), at(11)).what == "next is the final run"
    tell(other, "batch")
    found = standing(other.read(), at(11))
    assert found.what == "batch is to begin, as anna has said"
    assert found.finish is None, "nothing forecasts what batch takes"


def test_batch_that_was_told_is_forecast_from_now_on(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.make(1, at(12))
    tell(case, "batch")
    records = case.read()
    finish = standing(records, at(13)).finish
    if records.batch_wall_s is None:
        assert finish is None
    else:
        assert finish.at - at(13) < dt.timedelta(seconds=records.batch_wall_s + 600)
        assert finish.why.startswith("batch, at once")
