"""Forecast the seconds of a run by its estimated cost: the fit of section 6.2, and how far to trust
it.

The fit follows the middle of what runs took. Who promises a deadline needs more: the time that nine
runs in ten do not exceed. So the fit is multiplied by what past runs were above it, each above a
fit without it: of a few runs, a fit follows each and says little of the next one. Fewer than nine
have none that only one in ten is above. Then what the largest is above the fit counts ``9 / (n +
1)`` times, as many as it takes to be the ninth of ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.past_runs import CostFit, PastRun, fit_cost

CAUTIOUS = 0.9
"""The share of past runs that a cautious forecast covers: one bad night does not decide."""

_SPREAD = 1.5
"""Only runs whose dearest cost so many times the cheapest tell how time grows with cost."""


@dataclass(frozen=True, slots=True)
class RunSeconds:
    """Wall seconds of a report's runs over their estimated cost. ``margin``: nine in ten runs like
    the past ``runs`` take at most so many times what the fit says; at least 1."""

    fit: CostFit
    margin: float
    runs: int

    def cautious(self, cost: float, batches: int = 1) -> float:
        """Seconds that nine in ten runs of this cost stay below. ``cost`` is in the unit of the
        past runs' work; ``batches`` counts what a final run merges, its own part included."""
        model = self.fit.cost
        return self.margin * (model.batch.at(cost) + model.final_aggregation(batches))


def fit_run_seconds(past: Sequence[PastRun], like: Sequence[PastRun] = ()) -> RunSeconds | None:
    """Fit past runs of a report; None if they are too few, or too much of one size, to tell how
    time grows with cost. The margin is that of the runs ``like`` the one that is asked for, of all
    where there is none."""
    costs = [run.work for run in past]
    if not costs or max(costs) < _SPREAD * min(costs):
        return None
    try:
        fit = fit_cost(past)
    except ScheduleError:
        return None
    said = dict(zip(past, fit.left_out, strict=True))
    margin = _margin([run.seconds / max(said[run], 1e-9) for run in like or past])
    return RunSeconds(fit, margin, len(past))


def _margin(above: Sequence[float]) -> float:
    """Return what the next of such figures is below in nine cases of ten, as far as they tell."""
    highest = sorted(above)[math.ceil(CAUTIOUS * len(above)) - 1]
    return 1 + max(0.0, highest - 1) * max(1.0, 10 * CAUTIOUS / (len(above) + 1))
