"""Chooses at which of a few candidate times a report runs, by the best plan of each choice.

Each candidate is a time point of one planning request, with its price and what has arrived by then.
The search that plans the runs compares sets of opened runs anyway, and charges each its fixed cost;
here it is told which of them would be in time. It searches a few of each size
(:mod:`forerun.planner.materialize.opened_sets`).

Time comes before money. A set whose runs would overlap, or whose final run would miss the deadline,
is dearer than any that does not. Where batch itself misses it, early runs are opened whatever they
cost: the cheapest of the planned sets that is in time, else as few runs as are enough, each as late
as possible, as in section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Protocol

from forerun.planner import api
from forerun.planner.cost.constants import MICRO
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.request import PlanRequest
from forerun.planner.schedule.others import UNSHARED, Cores

MOST_CANDIDATES = 11
"""So many early times are compared at most; with the final run they are a dozen."""


class RunSecondsForecast(Protocol):
    """Forecasts the wall seconds of a run."""

    def __call__(self, cost_s: float, batches: int = 1) -> float:
        """Wall seconds of a run of so many estimated CPU seconds that merges so many batches."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The instants at which the runs would start. ``starts`` has one for each time point of the
    request; ``due`` is the instant by which the final run has to be done; ``work``: estimated CPU
    seconds of the day as one batch, by which sets are judged before they are planned; ``seconds``
    forecasts runs, ``cores`` when they can begin."""

    starts: tuple[float, ...]
    due: float
    work: float
    seconds: RunSecondsForecast
    cores: Cores = UNSHARED

    def early_end(self, run: int, cost_s: float) -> float:
        """Return when the early run at a time point ends."""
        seconds = self.seconds(cost_s)
        return self.cores.opens(self.starts[run - 1], seconds) + seconds

    def final_end(self, cost_s: float, batches: int) -> float:
        """Return when the final run ends."""
        seconds = self.seconds(cost_s, batches)
        return self.cores.final_begins(self.starts[-1], seconds) + seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTimes:
    """``opened``: the time points of the runs, by number from 1, the final one last. ``forced``:
    the early runs are there for the deadline, whatever they cost. ``missing``: seconds by which it
    is forecast to be missed all the same. ``cost`` and ``batch`` are weighted, in CPU seconds;
    ``work`` has those of each run, as they are. ``why`` is a sentence for people. ``planned``: how
    many sets were planned."""

    opened: tuple[int, ...]
    forced: bool
    missing: float
    cost: float
    batch: float
    work: tuple[float, ...]
    why: str
    planned: int


def choose_times(
    request: PlanRequest, most_early: int, timing: Timing | None = None
) -> ChosenTimes:
    """Choose at most so many early runs among the time points from the current one on. Without a
    timing, every set is possible in time. Raises what planning raises."""
    return _Choice(request, most_early, timing).choose()


class _Choice:
    def __init__(self, request: PlanRequest, most_early: int, timing: Timing | None) -> None:
        self._request = request
        self._last = len(request.points)
        self._early = range(request.current, self._last)
        self._most = min(most_early, len(self._early))
        self._timing = timing
        base = request.committed[-1].index if request.committed else 0
        self._base_arrived = request.points[base - 1].arrived if base else 0.0

    def choose(self) -> ChosenTimes:
        sets = tuple(self._sets())
        # What each method gives alone is seldom better, and the plan of each run looks at it anew.
        settings = replace(self._request.settings, compare=0)
        found = api.plan(replace(self._request, open_sets=sets, settings=settings))
        decision = found.decision
        best, batch = decision.chosen, decision.late
        if self._is_timely(best):
            return self._chosen(best, batch, forced=False, planned=decision.searched)
        others = [batch, *(one for one in decision.rejected if one.keeps)]
        timely = [one for one in others if self._is_timely(one)]
        if timely:
            best = min(timely, key=lambda one: (one.rank, one.opened))
            return self._chosen(best, batch, forced=best.keeps, planned=decision.searched)
        best, tried = self._for_the_deadline(batch)
        return self._chosen(
            best, batch, forced=best is not batch, planned=decision.searched + tried
        )

    def _for_the_deadline(self, batch: Candidate) -> tuple[Candidate, int]:
        """The fewest early runs with which the deadline is met, or missed by least; batch where
        none of them helps. And how many sets were tried."""
        best, tried = batch, 0
        for count in range(1, self._most + 1):
            chain = self._latest_chain(count)
            if chain is None:
                break
            tried += 1
            asked = replace(self._request, method="progressive", may_open=chain)
            one = self._with_starts(api.plan(asked).decision.chosen)
            if self._missing(one) < self._missing(best) and not self._overlaps(one):
                best = one
            if not self._missing(best):
                break
        return best, tried

    def _with_starts(self, one: Candidate) -> Candidate:
        """A plan whose runs were taken to be there anyway, with what starting them costs."""
        start = round(self._request.settings.prices.run_start)
        weights = sum(self._request.points[run - 1].weight for run in one.opened)
        by_run = tuple(cost + start for cost in one.by_run)
        return replace(one, by_run=by_run, total=one.total + start * weights)

    # -- sets ------------------------------------------------------------------------------------

    def _sets(self) -> Iterator[tuple[int, ...]]:
        """The sets of early runs that would be in time, and none."""
        yield ()
        for size in range(1, self._most + 1):
            yield from filter(self._fits, combinations(self._early, size))

    def _latest_chain(self, count: int) -> tuple[int, ...] | None:
        """Return ``count`` early time points, each as late as it can be to end before the next
        begins; None if there is no such chain. Rows that come before the first of them are the
        longest."""
        fitting = filter(self._fits, combinations(self._early, count))
        return max(fitting, key=lambda one: one[::-1], default=None)

    # -- time ------------------------------------------------------------------------------------

    def _fits(self, early: Sequence[int]) -> bool:
        """Return whether each early run would end before the next run, if it costs as much of batch
        as it has of the rows."""
        timing = self._timing
        if timing is None:
            return True
        arrived = self._base_arrived
        for run, following in pairwise((*early, self._last)):
            share = max(0.0, self._request.points[run - 1].arrived - arrived)
            end = timing.early_end(run, share * timing.work)
            if share <= 0 or end > timing.starts[following - 1]:
                return False
            arrived = self._request.points[run - 1].arrived
        return True

    def _overlaps(self, one: Candidate) -> bool:
        timing = self._timing
        if timing is None:
            return False
        costs = zip(pairwise(one.opened), one.by_run, strict=False)
        return any(
            timing.early_end(run, cost / MICRO) > timing.starts[following - 1]
            for (run, following), cost in costs
        )

    def _missing(self, one: Candidate) -> float:
        """Seconds by which the final run would miss the deadline."""
        timing = self._timing
        if timing is None:
            return 0.0
        batches = len(self._request.committed) + len(one.opened)
        return max(0.0, timing.final_end(one.by_run[-1] / MICRO, batches) - timing.due)

    def _is_timely(self, one: Candidate) -> bool:
        return not self._overlaps(one) and not self._missing(one)

    # -- the answer ------------------------------------------------------------------------------

    def _chosen(
        self, best: Candidate, batch: Candidate, *, forced: bool, planned: int
    ) -> ChosenTimes:
        missing = self._missing(best)
        return ChosenTimes(
            opened=best.opened,
            forced=forced,
            missing=missing,
            cost=best.total / MICRO,
            batch=batch.total / MICRO,
            work=tuple(cost / MICRO for cost in best.by_run),
            why=_why(best, batch, missing, self._missing(batch), forced=forced),
            planned=planned,
        )


def _why(
    best: Candidate, batch: Candidate, missing: float, batch_missing: float, *, forced: bool
) -> str:
    """Say for people what was chosen and why."""
    early = len(best.opened) - 1
    runs = "1 early run" if early == 1 else f"{early} early runs"
    parts = []
    if batch_missing:
        parts.append(f"one batch would miss the deadline by {batch_missing:,.0f} s")
    if forced:
        parts.append(f"{runs} for the deadline, whatever they cost")
    if early:
        ratio = best.total / batch.total
        side = "below" if ratio <= 1 else "above"
        parts.append(f"{runs}, {abs(1 - ratio):.0%} {side} batch by price")
    elif not batch_missing:
        parts.append("batch: no early run is clearly cheaper")
    if missing:
        parts.append(f"even so the deadline is forecast to be missed by {missing:,.0f} s")
    return "; ".join(parts)
