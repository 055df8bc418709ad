"""The times at which the runs of one report may start: where something changes.

A price begins, or is about to rise; a part of the rows has come; a source is complete; the deadline
asks for it. The final run does the same work whenever it starts, so its time is no matter of plans:
it is the cheapest between the instant from which it may start and the latest safe one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.batch_cost import PartsOfDay
from forerun.planner.schedule.night import WHOLE
from forerun.planner.schedule.others import UNSHARED, Cores
from forerun.planner.schedule.piecewise import TICK
from forerun.planner.schedule.run_time_search import thin
from forerun.planner.schedule.single import Feasible, schedule_single
from forerun.planner.schedule.step_curve import StepCurve

PARTS = (0.25, 0.5, 0.75, 0.9)
"""Of what is still to come, so much has come at a candidate time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestOfDay:
    """The rest of a report's day from ``now`` on.

    ``curves`` are those of the growing sources. The final run may start from ``ready`` on if they
    are complete then, and has to by ``latest`` to be safe; ``due`` is when it has to be done.
    ``seconds`` forecasts the run that does a part of the day's work, from 0 to 1, and merges so
    many batches. ``cores`` says when runs can begin where others share them, and ``given`` has the
    times of the early runs as the night was decided.
    """

    now: float
    ready: float
    latest: float
    due: float
    curves: Mapping[str, ArrivalCurve]
    prices: StepCurve
    seconds: Callable[[float, int], float]
    cores: Cores = UNSHARED
    given: tuple[float, ...] = ()

    def arrived(self, instant: float) -> dict[str, float]:
        """The fraction of each growing source that is there at an instant."""
        return {
            name: min(1.0, curve.rows_at(instant) / curve.total)
            for name, curve in self.curves.items()
        }

    def mean_arrived(self, instant: float) -> float:
        """The fraction of the day that is there: the mean over the sources."""
        shares = self.arrived(instant).values()
        return sum(shares) / len(shares) if shares else 1.0

    @property
    def complete(self) -> float:
        """Return when the last row is forecast to come."""
        return max((curve.complete_at for curve in self.curves.values()), default=self.now)

    @property
    def expected(self) -> float:
        """Return when the final run will really start: it waits for a source that is late, but for
        no forecast of that."""
        return max(self.final, min(self.complete, self.latest))

    @property
    def final(self) -> float:
        """Return the instant for which the final run is scheduled: where it is cheapest, the
        earliest of equals, of the times at which it gets its cores early enough to be safe. It is
        not put off for a crowd: a run that waits for cores has its turn before one that comes
        later."""
        seconds = self.seconds(1.0, 1)
        begin = max(self.ready, self.now)
        end = min(self.latest, self.prices.end - seconds)
        times = [begin, *self.prices.breakpoints(begin, max(begin, end))]

        def rank(at: float) -> tuple[float, float, float, float]:
            begins = self.cores.final_begins(at, seconds)
            late, unsafe = begins + seconds - self.due, begins - self.latest
            price = self.prices.integral(
                min(begins, self.prices.end), min(begins + seconds, self.prices.end)
            )
            return round(max(0.0, late), 3), round(max(0.0, unsafe), 3), round(price, 6), at

        return min(times, key=rank)

    def early(self, most: int) -> tuple[float, ...]:
        """The times at which an early run may start, at most so many, in order of time."""
        final = self.final
        times = (at for at in self._early_times() if self.now <= at)
        opens = (self.cores.opens(at, self._seconds_of_all(at)) for at in times)
        found = {at for at in opens if at < final - TICK}
        some = sorted(at for at in found if self.mean_arrived(at) > 0)
        return tuple(thin(some, most))

    def _early_times(self) -> Iterator[float]:
        yield self.now
        yield from self.given
        arrivals = self.arrivals_until(self.ready)
        there = arrivals.rows_at(self.now)
        for part in PARTS:
            yield arrivals.time_of(round(there + part * (arrivals.total - there)))
        for curve in self.curves.values():
            yield curve.complete_at
        for at in self.prices.breakpoints(self.now, self.ready):
            yield at
            # The last start from which all that is there is done before the price changes.
            yield self.cores.early_by(at, self._seconds_of_all(at))
        batches = schedule_single(PartsOfDay(self.seconds, WHOLE), arrivals, self.due)
        if isinstance(batches, Feasible):
            yield from (batch.start for batch in batches.batches)
        # What is there shortly before the final run is the last that can be taken off it.
        yield self.cores.early_by(self.ready, self.seconds(1.0, 1))
        yield self.cores.early_by(self.ready, self.seconds(0.5, 1))

    def _seconds_of_all(self, at: float) -> float:
        """Return the forecast seconds of a run over all rows that are there at an instant."""
        return self.seconds(self.mean_arrived(at), 1)

    def arrivals_until(self, end: float) -> ArrivalCurve:
        """The parts of the day as one curve of rows, complete at an instant."""
        edges = {x for curve in self.curves.values() for x in curve.rows.xs}
        knots = sorted({*(x for x in edges if x < end), end})
        rows = [(x, WHOLE * self.mean_arrived(x)) for x in knots[:-1]]
        return arrival_curve([*rows, (end, float(WHOLE))])
