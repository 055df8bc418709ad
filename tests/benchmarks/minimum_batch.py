"""The smallest batch that is worth an application when several queries share the cores (4.1, 4.2).

Smaller batches cost more in sum, larger ones block the others longer. The smallest size is taken
whose batches cost in sum, with the final aggregation, at most ``1 + slack`` times one batch over
everything (the paper's resource slack factor), and that takes at most ``longest`` seconds (the
paper's C_max: nothing is preempted, so it bounds how long a query that has just become urgent
waits). The two can conflict: then ``longest`` wins, since it guards the deadlines of the others,
and the answer says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.batch_cost import BatchCost


@dataclass(frozen=True, slots=True)
class MinimumBatch:
    """``rows`` of a batch, how many ``batches`` that makes, and their cost as ``ratio`` to one
    batch. ``conflict`` is a sentence where no size keeps both bounds, else empty."""

    rows: int
    batches: int
    ratio: float
    conflict: str = ""


def total_cost(cost: BatchCost, total: int, batches: int) -> float:
    """Seconds of so many batches, equal but for one row, and of their final aggregation. Where no
    row costs more in a larger batch, this rises with the number of batches, and batches of the
    larger size with a rest at the end cost no more."""
    rows, larger = divmod(total, batches)
    even = larger * cost.cost(rows + 1) + (batches - larger) * cost.cost(rows)
    return even + cost.final_aggregation(batches)


def minimum_batch(cost: BatchCost, total: int, *, slack: float, longest: float) -> MinimumBatch:
    """The minimum batch of a query over ``total`` rows.

    Found by bisection over the number of batches, with which :func:`total_cost` rises. Raises
    :class:`ScheduleError` where one row takes longer than ``longest``, or a bound is negative.
    """
    if total < 1 or slack < 0 or longest <= 0:
        raise ScheduleError(
            f"a minimum batch needs rows ({total:,}), a slack of at least 0 ({slack:g}) and a "
            f"longest time above 0 ({longest:g})"
        )
    single = cost.cost(total)
    allowed = (1 + slack) * single
    rows = math.ceil(total / _most(total, lambda n: total_cost(cost, total, n) <= allowed))
    most_rows = min(total, cost.tuples_in(longest))
    if most_rows == 0:
        raise ScheduleError(
            f"a batch of one row takes {cost.cost(1):g} s, and {longest:g} s is the longest",
            hint="Allow longer batches.",
        )
    batches = math.ceil(total / min(rows, most_rows))
    ratio = total_cost(cost, total, batches) / single
    conflict = (
        ""
        if rows <= most_rows
        else (
            f"batches of at most {longest:g} s cost {ratio:.2f} times one batch, "
            f"more than the {1 + slack:.2f} allowed"
        )
    )
    return MinimumBatch(min(rows, most_rows), batches, ratio, conflict)


def _most(total: int, fits: Callable[[int], bool]) -> int:
    """The largest number of batches from 1 to ``total`` that fits; 1 always does."""
    low, high = 1, total + 1
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
