"""How long a run of a report will take, from the ledger: one model, for whoever plans with time.

The latest safe start of a final run and the times that are chosen for runs both ask it, so they
never disagree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from forerun.include.reports.run_policy import RunPolicy
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.planner.cost.constants import MICRO
from forerun.planner.schedule.past_runs import CostFit, PastRun
from forerun.planner.schedule.run_seconds import CAUTIOUS, RunSeconds, fit_run_seconds

START_S = 15.0
"""Wall seconds of an application that does next to nothing, S3 included (13 to 15 s measured on 2
cores without a class-data archive). It does not grow with the data, so it is not scaled."""

SAFETY = 2.0
"""Without a history: estimated CPU seconds over cores, times this. Cores are never all busy all the
time (skew, reading, the driver alone). A guess; the first committed run replaces it."""

NEWEST = 14
"""The forecast looks at this many final runs of the ledger, or at that many days of them."""

_BEYOND = 2.0
"""A run estimated at more than this many times the dearest of the past is not like any of them."""

_LEAST_COST_S = 1.0
"""Below this many estimated CPU seconds a run says nothing about how wall time grows with cost."""


class WallForecast:
    """Forecasts the wall seconds of one try of a run from past runs of the report, oldest first.

    Where past runs of different costs tell how time grows, the forecast is their fit. Else a past
    run that took ``w`` for an estimated ``c`` says, with the part of ``w`` that only starts an
    application left as it is::

        START_S + (w - START_S) * cost_s / c        (w itself where w <= START_S)

    and the forecast is the one of the newest 14 final runs (of other runs, where there is no final
    one) that nine in ten do not exceed. A run far dearer than any before it takes at least the
    estimate's CPU seconds over all cores: what only started an application tells nothing of how
    time grows. Without history see :data:`SAFETY`; with neither history nor plan there is none.
    """

    def __init__(self, history: Sequence[LedgerEntry], policy: RunPolicy) -> None:
        self._cores = policy.cores
        final = len(policy.runs)
        # What an engine of early runs takes says nothing of the others.
        apart = policy.early_engine
        history = [e for e in history if e.run == final or not apart or e.engine != apart]
        past = [entry for entry in history if entry.run == final] or history
        self._past = past[-NEWEST:]
        self._fit = _fit(history, final)

    @property
    def fit(self) -> CostFit | None:
        """The fit over estimated CPU seconds; None where past runs are no ground for one."""
        return self._fit.fit if self._fit else None

    def of(self, cost_s: float | None, batches: int = 1) -> tuple[float | None, str]:
        """The forecast, None if there is none, and a sentence that says where it comes from.

        ``cost_s`` is the run's estimated cost in CPU seconds, None if it was not planned yet: then
        it takes what earlier ones took. ``batches`` counts the parts of the day that a final run
        merges, its own included.
        """
        if not self._past:
            return self._without_history(cost_s)
        said = "" if cost_s is None else f"{cost_s:,.0f} estimated CPU s"
        if cost_s is not None and self._fit is not None:
            wall = self._at_least(self._fit.cautious(cost_s, batches), cost_s)
            return wall, (
                f"{_minutes(wall)} forecast by a fit of the last {self._fit.runs} runs in the "
                f"ledger (which misses by {self._fit.fit.error:.0%} in the middle, so taken "
                f"{self._fit.margin:.2f} times), {said}"
            )
        ranked = sorted(_scaled(entry, cost_s) for entry in self._past)
        wall = ranked[math.ceil(CAUTIOUS * len(ranked)) - 1]
        if cost_s is not None:
            wall = self._at_least(wall, cost_s)
        runs = "run" if len(ranked) == 1 else f"{len(ranked)} runs"
        scaled = f", scaled to {said}" if said else ""
        return wall, f"{_minutes(wall)} forecast from the last {runs} in the ledger{scaled}"

    def _at_least(self, wall: float, cost_s: float) -> float:
        if cost_s > _BEYOND * max(map(_cost, self._past)):
            return max(wall, START_S + cost_s / self._cores)
        return wall

    def _without_history(self, cost_s: float | None) -> tuple[float | None, str]:
        if cost_s is None:
            return None, "no forecast: nothing is planned yet and the ledger is empty"
        wall = START_S + SAFETY * cost_s / self._cores
        return wall, (
            f"{_minutes(wall)} forecast without a ledger: {cost_s:,.0f} estimated CPU s on "
            f"{self._cores} cores, times {SAFETY:g}"
        )


def usual_batch_s(history: Sequence[LedgerEntry], final: int) -> float | None:
    """The estimated CPU seconds of a batch over a usual day, from the days whose run ``final`` is
    in the ledger; None if none of them says."""
    costs = [entry.batch_cost / entry.weight for entry in final_runs(history, final)]
    return median(costs) / MICRO if costs else None


def usual_run_s(history: Sequence[LedgerEntry], run: int) -> float:
    """The wall seconds of an early run on the middle one of the days that had it; 0 for a run that
    most days of the ledger did without."""
    days = {(entry.day, entry.generation) for entry in history}
    took = [entry.wall_s for entry in history if entry.run == run]
    return median(took) if 2 * len(took) > len(days) else 0.0


def final_runs(history: Sequence[LedgerEntry], final: int) -> list[LedgerEntry]:
    """The entries that say what batch would have cost in the price of the run they are about:
    batch is weighted by the final run's price, which only its own entry has."""
    return [entry for entry in history if entry.run == final and entry.batch_cost]


def _fit(history: Sequence[LedgerEntry], final: int) -> RunSeconds | None:
    """The fit of runs that had their application for themselves, on the engine of the newest one;
    None where they are no ground for one."""
    alone = [e for e in history if e.runs_in_application == 1 and e.engine == history[-1].engine]
    merged = Counter((entry.day, entry.generation) for entry in alone)
    past, like = [], []
    for entry in alone:
        is_final = entry.run == final
        run = PastRun(
            work=_cost(entry),
            seconds=entry.wall_s,
            batches=merged[entry.day, entry.generation] if is_final else 1,
        )
        past.append(run)
        if is_final:
            like.append(run)
    return fit_run_seconds(past, like[-NEWEST:])


def _scaled(entry: LedgerEntry, cost_s: float | None) -> float:
    if cost_s is None or entry.wall_s <= START_S:
        return entry.wall_s
    return START_S + (entry.wall_s - START_S) * cost_s / _cost(entry)


def _cost(entry: LedgerEntry) -> float:
    return max(entry.estimated_cost / MICRO, _LEAST_COST_S)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
