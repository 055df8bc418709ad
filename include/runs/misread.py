"""Plans days as batch whose text Spark reads otherwise than the planner."""

from __future__ import annotations

from dataclasses import replace

from forerun.include.state.commits import read_commit
from forerun.include.state.given_up import read_given_up
from forerun.include.state.layout import Generation
from forerun.include.state.verdicts import ReadingVerdict, newest_verdict
from forerun.include.stores.store import StoreReader
from forerun.planner.contract import Plan, ResultOutput, SourceInput, Stage, decode_plan
from forerun.planner.errors import SqlError
from forerun.planner.request import PlanRequest
from forerun.planner.sql.question import question_of


def why_by_the_text(store: StoreReader, request: PlanRequest) -> str:
    """Say why a day may only be computed by its text, as the newest verdict on it has it; empty if
    nothing is known against the plan."""
    try:
        question = question_of(request)
    except SqlError:
        return ""  # planning says it, with the place in the text
    verdict = newest_verdict(store, question.id)
    if verdict is None or verdict.outcome not in ("differs", "refused"):
        return ""
    return verdict.sentence


def verdict_on_run(store: StoreReader, at: Generation, run: int) -> ReadingVerdict | None:
    """Return what Spark has said last about the text of a run that was committed or has given up;
    None if it was not asked."""
    commit, given_up = read_commit(store, at, run), read_given_up(store, at, run)
    done = commit or (given_up.done if given_up else None)
    question = decode_plan(store.get(done.plan)).question if done else None
    return newest_verdict(store, question.id) if question else None


def is_by_the_text(plan: Plan) -> bool:
    """Return whether every stage of the current run is the user's own text."""
    text = _bare(plan.sql)
    return all(stage.sql == text for stage in plan.run.stages)


def by_the_text(plan: Plan, why: str) -> Plan | None:
    """Return the plan whose current run computes its result by the text, over all that has come;
    None for a run that gives no result."""
    question, run = plan.question, plan.run
    if question is None or not any(isinstance(s.output, ResultOutput) for s in run.stages):
        return None
    names = [table.name for table in question.tables]
    stage = Stage(
        id="result",
        title="the report, by its text",
        sql=_bare(plan.sql),
        inputs=tuple(SourceInput(view=n, source=n, version="snapshot") for n in names),
        output=ResultOutput(columns=question.columns, ordered=question.ordered),
        parameters=question.parameters,
        estimated_cost=round(plan.batch_run_cost),
    )
    cost = stage.estimated_cost
    now = replace(run, stages=(stage,), relies_on=(), estimated_cost=cost)
    runs = (*plan.runs[: plan.current - 1], now, *plan.runs[plan.current :])
    sources = tuple(replace(source, relies_not_null=()) for source in plan.sources)
    return replace(
        plan,
        method="batch",
        runs=runs,
        sources=sources,
        families=(),
        shared=(),
        not_incremental=(),
        batch_because=why,
    )


def _bare(text: str) -> str:
    return text.strip().rstrip(";").rstrip()
