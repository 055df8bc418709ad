"""Asks, before the first stage, whether Spark reads the report's text as the planner has.

A plan is of what the planner has read; batch is of what Spark reads. Where the two are not the
same, which of them would be published would depend on what was cheaper that day. So Spark is asked
once for a text, its settings and its version, and where it says no, only the text counts: a run
that gives the result computes it by the text, another one gives up, and the next ones are planned
so from the start (:mod:`forerun.include.runs.misread`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from forerun.include.machine.wall_clock import utc_now
from forerun.include.runs.misread import by_the_text, is_by_the_text
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.verdicts import ReadingVerdict, read_verdict, record_verdict
from forerun.planner.contract import encode_plan
from forerun.planner.contract.parameters import value_of
from forerun.planner.contract.plan_v1 import Question
from forerun.planner.errors import ForerunError
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.failures import explained


class RefusedTextError(ForerunError):
    """Spark cannot analyze a report's text, whatever the planner makes of it."""

    code = "text-refused"


def verdict_on(
    engine: Engine, stored: StoredPlan, clock: Callable[[], datetime]
) -> ReadingVerdict | None:
    """Return what this engine says of a plan's text: from the store, or asked now. None for a plan
    of an older version."""
    question = stored.plan.question
    if question is None:
        return None
    with explained("setting the report's session"):
        engine.configure(stored.plan.session)  # constants are folded by it, or fail
    judge = engine.judge()
    if judge and (known := read_verdict(stored.store, question.id, judge)) is not None:
        return known
    verdict = asked(engine, question, stored.plan.sql, clock)
    if judge:
        record_verdict(stored.store, question.id, judge, verdict)
    return verdict


def why_not_as_planned(engine: Engine, plans: Sequence[StoredPlan]) -> str:
    """Say why the engine would not do some of these runs as they are planned; empty if it would. A
    text that it cannot take at all is for its own run to fail with."""
    for stored in plans:
        try:
            verdict = verdict_on(engine, stored, utc_now)
        except ForerunError as error:
            return error.message
        if verdict is not None and verdict.outcome in ("differs", "refused"):
            return verdict.sentence
    return ""


def asked(
    engine: Engine, question: Question, text: str, clock: Callable[[], datetime]
) -> ReadingVerdict:
    """Ask an engine whether it reads a text as it was read."""
    values = {one.name: value_of(one) for one in question.parameters}
    with explained("asking how the text is read"):
        answer = engine.compared(question.tables, _bare(text), question.reading, values)
    return ReadingVerdict(
        outcome=answer.outcome,
        why=answer.why,
        by=engine.judge().rpartition("-")[0].replace("-", " ").capitalize() or engine.name,
        judged_at=clock().isoformat(timespec="seconds"),
        cpu_ms=answer.cpu_ms,
    )


def as_judged(stored: StoredPlan, attempt: str, verdict: ReadingVerdict) -> StoredPlan | None:
    """Return the plan that a verdict leaves: as it is, the text in place of its stages, or None for
    a run that has nothing to do then. Raises :class:`RefusedTextError` where Spark refuses the
    text."""
    if verdict.outcome == "refused":
        raise RefusedTextError(
            f"report {stored.plan.report} cannot run: {verdict.sentence}",
            hint="Correct the text; `forerun check` asks Spark before anything runs.",
        )
    if verdict.outcome != "differs" or is_by_the_text(stored.plan):
        return stored
    plan = by_the_text(stored.plan, verdict.sentence)
    if plan is None:
        return None
    key = stored.at.plan(plan.current, f"text-{attempt}")
    stored.store.put(key, encode_plan(plan))
    return replace(stored, key=key, plan=plan)


def _bare(text: str) -> str:
    return text.strip().rstrip(";").rstrip()
