"""Makes events of what the planner answered and of what the store has."""

from __future__ import annotations

from datetime import datetime

from forerun.include.days.handle import Day
from forerun.include.days.ledger import entry_of, read_history
from forerun.include.days.shadow_days import ShadowStanding
from forerun.include.oncall.savings import SpentDay, savings
from forerun.include.runs.prepare import PreparedRun
from forerun.include.state.given_up import read_given_up
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import GenerationRecord, RunCommit, decode
from forerun.include.state.shadow_day import ShadowDay
from forerun.include.telemetry.events import (
    Compared,
    Outcome,
    Part,
    Planned,
    Published,
    RunEnded,
    Skipped,
)
from forerun.planner.cost.constants import MICRO


def part_of(day: Day, run: int) -> Part:
    """Return whether a run is the final one."""
    return "final" if day.is_final(run) else "early"


def planned(day: Day, prepared: PreparedRun) -> Planned | None:
    """The event of a run that was prepared; None if there was nothing left to plan."""
    result = prepared.result
    if result is None:
        return None
    plan, chosen = result.plan, result.decision.chosen
    return Planned(
        report=day.at.report,
        day=day.at.day,
        generation=day.at.generation,
        run=prepared.run,
        part=part_of(day, prepared.run),
        decided=chosen.kind if chosen.is_batch else "early-work",
        method=result.decided,
        planned_cpu_s=plan.estimated_cost / MICRO,
        batch_cpu_s=plan.batch_cost / MICRO,
        run_cpu_s=plan.run.estimated_cost / MICRO,
        kept_bytes=max(chosen.held, default=0),
        submit=not prepared.skip_reason,
        why=prepared.skip_reason,
        batch_because=plan.batch_because,
        plan=prepared.plan_key,
    )


def skipped(day: Day, run: int, why: str) -> Skipped:
    """The event of a run that was left out."""
    at = day.at
    return Skipped(
        report=at.report,
        day=at.day,
        generation=at.generation,
        run=run,
        part=part_of(day, run),
        why=why,
    )


def run_ended(day: Day, run: int, part: Part, error: str = "") -> RunEnded:
    """Return how a run whose application is over has ended, by what it has left in the store; one
    that has left nothing has failed, by this ``error``."""
    if (commit := day.commit(run)) is not None:
        return _ended(day, commit, part, "committed", "")
    if (given_up := read_given_up(day.store, day.at, run)) is not None:
        return _ended(day, given_up.done, part, "given-up", given_up.why)
    at = day.at
    return RunEnded(
        report=at.report,
        day=at.day,
        generation=at.generation,
        run=run,
        part=part,
        outcome="failed",
        why=error,
    )


def _ended(day: Day, commit: RunCommit, part: Part, outcome: Outcome, why: str) -> RunEnded:
    entry = entry_of(day, commit)
    return RunEnded(
        report=entry.report,
        day=entry.day,
        generation=entry.generation,
        run=entry.run,
        part=part,
        outcome=outcome,
        why=why,
        attempt=commit.attempt,
        wall_s=entry.wall_s,
        cpu_s=entry.process_cpu_s,
        executor_cpu_s=entry.executor_cpu_s,
        weight=entry.weight,
        estimated_cpu_s=entry.estimated_cost / MICRO,
        rows=commit.metrics.source_rows_read,
        kept_bytes=entry.state_bytes,
    )


def published(day: Day, pointer: Pointer) -> Published:
    """The event of a publication, with what the ledger says of the day by then."""
    at, final = day.at, not pointer.early
    spent = _spent(day) if final else None
    moment = datetime.fromisoformat(pointer.published_at)
    return Published(
        report=at.report,
        day=at.day,
        generation=at.generation,
        run=pointer.run,
        part="final" if final else "early",
        version=pointer.version,
        rows=pointer.rows,
        incomplete=tuple(source for source, _ in pointer.incomplete),
        margin_s=_margin_s(day, moment) if final else None,
        measured_cpu_s=spent.measured_s if spent else None,
        batch_cpu_s=spent.batch_s if spent else None,
        state_age_s=_state_age_s(day, moment),
    )


def compared(day: Day, record: ShadowDay, standing: ShadowStanding) -> Compared:
    """The event of a day of a report in shadow, which need not be that of ``day``."""
    return Compared(
        report=record.report,
        day=record.day,
        generation=day.at.generation,
        run=day.spec.runs,
        part="final",
        version=record.version,
        verdict=record.verdict,
        why=record.why,
        cpu_s=record.cpu_s,
        other_cpu_s=record.other_cpu_s,
        equal_days=standing.equal,
        wanted_days=standing.wanted,
    )


def _spent(day: Day) -> SpentDay | None:
    history = read_history(day.store, day.at.report)
    days = savings(history, day.spec.runs).days
    return next((one for one in days if one.day == day.at.day), None)


def _margin_s(day: Day, moment: datetime) -> float | None:
    opened = decode(GenerationRecord, day.store.get(day.at.record), day.at.record).started_at
    deadline = day.spec.deadline_on(day.date)
    if datetime.fromisoformat(opened) >= deadline:
        return None
    return (deadline - moment).total_seconds()


def _state_age_s(day: Day, moment: datetime) -> float | None:
    kept = [
        datetime.fromisoformat(commit.committed_at) for commit in day.chain() if commit.artifacts
    ]
    return (moment - min(kept)).total_seconds() if kept else None
