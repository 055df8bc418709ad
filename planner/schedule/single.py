"""One query, one deadline: the fewest batches, each as late and as large as possible (section 3.1).

If all rows can be processed after the last one has come, one batch starts as late as the deadline
allows. Else Function 1 works back from the deadline: the last batch takes as many rows as fit
between the last arrival and the deadline; what is left has to be done before that batch starts, and
so on. Two things differ from the paper's text, neither for the worse: a batch of whole rows that
needs less than the time it has starts later, which leaves more time to the one before it; and where
nothing fits, the answer says how many seconds are missing, where the paper's loop would not end.

The final aggregation takes part of the time before the deadline, depending on the number of
batches. So 2, 3, ... batches are assumed until no more is needed than was assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.batch_cost import BatchCost
from forerun.planner.schedule.piecewise import TICK

MOST_BATCHES = 1_000
"""More batches than this are no schedule: each is an application."""

_PRECISION_S = 1e-3
"""To how many seconds the missing time is found."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of ``rows``, from ``start`` on for ``seconds``."""

    start: float
    rows: int
    seconds: float

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclass(frozen=True, slots=True)
class Feasible:
    """Batches in order, and the seconds that the final aggregation takes after the last one."""

    batches: tuple[Batch, ...]
    aggregation: float

    @property
    def end(self) -> float:
        return self.batches[-1].end + self.aggregation

    @property
    def seconds(self) -> float:
        """Return the seconds of all batches and the aggregation: the computation cost of the
        paper."""
        return sum(batch.seconds for batch in self.batches) + self.aggregation


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No schedule meets the deadline, whatever else runs: it would have to be ``missing`` seconds
    later."""

    missing: float


def schedule_single(
    cost: BatchCost, arrivals: ArrivalCurve, deadline: float
) -> Feasible | Infeasible:
    """The batches of one query that has its cores for itself."""
    found = _fitting(cost, arrivals, deadline)
    return found if found is not None else Infeasible(_missing(cost, arrivals, deadline))


def _fitting(cost: BatchCost, arrivals: ArrivalCurve, deadline: float) -> Feasible | None:
    whole = cost.cost(arrivals.total)
    if arrivals.complete_at + whole <= deadline + TICK:
        return Feasible((Batch(deadline - whole, arrivals.total, whole),), 0.0)
    for assumed in range(2, MOST_BATCHES + 1):
        reserved = cost.final_aggregation(assumed)
        batches = _without_aggregation(cost, arrivals, deadline - reserved)
        if batches is None:
            # A longer final aggregation leaves less time: assuming more batches cannot help.
            return None
        needed = cost.final_aggregation(len(batches))
        if needed <= reserved + TICK:
            return Feasible(batches, needed)
    return None


def _without_aggregation(
    cost: BatchCost, arrivals: ArrivalCurve, deadline: float
) -> tuple[Batch, ...] | None:
    """Function 1, from the last batch to the first; None if some rows fit nowhere."""
    pending, until = arrivals.total, deadline
    found: list[Batch] = []
    while pending > 0:
        # The batch with the last pending row cannot start before this row has come.
        possible = cost.tuples_in(until - arrivals.time_of(pending))
        rows = min(possible, pending)
        if rows == 0 or len(found) == MOST_BATCHES:
            return None
        seconds = cost.cost(rows)
        until -= seconds
        found.append(Batch(until, rows, seconds))
        pending -= rows
    return tuple(reversed(found))


def _missing(cost: BatchCost, arrivals: ArrivalCurve, deadline: float) -> float:
    """Return by how many seconds the deadline is too early, by bisection: with a later deadline, a
    schedule that fitted still fits. One batch after the last arrival always fits in the end."""
    fits = arrivals.complete_at + cost.cost(arrivals.total) - deadline
    misses = 0.0
    while fits - misses > _PRECISION_S:
        middle = (fits + misses) / 2
        if _fitting(cost, arrivals, deadline + middle) is None:
            misses = middle
        else:
            fits = middle
    return fits
