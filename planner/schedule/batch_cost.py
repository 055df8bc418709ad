"""The seconds that a batch takes: the cost model that all decisions about times share (sections 2.2
and 6.2).

Costs are wall seconds of one application on the report's cores. That one model is asked for the
size of a batch, for the latest safe start and for what a run is worth, so that they never disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.piecewise import TICK, PiecewiseLinear


class BatchCost(Protocol):
    """The cost functions that the scheduling of section 3.1 needs of a query: its ``Cost``,
    ``EstimateTuplesProcessed`` and the cost of the final aggregation. They may come from rows or
    from planned runs. Both costs never fall as rows grow."""

    def cost(self, rows: int) -> float:
        """Seconds that one batch of so many rows takes, its start included; 0 for no rows."""
        ...

    def tuples_in(self, seconds: float) -> int:
        """The most rows that one batch can process in so many seconds; 0 if it cannot start."""
        ...

    def final_aggregation(self, batches: int) -> float:
        """Seconds that combining the partial results of so many batches takes; 0 for one."""
        ...

    def after(self, batches: int) -> BatchCost:
        """The costs of the rest of a day of which so many batches are done: its final run merges
        these, too."""
        ...


_MOST_ROWS = 10**15
"""No day has more; where time hardly grows with rows, nothing beyond that is asked for."""

NO_MERGE = PiecewiseLinear((2.0,), (0.0,))
"""A final aggregation that takes no time."""


@dataclass(frozen=True, slots=True)
class FittedCost:
    """A cost model of two monotone piecewise-linear functions.

    ``batch``: seconds of a batch over its rows; the value at 0 is the start of an application.
    ``merge``: seconds of the final aggregation over the number of batches, from 2 on, of which so
    many were done ``before``.
    """

    batch: PiecewiseLinear
    merge: PiecewiseLinear = NO_MERGE
    before: int = 0

    def __post_init__(self) -> None:
        if self.batch.xs[0] != 0 or self.batch.ys[0] < 0:
            raise ScheduleError("a cost model begins at 0 rows with the start of an application")
        if self.merge.ys[0] < 0:
            raise ScheduleError("a final aggregation takes no less than 0 seconds")

    @property
    def start(self) -> float:
        """Seconds that an application takes that does next to nothing."""
        return self.batch.ys[0]

    def cost(self, rows: int) -> float:
        return self.batch.at(rows) if rows > 0 else 0.0

    def tuples_in(self, seconds: float) -> int:
        most = self.batch.last(seconds + TICK)
        if most == math.inf:
            raise ScheduleError(
                "a batch of any size is said to take no time",
                hint="Give the cost model a slope after its last breakpoint.",
            )
        return max(0, math.floor(most)) if most > 0 else 0

    def final_aggregation(self, batches: int) -> float:
        merged = self.before + batches
        return self.merge.at(merged) if merged > 1 else 0.0

    def after(self, batches: int) -> FittedCost:
        return replace(self, before=self.before + batches)


def linear_cost(
    start: float, per_row: float, merge: float = 0.0, per_batch: float = 0.0
) -> FittedCost:
    """The linear model of equation 1: ``start + per_row * rows`` a batch; a final aggregation of
    two batches takes ``merge + 2 * per_batch``, of each further one ``per_batch`` more."""
    return FittedCost(
        PiecewiseLinear((0.0,), (start,), beyond=per_row),
        PiecewiseLinear((2.0,), (merge + 2 * per_batch,), beyond=per_batch),
    )


@dataclass(frozen=True, slots=True)
class PartsOfDay:
    """A cost model over the rows of a day that usually has ``whole`` of them. ``seconds`` forecasts
    the run that does a part of such a day's work and merges so many batches; it never falls. The
    final run merges as many more as there were ``before`` what is planned."""

    seconds: Callable[[float, int], float]
    whole: int
    before: int = 0

    def cost(self, rows: int) -> float:
        return self.seconds(rows / self.whole, 1) if rows > 0 else 0.0

    def tuples_in(self, seconds: float) -> int:
        low, high = 0, self.whole
        while self.cost(high) <= seconds + TICK and high < _MOST_ROWS:
            low, high = high, 2 * high
        while low < high:
            middle = (low + high + 1) // 2
            if self.cost(middle) <= seconds + TICK:
                low = middle
            else:
                high = middle - 1
        return low

    def final_aggregation(self, batches: int) -> float:
        merged = self.before + batches
        return self.seconds(0.0, merged) - self.seconds(0.0, 1) if merged > 1 else 0.0

    def after(self, batches: int) -> PartsOfDay:
        return replace(self, before=self.before + batches)
