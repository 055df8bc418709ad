"""What is told of a day: made from a real planned, committed and published one in a store."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import pytest

from forerun.include.runs.prepare import publish_result
from forerun.include.state.given_up import GivenUp, record_given_up
from forerun.include.state.records import RunCommit, RunMetrics
from forerun.include.telemetry.events import EVENTS, line
from forerun.include.telemetry.metrics import METRICS, samples
from forerun.include.telemetry.read_events import planned, published, run_ended, skipped
from tests.include.days.day_cases import NOW, DayCase

TOOK = RunMetrics(executor_cpu_s=2.0, process_cpu_s=5.0, wall_s=4.0, source_rows_read=7)


@pytest.fixture
def case(tmp_path):
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    case.deliver("one", (1, 10), (2, 20))
    return case


def values(event):
    return {one.metric.name: one.value for one in samples(event)}


def test_a_plan_is_told_with_what_it_rests_on(case):
    generation = case.open()
    prepared = case.prepare(generation, 1)
    event = planned(case.day(generation), prepared)
    plan = prepared.result.plan
    assert (event.report, event.run, event.part, event.submit) == ("totals", 1, "early", True)
    assert event.planned_cpu_s == plan.estimated_cost / 1e6 > 0
    assert event.batch_cpu_s == plan.batch_cost / 1e6 > 0
    assert (event.decided, event.plan) == ("early-work", prepared.plan_key)
    assert event.kept_bytes > 0
    assert values(event) == {
        "forerun.plan.made": 1,
        "forerun.plan.share": event.planned_cpu_s / event.batch_cpu_s,
    }


def test_a_run_that_is_committed_already_is_no_plan(case):
    generation = case.open()
    case.commit(case.prepare(generation, 1))
    assert planned(case.day(generation), case.prepare(generation, 1)) is None


def test_an_early_run_whose_plan_gives_it_nothing_counts_as_left_out(case):
    generation = case.open()
    event = planned(case.day(generation), case.prepare(generation, 1))
    idle = replace(event, submit=False)
    assert values(idle)["forerun.run.skipped"] == 1
    assert values(skipped(case.day(generation), 1, "late")) == {"forerun.run.skipped": 1}


def test_how_a_run_ended_is_what_the_store_has(case):
    generation = case.open()
    prepared, day = case.prepare(generation, 1), case.day(generation)
    failed = run_ended(day, 1, "early", "[killed] by signal 9")
    assert (failed.outcome, failed.why) == ("failed", "[killed] by signal 9")
    assert values(failed) == {"forerun.run.ended": 1}
    commit = case.commit(prepared, metrics=TOOK)
    event = run_ended(day, 1, "early")
    assert (event.outcome, event.attempt, event.weight) == ("committed", "a1", 0.25)
    kept = sum(part.bytes for part in commit.artifacts)
    assert kept > 0
    assert values(event) == {
        "forerun.run.ended": 1,
        "forerun.run.wall": 4.0,
        "forerun.run.cpu": 5.0,
        "forerun.run.rows": 7,
        "forerun.run.kept_bytes": kept,
    }


def test_a_run_that_gave_up_says_why(case):
    generation = case.open()
    prepared, day = case.prepare(generation, 1), case.day(generation)
    done = RunCommit(
        run=1, base=0, attempt="a1", plan=prepared.plan_key, committed_at="", metrics=TOOK
    )
    record_given_up(case.store, day.at, GivenUp(why="too dear", done=done))
    event = run_ended(day, 1, "early")
    assert (event.outcome, event.why, event.cpu_s) == ("given-up", "too dear", 5.0)


def test_a_publication_has_margin_cost_and_the_age_of_state(case):
    generation = case.open()
    case.commit(case.prepare(generation, 1), metrics=TOOK)
    case.deliver("two", (1, 1))
    case.commit(case.prepare(generation, 2), metrics=TOOK)
    day = case.day(generation)
    event = published(day, publish_result(day, now=NOW + dt.timedelta(minutes=10)))
    # Opened at one in the night, due at six.
    assert event.margin_s == 5 * 3600 - 600
    assert event.measured_cpu_s == 0.25 * 5 + 1.25 * 5
    assert (event.state_age_s, event.incomplete, event.part) == (600, (), "final")
    names = values(event)
    assert names["forerun.publish.margin"] == event.margin_s
    assert names["forerun.day.cost"] == event.measured_cpu_s
    assert ("forerun.day.batch_cost" in names) is (event.batch_cpu_s is not None)


def test_a_day_that_is_opened_after_its_deadline_has_no_margin(case, monkeypatch):
    monkeypatch.setattr("tests.include.days.day_cases.NOW", NOW + dt.timedelta(days=2))
    generation = case.open()
    case.commit(case.prepare(generation, 2), metrics=TOOK)
    day = case.day(generation)
    event = published(day, publish_result(day, now=NOW + dt.timedelta(days=2)))
    assert event.margin_s is None
    assert "forerun.publish.margin" not in values(event)


def test_a_line_is_json_that_names_the_event_and_holds_no_sql(case):
    generation = case.open()
    said = line(planned(case.day(generation), case.prepare(generation, 1)))
    assert "\n" not in said
    assert json.loads(said)["event"] == "planned"
    assert "SELECT" not in said.upper()


def test_names_are_used_once():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({event.name for event in EVENTS}) == len(EVENTS)
