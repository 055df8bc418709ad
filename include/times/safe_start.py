"""Forecasts how late the final run of a day may start and still meet the deadline.

The forecast of its wall time comes from the ledger: what runs of the report were estimated to cost
and how long they took. It is the same fit that chooses the times of runs
(:mod:`forerun.include.times.wall_forecast`), so the two never disagree. It is made anew whenever it
is asked for, so it follows the plans, the commits and the deliveries of the day.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from forerun.include.days.handle import Day
from forerun.include.days.ledger import read_history
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import ReportSpec
from forerun.include.state.layout import Generation
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.stores.store import StoreReader
from forerun.include.times.wall_forecast import NEWEST, WallForecast
from forerun.planner.contract import Plan, decode_plan
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import ContractError

AROUND_S = 60.0
"""Planning, checking, publishing, and Airflow's own time between these tasks. A guess."""


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
    history = read_history(day.store, spec.name, newest=NEWEST * spec.runs)
    batches = len(day.chain()) + 1
    return safe_start(spec, day.date, _remaining_cost(day), history, retries, batches)


def read_run_seconds(day: Day, run: int) -> float:
    """Forecast of the wall seconds of one try of an early run, as it was planned; 0 where nothing
    tells."""
    plan = newest_plan(day.store, day.at, run)
    if plan is None or plan.current != run:
        return 0.0
    history = read_history(day.store, day.spec.name, newest=NEWEST * day.spec.runs)
    wall, _ = WallForecast(history, day.spec.policy).of(plan.run.estimated_cost / MICRO)
    return wall or 0.0


def safe_start(
    spec: ReportSpec,
    day: date,
    cost_s: float | None,
    history: Sequence[LedgerEntry],
    retries: Retries,
    batches: int = 1,
) -> SafeStart:
    """Return the latest safe start for values that were read before. :class:`WallForecast` explains
    ``cost_s``, ``history`` and ``batches``."""
    wall, why = WallForecast(history, spec.policy).of(cost_s, batches)
    needed = 0.0 if wall is None else needed_for(wall, retries)
    at = spec.latest_safe_start(day, timedelta(seconds=math.ceil(needed)))
    late = (at - spec.deadline_on(day)).total_seconds() + needed
    return SafeStart(at=at, wall_s=wall or 0.0, needed_s=needed, late_s=max(0.0, late), why=why)


def needed_for(wall_s: float, retries: Retries) -> float:
    """Seconds before the deadline that a final run of ``wall_s`` needs if only its last try ends
    well."""
    return (1 + retries.count) * wall_s + retries.pauses_s + AROUND_S


def _remaining_cost(day: Day) -> float | None:
    """Estimated CPU seconds of all that the newest plan of the day has and that is not committed.

    A run that was planned and not committed has failed, or still runs: its work is then the final
    run's, which never has to do more than batch.
    """
    planned = newest_plan(day.store, day.at, day.spec.runs)
    if planned is None:
        return None
    chain = day.chain()
    return remaining_cost(planned, chain[-1].run if chain else 0)


def remaining_cost(planned: Plan, done: int) -> float:
    """Estimated CPU seconds of what a plan has after run ``done``, the last one committed."""
    to_do = sum(run.estimated_cost for run in planned.runs if run.index > done)
    return min(to_do, max(planned.batch_run_cost, planned.runs[-1].estimated_cost)) / MICRO


def newest_plan(store: StoreReader, at: Generation, runs: int) -> Plan | None:
    """A plan of the last run that was planned. Which of several tries does not matter here, so a
    listing will do. One that cannot be read (of another version of Forerun, say) is passed over:
    it makes forecasts better, and no run must wait for want of one."""
    keys = [file.key for file in store.list(at.plans)]
    for run in range(runs, 0, -1):
        for key in keys:
            if key.startswith(f"{at.plans}/run-{run}-"):
                with contextlib.suppress(ContractError):
                    return decode_plan(store.get(key))
    return None
