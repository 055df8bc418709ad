"""Forecasts how late the final run of a day may start and still meet the deadline.

The forecast of its wall time comes from the ledger: what runs of the report were estimated to cost
and how long they took, scaled by what the final run is estimated to cost now. It is made anew
whenever it is asked for, so it follows the plans, the commits and the deliveries of the day.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from include.days.handle import Day
from include.days.ledger import read_history
from include.reports.run_policy import Retries, RunPolicy
from include.reports.spec import ReportSpec
from include.state.layout import Generation
from include.state.ledger_entry import LedgerEntry
from include.state.store import StoreReader
from planner.contract import Plan, decode_plan

START_S = 15.0
"""Wall seconds of an application that does next to nothing, S3 included (13 to 15 s measured on 2
cores without a class-data archive). It does not grow with the data, so it is not scaled."""

SAFETY = 2.0
"""Without a history: estimated CPU seconds over cores, times this. Cores are never all busy all the
time (skew, reading, the driver alone). A guess; the first committed run replaces it."""

AROUND_S = 60.0
"""Planning, checking, publishing, and Airflow's own time between these tasks. A guess."""

_NEWEST = 14
"""The forecast looks at this many final runs of the ledger."""

_RANK = 0.9
"""The forecast is the run that nine in ten do not exceed: one bad night does not move every
deadline."""

_BEYOND = 2.0
"""A run estimated at more than this many times the dearest of the past is not like any of them."""

_LEAST_COST_S = 1.0
"""Below this many estimated CPU seconds a run says nothing about how wall time grows with cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeStart:
    """The latest safe start of a day's final run.

    ``wall_s``: forecast of one try; ``needed_s``: of all tries with what is around them; ``why`` is
    a sentence for people. ``late_s`` is by how much the deadline is forecast to be missed when the
    final run starts at ``at`` and needs every try, 0 if it is not: ``at`` is never before the final
    run's own time.
    """

    at: datetime
    wall_s: float
    needed_s: float
    late_s: float
    why: str


def read_safe_start(day: Day, retries: Retries) -> SafeStart:
    """The latest safe start of a day, from its plans and the ledger as they are now. ``retries``
    are those that the final run's task really has."""
    spec = day.spec
    history = read_history(day.store, spec.name, newest=_NEWEST * spec.runs)
    return safe_start(spec, day.date, _remaining_cost(day), history, retries)


def safe_start(
    spec: ReportSpec,
    day: date,
    cost_s: float | None,
    history: Sequence[LedgerEntry],
    retries: Retries,
) -> SafeStart:
    """Return the latest safe start for values that were read before. :func:`forecast_wall` explains
    ``cost_s`` and ``history``."""
    wall, why = forecast_wall(cost_s, history, spec.policy)
    needed = 0.0 if wall is None else needed_for(wall, retries)
    at = spec.latest_safe_start(day, timedelta(seconds=math.ceil(needed)))
    late = (at - spec.deadline_on(day)).total_seconds() + needed
    return SafeStart(at=at, wall_s=wall or 0.0, needed_s=needed, late_s=max(0.0, late), why=why)


def needed_for(wall_s: float, retries: Retries) -> float:
    """Seconds before the deadline that a final run of ``wall_s`` needs if only its last try ends
    well."""
    return (1 + retries.count) * wall_s + retries.pauses_s + AROUND_S


def forecast_wall(
    cost_s: float | None, history: Sequence[LedgerEntry], policy: RunPolicy
) -> tuple[float | None, str]:
    """Wall seconds of one try of the final run, and a sentence that says where they come from.

    ``cost_s`` is its estimated cost in CPU seconds, None if it was not planned yet: then it takes
    what earlier ones took. A past run that took ``w`` for an estimated ``c`` says, with the part
    of ``w`` that only starts an application left as it is::

        START_S + (w - START_S) * cost_s / c        (w itself where w <= START_S)

    The forecast is the one of the newest 14 final runs (of other runs, where there is no final one)
    that nine in ten do not exceed. For a run far dearer than any before it is at least the
    estimate's CPU seconds over all cores: what only started an application tells nothing of how
    time grows. Without history see :data:`SAFETY`; with neither history nor plan there is none.
    """
    past = [entry for entry in history if entry.run == len(policy.runs)] or list(history)
    past = past[-_NEWEST:]
    if past:
        said = sorted(_scaled(entry, cost_s) for entry in past)
        wall = said[math.ceil(_RANK * len(said)) - 1]
        if cost_s is not None and cost_s > _BEYOND * max(map(_cost, past)):
            wall = max(wall, START_S + cost_s / policy.cores)
        runs = "run" if len(past) == 1 else f"{len(past)} runs"
        scaled = "" if cost_s is None else f", scaled to {cost_s:,.0f} estimated CPU s"
        return wall, f"{_minutes(wall)} forecast from the last {runs} in the ledger{scaled}"
    if cost_s is None:
        return None, "no forecast: nothing is planned yet and the ledger is empty"
    wall = START_S + SAFETY * cost_s / policy.cores
    return wall, (
        f"{_minutes(wall)} forecast without a ledger: {cost_s:,.0f} estimated CPU s on "
        f"{policy.cores} cores, times {SAFETY:g}"
    )


def _scaled(entry: LedgerEntry, cost_s: float | None) -> float:
    if cost_s is None or entry.wall_s <= START_S:
        return entry.wall_s
    return START_S + (entry.wall_s - START_S) * cost_s / _cost(entry)


def _cost(entry: LedgerEntry) -> float:
    return max(entry.estimated_cost / 1e6, _LEAST_COST_S)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _remaining_cost(day: Day) -> float | None:
    """Estimated CPU seconds of all that the newest plan of the day has and that is not committed.

    A run that was planned and not committed has failed, or still runs: its work is then the final
    run's, which never has to do more than batch.
    """
    planned = _newest_plan(day.store, day.at, day.spec.runs)
    if planned is None:
        return None
    chain = day.chain()
    return remaining_cost(planned, chain[-1].run if chain else 0)


def remaining_cost(planned: Plan, done: int) -> float:
    """Estimated CPU seconds of what a plan has after run ``done``, the last one committed."""
    to_do = sum(run.estimated_cost for run in planned.runs if run.index > done)
    return min(to_do, max(planned.batch_cost, planned.runs[-1].estimated_cost)) / 1e6


def _newest_plan(store: StoreReader, at: Generation, runs: int) -> Plan | None:
    """A plan of the last run that was planned. Which of several tries does not matter here, so a
    listing will do."""
    keys = [file.key for file in store.list(at.plans)]
    for run in range(runs, 0, -1):
        for key in keys:
            if key.startswith(f"{at.plans}/run-{run}-"):
                return decode_plan(store.get(key))
    return None
