"""The cost model of a report, fitted from what its runs took before (section 6.2).

One fit over the runs that merged nothing gives the time of a batch, whose value at no work is the
start of an application. What the runs that merged took beyond that is the final aggregation, fitted
by the number of batches they merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.batch_cost import FittedCost
from forerun.planner.schedule.fit import fit_monotone
from forerun.planner.schedule.piecewise import PiecewiseLinear


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run that was committed: how much ``work`` it had (rows, or estimated cost; the model is
    then over the same), how many wall ``seconds`` it took, and, for a final run, how many
    ``batches`` it merged, its own included."""

    work: float
    seconds: float
    batches: int = 1


@dataclass(frozen=True, slots=True)
class CostFit:
    """The model; the median leave-one-out error of the batches, and of the merges as a part of
    their runs' times; None where no run merged, and the final aggregation is taken for nothing."""

    cost: FittedCost
    error: float
    merge_error: float | None


def fit_cost(runs: Iterable[PastRun]) -> CostFit:
    """Fit a report's cost model. Raises :class:`ScheduleError` for too few runs to tell."""
    known = list(runs)
    plain = [(run.work, run.seconds) for run in known if run.batches <= 1]
    merging = [run for run in known if run.batches > 1]
    batch = fit_monotone(plain)
    if not merging:
        return CostFit(FittedCost(batch.function), batch.error, None)
    beyond = [
        (run.batches - 2.0, max(0.0, run.seconds - batch.function.at(run.work))) for run in merging
    ]
    try:
        merge = fit_monotone(beyond).function
    except ScheduleError:
        # Days with one number of batches tell the time of such a merge, and of no other: it is
        # taken to grow in proportion.
        merge = _in_proportion(beyond)
    errors = sorted(
        abs(batch.function.at(run.work) + merge.at(run.batches - 2.0) - run.seconds) / run.seconds
        for run in merging
        if run.seconds > 0
    )
    shifted = PiecewiseLinear(tuple(x + 2 for x in merge.xs), merge.ys, merge.beyond)
    error = errors[len(errors) // 2] if errors else 0.0
    return CostFit(FittedCost(batch.function, shifted), batch.error, error)


def _in_proportion(beyond: list[tuple[float, float]]) -> PiecewiseLinear:
    seconds = sorted(y for _, y in beyond)[len(beyond) // 2]
    batches = beyond[0][0] + 2
    return PiecewiseLinear((0.0,), (2 * seconds / batches,), beyond=seconds / batches)
