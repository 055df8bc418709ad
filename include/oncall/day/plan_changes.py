"""The changes of a day's plan from one planning to the next, and what each rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forerun.include.oncall.day.records import PlanFile
from forerun.include.oncall.day.standing import plan_sentence
from forerun.include.state.records import RunCommit
from forerun.planner.contract import Plan
from forerun.planner.cost.constants import MICRO

_NOTICED = 0.01
"""Costs and fractions that differ by less than this share are the same to a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVersion:
    """A stored plan: what it does, what it is estimated to cost, and what ``changes`` there are
    since the one before, a sentence each. ``followed``: a committed run did what it says."""

    file: PlanFile
    sentence: str
    estimated_s: float
    batch_s: float
    changes: tuple[str, ...]
    followed: bool


def versions(
    plans: Sequence[tuple[PlanFile, Plan]], chain: Sequence[RunCommit]
) -> tuple[PlanVersion, ...]:
    """All plans of a day, in the order that they were made in."""
    followed = {commit.plan for commit in chain}
    before: Plan | None = None
    found = []
    for file, plan in plans:
        changes = tuple(_changes(before, plan)) if before else ("the first plan of the day",)
        found.append(
            PlanVersion(
                file=file,
                sentence=plan_sentence(plan),
                estimated_s=plan.estimated_cost / MICRO,
                batch_s=plan.batch_cost / MICRO,
                changes=changes or ("nothing: it was planned again as before",),
                followed=file.key in followed,
            )
        )
        before = plan
    return tuple(found)


def _changes(before: Plan, plan: Plan) -> Iterator[str]:
    yield from _causes(before, plan)
    if before.method != plan.method:
        yield f"{before.method} became {plan.method}"
    if (was := _opened(before)) != (now := _opened(plan)):
        yield f"runs with work: {_list(was)} became {_list(now)}"
    kept, keeps = ({f.title for f in one.kept} for one in (before, plan))
    yield from (f"newly kept: {title}" for title in sorted(keeps - kept))
    yield from (f"no longer kept: {title}" for title in sorted(kept - keeps))
    for what, old, new in (
        ("estimate of the day", before.estimated_cost, plan.estimated_cost),
        ("estimate of batch", before.batch_cost, plan.batch_cost),
    ):
        if abs(new - old) > _NOTICED * max(old, new):
            yield f"{what}: {old / MICRO:.1f} became {new / MICRO:.1f} CPU s"


def _causes(before: Plan, plan: Plan) -> Iterator[str]:
    """Yield what the planner knows now and did not know when it planned ``before``."""
    done = {run.index for run in before.runs if run.committed}
    for run in plan.runs:
        if run.committed and run.index not in done:
            yield f"run {run.index} is committed"
    for was, now in zip(before.runs, plan.runs, strict=False):
        if not now.committed and abs(was.arrived - now.arrived) > _NOTICED:
            yield (
                f"by run {now.index} {now.arrived:.0%} of the day is expected instead of "
                f"{was.arrived:.0%}"
            )
    if plan.batch_because and plan.batch_because != before.batch_because:
        yield plan.batch_because


def _opened(plan: Plan) -> tuple[int, ...]:
    return tuple(run.index for run in plan.runs if run.opened)


def _list(runs: Sequence[int]) -> str:
    return ", ".join(map(str, runs)) or "none"
