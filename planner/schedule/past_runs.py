"""The cost model of a report, fitted from what its runs took before (section 6.2).

One fit over the runs that merged nothing gives the time of a batch, whose value at no work is the
start of an application. What the runs that merged took beyond that is the final aggregation, fitted
by the number of batches they merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median, median_high

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.batch_cost import FittedCost
from forerun.planner.schedule.fit import Point, fit_monotone
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
    their runs' times; None where no run merged, and the final aggregation is taken for nothing.
    ``left_out``: what the model says of each of the runs, in their order, if it is fitted without
    it."""

    cost: FittedCost
    error: float
    merge_error: float | None
    left_out: tuple[float, ...]


def fit_cost(runs: Iterable[PastRun]) -> CostFit:
    """Fit a report's cost model. Raises :class:`ScheduleError` for too few runs to tell."""
    known = list(runs)
    plain = [(run.work, run.seconds) for run in known if run.batches <= 1]
    merging = [run for run in known if run.batches > 1]
    batch = fit_monotone(plain)
    if not merging:
        return CostFit(FittedCost(batch.function), batch.error, None, batch.left_out)
    beyond = [
        (run.batches - 2.0, max(0.0, run.seconds - batch.function.at(run.work))) for run in merging
    ]
    merge, of_merges = _merges(beyond)
    said = [
        batch.function.at(run.work) + merged for run, merged in zip(merging, of_merges, strict=True)
    ]
    error = (
        median(
            abs(seconds - run.seconds) / run.seconds
            for run, seconds in zip(merging, said, strict=True)
            if run.seconds > 0
        )
        if any(run.seconds > 0 for run in merging)
        else 0.0
    )
    shifted = PiecewiseLinear(tuple(x + 2 for x in merge.xs), merge.ys, merge.beyond)
    plain_said, merge_said = iter(batch.left_out), iter(said)
    left_out = tuple(next(plain_said if run.batches <= 1 else merge_said) for run in known)
    return CostFit(FittedCost(batch.function, shifted), batch.error, error, left_out)


def _merges(beyond: list[Point]) -> tuple[PiecewiseLinear, tuple[float, ...]]:
    """Return what merging takes by the number of batches above two, and what is said of each merge
    without it."""
    try:
        fit = fit_monotone(beyond)
    except ScheduleError:
        # Days with one number of batches tell the time of such a merge, and of no other: it is
        # taken to grow in proportion.
        others = [[*beyond[:i], *beyond[i + 1 :]] or beyond for i in range(len(beyond))]
        said = zip(others, beyond, strict=True)
        return _in_proportion(beyond), tuple(_in_proportion(o).at(x) for o, (x, _) in said)
    return fit.function, fit.left_out


def _in_proportion(beyond: list[Point]) -> PiecewiseLinear:
    seconds = median_high(y for _, y in beyond)
    batches = beyond[0][0] + 2
    return PiecewiseLinear((0.0,), (2 * seconds / batches,), beyond=seconds / batches)
