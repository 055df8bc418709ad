"""Days whose text Spark reads otherwise than the planner: planned as batch, with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.runs.misread import by_the_text, is_by_the_text
from forerun.include.runs.prepare import PreparedRun, prepare_run
from forerun.include.state.verdicts import (
    ReadingVerdict,
    newest_verdict,
    read_verdict,
    record_verdict,
)
from forerun.planner.contract import Plan, decode_plan
from forerun.planner.sql.question import question_of
from tests.include.days.day_cases import NOW, DayCase
from tests.include.days.test_losing_days import FREE, POINTS

DIFFERS = ReadingVerdict(
    outcome="differs",
    why="the text has (a & b), what was read has (a | b)",
    by="Spark 4.1.4",
    judged_at="2026-01-01T00:00:00+00:00",
    cpu_ms=50,
)
LATER = "2026-01-02T00:00:00+00:00"


@pytest.fixture
def case(tmp_path) -> DayCase:
    case = DayCase(tmp_path, f"{tmp_path}/store")
    case.deliver("1", *((i % 7, i) for i in range(500)))
    return case


def prepared(case: DayCase, run: int, method: str = "auto") -> PreparedRun:
    day = case.day(case.open())
    return prepare_run(day, run, now=NOW, method=method, points=POINTS, settings=FREE)


def planned(case: DayCase, run: int, method: str = "auto") -> Plan:
    return prepared(case, run, method).result.plan


@pytest.mark.parametrize("method", ["auto", "progressive", "im1"])
def test_a_day_that_is_read_otherwise_is_batch_whatever_was_asked_for(case, method):
    plan = planned(case, 1, method)
    assert plan.method == "incremental"
    assert "`" in plan.question.reading
    record_verdict(case.store, plan.question.id, "spark-4.1.4-1", DIFFERS)
    first = prepared(case, 1, method)
    assert first.skip_reason == "the plan gives this run nothing to do"
    final = planned(case, 2, method)
    assert is_by_the_text(final)
    assert "reads the text otherwise than it was planned" in final.batch_because
    assert "(a & b)" in final.batch_because


def test_the_newest_verdict_counts_and_the_first_of_a_judge(case):
    question = planned(case, 1).question.id
    record_verdict(case.store, question, "spark-4.1.4-1", DIFFERS)
    same = replace(DIFFERS, outcome="same", why="", judged_at=LATER)
    record_verdict(case.store, question, "spark-4.1.4-1", same)
    assert read_verdict(case.store, question, "spark-4.1.4-1") == DIFFERS
    record_verdict(case.store, question, "spark-4.2.0-1", same)
    assert newest_verdict(case.store, question) == same
    assert planned(case, 1).method == "incremental"


def test_the_question_changes_with_the_text_and_the_tables_and_not_with_the_day(case):
    found = prepared(case, 1).result
    one, request = found.plan.question, found.request
    assert question_of(replace(request, sql=request.sql + " -- another")).id != one.id
    session = (*request.settings.session, ("spark.sql.legacy.x", "1"))
    settings = replace(request.settings, session=session)
    assert question_of(replace(request, settings=settings)).id != one.id
    case.deliver("2", (1, 1))
    assert planned(case, 2).question.id == one.id


def test_the_text_takes_the_place_of_the_stages_that_give_the_result(case):
    early, final = planned(case, 1), planned(case, 2)
    assert by_the_text(early, "because") is None
    text = by_the_text(final, "because")
    assert is_by_the_text(text)
    assert not is_by_the_text(final)
    assert (text.method, text.batch_because, text.families) == ("batch", "because", ())
    assert text.run.stages[0].output == final.run.stages[-1].output
    assert text.runs[0] == final.runs[0]


def test_plans_of_older_versions_have_no_question(case):
    from forerun.planner.contract.codec import to_json
    from forerun.planner.contract.seal import seal

    raw = to_json(planned(case, 1))
    del raw["question"]
    assert decode_plan(seal(raw)).question is None
