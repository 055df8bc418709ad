"""One run, from its plan to its commit. Pure orchestration: the engine, the store and the plan are
given, and nothing but the store remembers what was done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from forerun.include.machine.cpu_meter import Meter
from forerun.include.machine.wall_clock import utc_now
from forerun.include.runs.overrun import why_stop
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.commits import commit_run, read_commit
from forerun.include.state.given_up import GivenUp, record_given_up
from forerun.include.state.layout import RESULT_FAMILY
from forerun.include.state.records import ArtifactPartition, CheckRecord, RunCommit, StageRecord
from forerun.planner.errors import ContractError, ForerunError
from forerun.spark_jobs.checks.run_checks import check_result, check_sources
from forerun.spark_jobs.declarations import check_declarations
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.failures import StageError, explained
from forerun.spark_jobs.inputs import (
    bind_inputs,
    bound,
    load_inputs,
    verify_inputs,
    verify_read,
)
from forerun.spark_jobs.judged import as_judged, verdict_on
from forerun.spark_jobs.metrics import run_metrics
from forerun.spark_jobs.stages import run_stage
from forerun.spark_jobs.work import Work

_LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]


class GivenUpError(ForerunError):
    """An early run has stopped itself: its stages are too dear for what the day can save by it."""

    code = "given-up"


def execute(
    engine: Engine,
    stored: StoredPlan,
    attempt: str,
    progress: Progress = _LOG.info,
    meter: Meter | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> RunCommit:
    """Do the run that a stored plan is of, and commit it; return the commit that counts.

    Compare its ``attempt`` to know whether this attempt won: another one may have committed first,
    then nothing is changed. A retry takes over the stages that earlier attempts have finished.
    ``meter`` measures the run; without one, from the start of this call. ``clock`` dates the run.
    Raises a ``ForerunError`` for everything that a person can act on, with nothing committed; and
    :class:`GivenUpError` for a run that stops itself.
    """
    store, at, plan = stored.store, stored.at, stored.plan
    meter = meter or Meter()
    if (winner := read_commit(store, at, plan.current)) is not None:
        return winner
    stored = _judged(engine, stored, attempt, progress, meter, clock)
    plan = stored.plan
    inputs = load_inputs(store, at, plan)
    verify_inputs(engine, store, inputs)
    work = Work(engine, store, inputs, attempt, clock)
    with _what_vanished(work):
        with engine.working_on(work.label("bind")), explained("reading the inputs"):
            engine.configure(plan.session)
            bind_inputs(engine, store, inputs)
        check_declarations(work)
        with explained("checking what came"):
            checks = check_sources(work, progress)
        records = _run_stages(work, progress)
    if len(records) < len(plan.run.stages):
        why = why_stop(plan, [record.metrics for record in records])
        raise _given_up(work, stored, records, meter, why)
    outputs = [record.output for record in records]
    result = next((o for o in outputs if o.family == RESULT_FAMILY), None)
    if result is not None and inputs.manifest.final:  # an early one is of a part of the day
        checks += check_result(work, result, progress)
    # What changed while it was being read must not be committed.
    verify_read(store, inputs, outputs)
    commit = _done(work, stored, records, meter)
    commit = replace(commit, result=result, checks=tuple(checks))
    winner = commit_run(store, at, commit)
    progress(_verdict(winner, attempt, commit.checks))
    return winner


@contextmanager
def _what_vanished(work: Work) -> Iterator[None]:
    """Where the engine fails, look again at all that the run reads: files and kept state that were
    changed or taken away since they were verified are the better explanation."""
    try:
        yield
    except StageError:
        verify_read(work.store, work.inputs, ())
        raise


def _done(
    work: Work, stored: StoredPlan, records: Sequence[StageRecord], meter: Meter
) -> RunCommit:
    """Return the commit of what the run has done by now, without its result."""
    kept = {family.id for family in stored.plan.kept}
    return RunCommit(
        run=stored.plan.current,
        base=work.inputs.manifest.own_base,
        attempt=work.attempt,
        plan=stored.key,
        committed_at=work.clock().isoformat(timespec="seconds"),
        artifacts=tuple(r.output for r in records if r.output.family in kept),
        metrics=run_metrics(work, records, meter),
    )


def _judged(
    engine: Engine,
    stored: StoredPlan,
    attempt: str,
    progress: Progress,
    meter: Meter,
    clock: Callable[[], datetime],
) -> StoredPlan:
    """Return the plan that is left when Spark has said how it reads the text; a run to which that
    leaves nothing gives up."""
    verdict = verdict_on(engine, stored, clock)
    if verdict is None:
        return stored
    progress(verdict.sentence)
    left = as_judged(stored, attempt, verdict)
    if left is not None:
        return left
    inputs = load_inputs(stored.store, stored.at, stored.plan)
    work = Work(engine, stored.store, inputs, attempt, clock)
    raise _given_up(work, stored, (), meter, verdict.sentence)


def _given_up(
    work: Work, stored: StoredPlan, records: Sequence[StageRecord], meter: Meter, why: str
) -> GivenUpError:
    """Record that the run goes no further, and return the error that says so."""
    done = _done(work, stored, records, meter)
    record_given_up(work.store, work.inputs.at, GivenUp(why=why, done=done))
    return GivenUpError(why, hint="Nothing is lost: later runs of the day are planned without it.")


def _run_stages(work: Work, progress: Progress) -> list[StageRecord]:
    """Every stage in order; each one's partition is visible to those after it. Fewer than all if
    the run had better stop there."""
    plan = work.inputs.plan
    records: list[StageRecord] = []
    done: dict[str, ArtifactPartition] = {}
    for number, stage in enumerate(plan.run.stages, start=1):
        record = run_stage(work, stage, done)
        records.append(record)
        output = record.output
        if output.family in done:
            raise ContractError(
                f"two stages of run {plan.current} write {output.family}",
                hint="Plan the run again.",
            )
        done[output.family] = output
        if output.family != RESULT_FAMILY:
            written = replace(output, run=work.inputs.counted(output.run))
            work.engine.add_partition(plan.family(output.family), bound(work.store, written))
        progress(_line(number, record, work))
        if why_stop(plan, [record.metrics for record in records]):
            break
    return records


def _line(number: int, record: StageRecord, work: Work) -> str:
    stages = work.inputs.plan.run.stages
    how = "taken over" if record.metrics.reused else f"{record.metrics.wall_s:.1f} s"
    return (
        f"stage {number}/{len(stages)} {record.stage} -> {record.output.family}: "
        f"{record.output.rows} rows ({stages[number - 1].estimated_rows} estimated), "
        f"{record.output.bytes} bytes, {how}"
    )


def _verdict(winner: RunCommit, attempt: str, checks: tuple[CheckRecord, ...]) -> str:
    if winner.attempt != attempt:
        return f"run {winner.run} was committed by attempt {winner.attempt}; nothing is changed"
    failed = sum(check.critical for check in checks)
    note = f", {failed} critical expectations failed: it will not be published" if failed else ""
    return f"run {winner.run} is committed by attempt {attempt}{note}"
