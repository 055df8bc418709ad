"""Where a day stands from its opening to its publication, from the records of real runs."""

from __future__ import annotations

import datetime as dt
import json
import re

import pytest

from forerun.include.days.instructions import Instruction, instruct
from forerun.include.oncall.day.standing import plan_sentence, standing
from forerun.include.state.failure import failure_of, forget_failure, record_failure
from forerun.include.state.records import CheckRecord
from forerun.planner.contract import decode_plan
from tests.include.oncall.dag_days import at, dag_day

LATE = ("orders: no _SUCCESS",)


def test_a_good_day_from_its_start_to_its_end(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    found = standing(case.read(), at(11))
    assert (found.state, found.what, found.severity) == ("ahead", "next is run 1", "calm")
    assert found.finish is None, "nothing is planned, and there is no history"
    case.plan(1, at(12))
    assert standing(case.read(), at(12, 1)).what == "run 1 is planned, and not committed yet"
    case.make(1, at(12))
    found = standing(case.read(), at(13))
    assert (found.state, found.what) == ("ahead", "next is the final run")
    assert found.finish.at > at(16)
    assert found.finish.why == case.read().safe.why
    assert found.finish.margin_s == (at(30) - found.finish.at).total_seconds() > 0
    case.deliver("2", (3, 4))
    case.plan(2, at(16))
    assert standing(case.read(), at(16, 1)).state == "working"
    case.make(2, at(16))
    assert "checked and published" in standing(case.read(), at(16, 5)).what
    case.publish(at(17))
    found = standing(case.read(), at(40))
    assert (found.state, found.severity, found.finish.done) == ("published", "good", True)
    assert found.finish.margin_s == 13 * 3600


@pytest.mark.parametrize(
    ("hour", "missing", "state", "what"),
    [
        (15, LATE, "ahead", "next is the final run"),
        (17, LATE, "waits", "waits for 1 source"),
        (16, (), "ahead", "the final run is due"),
        (18, (), "overdue", "the final run is due for 2 h, and nothing has planned it"),
        (31, LATE, "missed", "the deadline has passed; waits for orders: no _SUCCESS"),
    ],
)
def test_a_final_run_that_is_not_planned(tmp_path, hour, missing, state, what):
    case = dag_day(tmp_path)
    case.begin()
    case.make(1, at(12))
    found = standing(case.read(), at(hour), missing)
    assert (found.state, found.what) == (state, what)
    late = found.finish.why.startswith("if all were complete now: ")
    assert late is (bool(missing) and hour > 16)


def test_a_day_whose_forecast_passes_the_deadline_is_at_risk(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.make(1, at(12))
    now = at(30) - dt.timedelta(seconds=30)
    found = standing(case.read(), now)
    assert (found.state, found.severity) == ("at risk", "bad")
    assert found.finish.margin_s < 0


def test_a_deadline_that_has_passed_is_missed_whatever_is_known(tmp_path):
    """A report on its first days has no history, so nothing forecasts its finish."""
    case = dag_day(tmp_path)
    case.begin()
    records = case.read()
    assert standing(records, at(28), LATE).finish is None
    assert standing(records, at(28), LATE).state == "waits"
    found = standing(records, at(29, 1), LATE)
    assert (found.state, found.severity) == ("at risk", "bad")
    for hour, missing in ((30.5, LATE), (30.5, ()), (54, LATE)):
        found = standing(records, at(0) + dt.timedelta(hours=hour), missing)
        assert (found.state, found.severity) == ("missed", "bad")


def test_a_task_that_has_failed_for_good_is_the_first_thing_that_is_said(tmp_path):
    case = dag_day(tmp_path)
    day = case.begin()
    case.make(1, at(12))
    text = "[source-file] part-00.parquet is not a Parquet file\n  hint: It is truncated."
    failure = failure_of(text, task="run_2.plan", run=2, at=at(16, 3), tries=3)
    record_failure(case.store, day.at, failure)
    for hour in (17, 31):
        found = standing(case.read(), at(hour))
        assert (found.state, found.severity, found.finish) == ("failed", "bad", None)
        assert found.what == (
            "run_2.plan has failed: [source-file] part-00.parquet is not a Parquet file"
        )
    assert case.read().fatal.hint == "It is truncated."
    case.plan(2, at(17))
    assert standing(case.read(), at(17, 1)).state == "working", "what came later is newer"


def test_a_failure_that_is_forgotten_or_of_an_early_run_says_nothing(tmp_path):
    case = dag_day(tmp_path)
    day = case.begin()
    early = failure_of("gone", task="run_1.run", run=1, at=at(13), tries=1)
    record_failure(case.store, day.at, early)
    assert (early.code, early.message, early.hint) == ("", "gone", "")
    assert standing(case.read(), at(14)).state == "ahead"
    record_failure(case.store, day.at, failure_of("", task="run_2.run", run=2, at=at(16), tries=1))
    assert standing(case.read(), at(17)).what == "run_2.run has failed: it gave no reason"
    forget_failure(case.store, day.at, "run_2.run")
    assert standing(case.read(), at(16, 5)).state == "ahead"


def test_a_day_that_is_opened_after_its_deadline_is_not_late(tmp_path):
    case = dag_day(tmp_path)
    case.begin(at(100))
    case.make(1, at(100))
    found = standing(case.read(), at(100, 5))
    assert (found.deadline_counts, found.state) == (False, "overdue")
    case.make(2, at(101))
    case.publish(at(102))
    assert standing(case.read(), at(103)).state == "published"


def test_a_result_that_is_late_or_not_complete_says_so(tmp_path):
    case = dag_day(tmp_path / "late")
    case.begin()
    case.make(2, at(16))
    case.publish(at(32))
    found = standing(case.read(), at(33))
    assert (found.state, found.what) == ("late", "published 2 h after the deadline")
    case = dag_day(tmp_path / "incomplete")
    case.begin()
    case.commit(case.plan(2, at(16), incomplete=(("orders", "no _SUCCESS"),)))
    case.publish(at(17))
    found = standing(case.read(), at(18))
    assert (found.state, found.what) == ("incomplete", "published with 1 source not complete")


def test_a_critical_expectation_blocks_the_day(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.make(2, at(16), checks=(CheckRecord(target="result", key="c.json", critical=1),))
    found = standing(case.read(), at(17))
    assert (found.state, found.severity, found.finish) == ("blocked", "bad", None)
    assert found.what == (
        "1 critical expectation did not hold, nothing is published: run 2, result: c.json is lost, "
        "or cannot be read"
    )


def test_which_expectation_blocks_the_day_is_said_with_its_rows_until_somebody_overrules_it(
    tmp_path,
):
    case = dag_day(tmp_path)
    case.begin()
    finding = {
        "severity": "critical",
        "outcome": "failed",
        "sentence": "v >= 0",
        "rows": [{"v": -1}],
    }
    case.store.put("c.json", json.dumps({"findings": [finding, finding]}).encode())
    case.make(2, at(16), checks=(CheckRecord(target="result", key="c.json", critical=2),))
    failed = failure_of("1 critical", task="check", run=2, at=at(16, 5), tries=1)
    record_failure(case.store, case.handle.at, failed)
    found = standing(case.read(), at(17))
    line = 'run 2, result: v >= 0; such as {"v": -1}'
    assert found.what == (
        f"2 critical expectations did not hold, nothing is published: {line} (and 1 more)"
    )
    told = Instruction(
        kind="publish-anyway", by="anna", at=at(17).isoformat(), form="f", reason="ok"
    )
    instruct(case.store, case.handle.at, told)
    assert standing(case.read(), at(17, 1)).state == "working"
    case.publish(at(17, 2))
    found = standing(case.read(), at(18))
    assert (found.state, found.severity) == ("overruled", "warn")
    assert found.what == f"published all the same by anna: ok (did not hold: {line}; {line})"


def test_an_early_result_is_not_the_report(tmp_path):
    case = dag_day(tmp_path, results_at=(1,))
    case.begin()
    case.make(1, at(12))
    case.publish(at(12, 30), run=1)
    found = standing(case.read(), at(13))
    assert (found.state, found.what) == (
        "early result",
        "early result of run 1; next is the final run",
    )
    assert not found.finish.done
    assert standing(case.read(), at(31)).state == "missed"


def test_a_new_generation_is_not_published_by_what_the_old_one_published(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.make(2, at(16))
    case.publish(at(17))
    case.begin(at(18), run_id="r2")
    records = case.read()
    assert (records.at.generation, records.older) == ("2", 1)
    assert records.published.generation == 1
    assert standing(records, at(18)).state == "overdue"


def test_a_plan_in_a_sentence(tmp_path):
    assert plan_sentence(None) == "Nothing is planned yet."
    case = dag_day(tmp_path)
    case.begin()
    early = decode_plan(case.store.get(case.plan(1, at(12)).plan_key))
    said = r"Early work in run 1 keeps \d tables? for the final run: \d\.\d\d of batch\."
    assert re.fullmatch(said, plan_sentence(early))
    batch = decode_plan(case.store.get(case.plan(2, at(16), method="batch").plan_key))
    assert plan_sentence(batch) == "One run at the end with the report's own text."
