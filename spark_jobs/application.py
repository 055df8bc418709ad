"""The runs of one application: of one report, or of all reports of a group that have work now.

An application is shared, a fate is not: each run is read, executed and committed by itself, and one
that fails holds up no other. What starting the application took is divided among its runs.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from forerun.include.machine.cpu_meter import Meter
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.layout import generation_of
from forerun.include.state.records import RunCommit
from forerun.include.stores.opening import open_store, split_uri
from forerun.planner.contract.lifted_v1 import LiftedQuery, decode_lifted
from forerun.planner.errors import ForerunError
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.executor import Progress, execute
from forerun.spark_jobs.failures import explained
from forerun.spark_jobs.judged import why_not_as_planned
from forerun.spark_jobs.lifted import run_lifted


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run: the commit that counts, or the error that explains why there is
    none."""

    report: str
    commit: RunCommit | None = None
    error: ForerunError | None = None


def read_plans(uris: Sequence[str]) -> tuple[list[StoredPlan], list[Outcome]]:
    """Read the plans of an application, and say of which reports they cannot be read. The only one
    of an application is read or raises a ``ForerunError``."""
    if len(uris) == 1:
        return [StoredPlan.read(uris[0])], []
    plans: list[StoredPlan] = []
    failed: list[Outcome] = []
    for uri in uris:
        try:
            plans.append(StoredPlan.read(uri))
        except ForerunError as error:
            failed.append(Outcome(generation_of(split_uri(uri)[1]).report, error=error))
    return plans, failed


def read_lifted(uris: Sequence[str], progress: Progress) -> list[LiftedQuery]:
    """Read the queries each of which does several of the runs at once. Without it they are done one
    by one, so that one that cannot be read only costs time."""
    found = []
    for uri in uris:
        root, key = split_uri(uri)
        try:
            found.append(decode_lifted(open_store(root).get(key)))
        except ForerunError as error:
            progress(f"each day is done by itself: {error.message}")
    return found


def run_all(
    engine: Engine,
    plans: Sequence[StoredPlan],
    attempt: str,
    progress: Progress,
    meter: Meter,
    lifted: Sequence[LiftedQuery] = (),
) -> list[Outcome]:
    """Do the run of every plan, one after the other, and say what became of each; those that the
    ``lifted`` queries are of by these, as far as they go. ``meter`` is that of the application. The
    only run of an application raises what a bug raises; among several, a bug that one meets is an
    outcome, too."""
    if len(plans) == 1:
        return [_outcome(engine, plans[0], attempt, progress, meter)]
    started_s = meter.cpu_s / max(1, len(plans))
    if lifted and (why := why_not_as_planned(engine, plans)):
        progress(f"each day is done by itself: {why}")
        lifted = ()
    done: dict[str, RunCommit] = {}
    for query in lifted:
        done |= run_lifted(engine, query, plans, attempt, progress, meter)
    return [
        Outcome(stored.plan.report, done[stored.key])
        if stored.key in done
        else _whatever_happens(
            engine,
            stored,
            attempt,
            progress,
            Meter(before_s=started_s, shared_by=len(plans)),
        )
        for stored in plans
    ]


def _whatever_happens(
    engine: Engine,
    stored: StoredPlan,
    attempt: str,
    progress: Progress,
    meter: Meter,
) -> Outcome:
    try:
        return _outcome(engine, stored, attempt, progress, meter)
    except Exception as error:  # noqa: BLE001 - the others go on
        progress(traceback.format_exc())
        wrong = ForerunError(
            f"{type(error).__name__}: {error}",
            code="internal",
            hint="This is a bug in Forerun; the log of the application shows where. Please report "
            "it.",
        )
        return Outcome(stored.plan.report, error=wrong)


def _outcome(
    engine: Engine,
    stored: StoredPlan,
    attempt: str,
    progress: Progress,
    meter: Meter,
) -> Outcome:
    plan = stored.plan
    stages = f"{len(plan.run.stages)} stage{'' if len(plan.run.stages) == 1 else 's'}"
    progress(f"run {plan.current} of {plan.report}: {stages}, {engine.name}")
    try:
        with explained(f"run {plan.current} of {plan.report}"):
            return Outcome(plan.report, execute(engine, stored, attempt, progress, meter))
    except ForerunError as error:
        progress(f"run {plan.current} of {plan.report} is not committed: {error.message}")
        return Outcome(plan.report, error=error)
