"""Choose the early runs of one report and their times: the cheapest subset of a few candidate
times.

Candidates are where something changes: where a price begins or is about to rise, where parts of
the day's rows have come, when the source is complete, and the latest starts that meet the deadline,
by :mod:`forerun.planner.schedule.single` with as many batches as that takes. Of the subsets of
these, dynamic programming over (number of runs, last run) finds the best: the cheapest that meets
the deadline with its reserve, or the least late. It keeps one way for each number of runs and last
run, the cheapest; a dearer one that ends earlier may be needed where runs almost touch, which is
why the batches of section 3.1 are compared as they are, too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.cluster import NightCluster
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.piecewise import TICK
from forerun.planner.schedule.single import Feasible, Infeasible, schedule_single

QUANTILES = (0.25, 0.5, 0.75, 0.9)
MOST_EARLY, MOST_FINAL = 8, 7
"""Candidates for early runs and for the final one, at most."""


class Tariff(Protocol):
    """Prices of a core: their integral from one instant to another."""

    def integral(self, start: float, end: float) -> float: ...


@dataclass(frozen=True, slots=True)
class _EarlyRuns:
    """The cheapest way to so many early runs, the last of them at a candidate."""

    cost: float
    runs: tuple[PlannedRun, ...]
    done: int

    @property
    def free_from(self) -> float:
        return self.runs[-1].end if self.runs else -math.inf


class RunTimeSearch:
    """The candidate times of a report on a cluster, and the best of their subsets by a tariff.
    Raises :class:`ScheduleError` if the report can never have its cores."""

    def __init__(self, report: NightReport, cluster: NightCluster) -> None:
        self.report = report
        self._cluster = cluster
        complete = max(report.arrivals.complete_at, cluster.start)
        if max(complete, report.deadline) > cluster.end:
            raise ScheduleError(
                f"report {report.name} ends after what is known of the cluster",
                hint="Give ceiling and prices for longer.",
            )
        widest = max(cluster.ceiling.values)
        if report.cores > widest:
            raise ScheduleError(
                f"report {report.name} needs {report.cores:g} cores, and the ceiling is {widest:g}",
                hint="Raise the ceiling, or give the report fewer cores.",
            )
        self._complete = complete

    # Looked for where they are asked for: who keeps what was decided needs none of them.

    @functools.cached_property
    def _latest(self) -> Feasible | Infeasible:
        return schedule_single(self.report.cost, self.report.arrivals, self.report.deadline)

    @functools.cached_property
    def _finals(self) -> list[float]:
        return thin(sorted(set(self._final_times())), MOST_FINAL)

    @functools.cached_property
    def _early(self) -> list[float]:
        return thin(sorted(set(self._early_times())), MOST_EARLY)

    def best(self, tariff: Tariff) -> ReportPlan:
        """The best plan by a tariff; its own ``cost`` is by that tariff."""
        found = [
            self._finished(way, start, tariff)
            for way in self._ways(tariff)
            for start in self._finals
            if start >= way.free_from - TICK
        ]
        found += self._section_3_1(tariff)
        return min((plan for plan in found if plan is not None), key=lambda plan: plan.rank)

    def earliest_batch(self, tariff: Tariff) -> ReportPlan:
        """One run over everything, as soon as the source is complete."""
        start = self._cluster.opens(self._complete, self.report.batch_seconds)
        found = self._finished(_EarlyRuns(0.0, (), 0), start, tariff)
        if found is None:
            raise ScheduleError(f"report {self.report.name} does not end within the night")
        return found

    # -- the search ------------------------------------------------------------------------------

    def _ways(self, tariff: Tariff) -> Iterator[_EarlyRuns]:
        """The best ways with 0, 1, ... early runs."""
        ways = [_EarlyRuns(0.0, (), 0)]
        yield ways[0]
        for _ in range(self.report.at_most - 1):
            found = (self._best_to(at, ways, tariff) for at in self._early)
            ways = [way for way in found if way is not None]
            yield from ways

    def _best_to(self, at: float, ways: list[_EarlyRuns], tariff: Tariff) -> _EarlyRuns | None:
        """The cheapest way with one run more, at an instant; None if none is possible."""
        arrived = self.report.arrivals.rows_at(at)
        best: _EarlyRuns | None = None
        for way in ways:
            rows = arrived - way.done
            if rows <= 0 or at < way.free_from - TICK:
                continue
            seconds = self.report.cost.cost(rows)
            if at + seconds > self._cluster.end or not self._cluster.is_open(at, at + seconds):
                continue
            cost = way.cost + self.report.cores * tariff.integral(at, at + seconds)
            if best is None or cost < best.cost:
                run = PlannedRun(start=at, rows=rows, seconds=seconds)
                best = _EarlyRuns(cost, (*way.runs, run), arrived)
        return best

    def _finished(self, way: _EarlyRuns, start: float, tariff: Tariff) -> ReportPlan | None:
        """A way with its final run; None where that cannot run."""
        report = self.report
        rows = report.arrivals.total - way.done
        seconds = report.cost.cost(rows) + report.cost.final_aggregation(len(way.runs) + 1)
        end = start + seconds
        if end > self._cluster.end or not self._cluster.is_open(start, end):
            return None
        cost = way.cost + report.cores * tariff.integral(start, end)
        final = PlannedRun(start=start, rows=rows, seconds=seconds)
        return ReportPlan(report=report, runs=(*way.runs, final), cost=cost)

    def _section_3_1(self, tariff: Tariff) -> Iterator[ReportPlan | None]:
        """The batches that meet the deadline in the fewest runs, as far as the cluster is open, and
        one batch as early as possible: there is always a plan."""
        yield self.earliest_batch(tariff)
        batches = self._latest.batches if isinstance(self._latest, Feasible) else ()
        if not 0 < len(batches) <= self.report.at_most or batches[0].start < self._cluster.start:
            return
        way = _EarlyRuns(0.0, (), 0)
        for batch in batches[:-1]:
            if not self._cluster.is_open(batch.start, batch.end):
                return
            run = PlannedRun(start=batch.start, rows=batch.rows, seconds=batch.seconds)
            cost = self.report.cores * tariff.integral(batch.start, batch.end)
            way = _EarlyRuns(way.cost + cost, (*way.runs, run), way.done + batch.rows)
        yield self._finished(way, batches[-1].start, tariff)

    # -- candidates ------------------------------------------------------------------------------

    def _final_times(self) -> Iterator[float]:
        report, cluster = self.report, self._cluster
        whole = report.batch_seconds
        first = cluster.opens(self._complete, whole)
        last = cluster.latest(report.deadline - report.reserve, whole)
        yield first
        if isinstance(self._latest, Feasible):
            yield max(self._complete, self._latest.batches[-1].start)
        # After early runs less is left to do, and the final run may wait for a lower price.
        rest = report.cost.cost(max(1, round(0.1 * report.arrivals.total)))
        rest += report.cost.final_aggregation(2)
        until = cluster.latest(report.deadline - report.reserve, rest)
        spread = (last - first) / 3
        for at in (last, until, first + spread, first + 2 * spread):
            if at > first:
                yield at
        for at in cluster.prices.breakpoints(self._complete, max(until, self._complete)):
            yield at
            yield max(self._complete, at - rest)

    def _early_times(self) -> Iterator[float]:
        report, cluster = self.report, self._cluster
        begin = max(report.arrivals.time_of(1), cluster.start)
        if report.at_most == 1:
            return
        times = [report.arrivals.time_of(math.ceil(q * report.arrivals.total)) for q in QUANTILES]
        if report.arrivals.rows_at(cluster.start) > 0:
            times.append(cluster.start)  # of a day that has begun what is there can be done now
        for at in cluster.prices.breakpoints(begin, self._complete):
            times.append(at)
            # The last start from which everything that is there is done before the price changes.
            times.append(at - report.cost.cost(report.arrivals.rows_at(at)))
        for at in times:
            opened = cluster.opens(at, report.cost.cost(report.arrivals.rows_at(at)))
            if begin <= opened < self._complete:
                yield opened


def thin(times: list[float], most: int) -> list[float]:
    """Return at most ``most`` of the times in order, the first and the last among them; those
    closest to another are left out."""
    kept = list(times)
    while len(kept) > most:
        inner = range(1, len(kept) - 1)
        del kept[min(inner, key=lambda i: kept[i + 1] - kept[i - 1])]
    return kept
