"""Decides when the reports of a cluster run: each planned against a price, then placed by laxity.

This is the one decision about who has which hour, a function of what is known now: before the night
of all reports; in the night of the rest of it, where one of them is decided anew, and the others
keep what was decided for them unless it is in somebody's way.

Reports are planned one by one, the least lax first, and a congestion price is added where planned
cores exceed the ceiling. Then all runs are placed without preemption, report by report, the least
lax first, each run at the first instant from its planned one on at which its cores are free. If
nobody loses a deadline or a reserve by waiting, that is the plan.

Else those that lie where cores are short are planned again, the most lax first, for a counted
number of rounds (:mod:`forerun.planner.schedule.congestion`), and placed. Where a deadline is
missed, the report is tried as soon as its source is complete; if it is still missed, the report
waits until the others have their places, goes before all of them the next time, and everything is
placed again, a counted number of times. The best placement is kept.

One run of each report as soon as its source is complete is placed, too. The plan with the fewest
missed deadlines is handed out, so never one that misses more than that; and of those that miss as
many, the one that misses the fewest which would have been met so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.cluster import FreeCores, NightCluster, TakenCores, peak
from forerun.planner.schedule.congestion import Congestion
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.piecewise import TICK
from forerun.planner.schedule.run_time_search import RunTimeSearch

ROUNDS = 8
"""Rounds of congestion prices."""

REPAIRS = 6
"""How often everything is placed again, with what missed its deadline first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPlan:
    """A plan for every report, in the order in which they were given. ``moved``: those whose runs
    are others than were decided for them before, by name. ``rounds``: of congestion prices;
    ``over``: core seconds above the ceiling that the repair had to move; ``repairs``: how often
    everything was placed again."""

    plans: tuple[ReportPlan, ...]
    moved: frozenset[str] = frozenset()
    rounds: int
    over: float
    repairs: int

    @property
    def cost(self) -> float:
        """Return the core seconds of all runs, times the prices of the cluster."""
        return sum(plan.cost for plan in self.plans)

    @property
    def peak(self) -> float:
        """The most cores that are busy at once."""
        return peak(
            (run.start, run.end, plan.report.cores) for plan in self.plans for run in plan.runs
        )

    @property
    def missed(self) -> tuple[ReportPlan, ...]:
        """The plans that do not meet their deadline."""
        return tuple(plan for plan in self.plans if plan.missing)


def plan_night(
    reports: Sequence[NightReport],
    cluster: NightCluster,
    *,
    taken: Sequence[TakenCores] = (),
    on_report: Callable[[], None] = lambda: None,
) -> NightPlan:
    """Plan a night, beside the cores that are ``taken`` already. ``on_report`` is called once for
    each report when its first plan is there.

    Raises :class:`ScheduleError` for two reports of one name, a report that needs more cores than
    the ceiling ever has, and a night that ends before all is done.
    """
    names = [report.name for report in reports]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ScheduleError(f"there are two reports {twice}", hint="Give each its own name.")
    night = _Night(cluster, tuple(taken))
    times = [RunTimeSearch(report, cluster) for report in reports]
    wanted = night.wanted(times, on_report)
    placed, rounds, over, repairs = night.placed(wanted, ()), 0, 0.0, 0
    if any(_costs_time(one, plan) for one, plan in zip(wanted, placed, strict=True)):
        wanted, rounds, over = night.negotiated(times, wanted)
        batch = night.placed([one.earliest_batch(cluster.prices) for one in times], ())
        placed, repairs = night.repaired(wanted, batch)
    pairs = zip(wanted, placed, strict=True)
    moved = (plan.report.name for one, plan in pairs if _is_moved(one, plan))
    return NightPlan(
        plans=tuple(placed), moved=frozenset(moved), rounds=rounds, over=over, repairs=repairs
    )


def _costs_time(wanted: ReportPlan, placed: ReportPlan) -> bool:
    """Return whether a deadline is missed, or a reserve lost by waiting for cores."""
    return placed.missing > 0 or placed.short > wanted.short + TICK


def _is_moved(wanted: ReportPlan, placed: ReportPlan) -> bool:
    """Return whether a plan is another than was decided before. One that only waits for its cores
    is the same, also where an early run would wait for so long that the final one does its work: it
    may have its turn sooner."""
    old = wanted.report.decided
    return wanted.runs != old or placed.runs[-1].start < old[-1].start - TICK


def at_fixed_times(
    reports: Sequence[NightReport], cluster: NightCluster, times: Sequence[float]
) -> tuple[ReportPlan, ...]:
    """Return the plans to compare with: each report at the same times, the last of them for its
    final run, or as soon as its source is complete. Nobody looks at the ceiling yet
    (:func:`place_all` does)."""
    plans = []
    for report in reports:
        complete, done = report.arrivals.complete_at, 0
        runs: list[PlannedRun] = []
        for at in times[:-1]:
            rows = report.arrivals.rows_at(at) - done
            seconds = report.cost.cost(rows)
            if rows > 0 and at + seconds <= complete:
                runs.append(PlannedRun(start=at, rows=rows, seconds=seconds))
                done += rows
        rows = report.arrivals.total - done
        seconds = report.cost.cost(rows) + report.cost.final_aggregation(len(runs) + 1)
        start = cluster.opens(max(times[-1], complete), seconds)
        final = PlannedRun(start=start, rows=rows, seconds=seconds)
        plans.append(_priced(report, (*runs, final), cluster))
    return tuple(plans)


def place_all(plans: Sequence[ReportPlan], cluster: NightCluster) -> NightPlan:
    """Plans that did not look at the ceiling, placed under it by least laxity."""
    placed = _Night(cluster, ()).placed(plans, ())
    return NightPlan(plans=tuple(placed), rounds=0, over=0.0, repairs=0)


@dataclass(frozen=True, slots=True)
class _Night:
    """The cores of a night, and those that are taken already."""

    cluster: NightCluster
    taken: tuple[TakenCores, ...]

    # -- prices ----------------------------------------------------------------------------------

    def wanted(
        self, times: Sequence[RunTimeSearch], on_report: Callable[[], None]
    ) -> list[ReportPlan]:
        """The plan of each report as it was decided, or at the prices that others leave."""
        congestion = self._congestion()
        found: dict[int, ReportPlan] = {}
        for i in _by_slack(times):
            report = times[i].report
            if report.decided:
                found[i] = _priced(report, report.decided, self.cluster)
            else:
                found[i] = times[i].best(congestion.tariff(report.cores))
            congestion.add(found[i])
            on_report()
        return [found[i] for i in range(len(times))]

    def negotiated(
        self, times: Sequence[RunTimeSearch], wanted: Sequence[ReportPlan]
    ) -> tuple[list[ReportPlan], int, float]:
        """A plan for each report, and how many rounds it took; what is still over the ceiling."""
        congestion, found, rounds = self._congestion(), list(wanted), 0
        for plan in wanted:
            congestion.add(plan)
        while congestion.over() > 0 and rounds < ROUNDS:
            rounds += 1
            congestion.remember()
            for i in reversed(_by_slack(times)):
                if not times[i].report.keeps and congestion.is_over(found[i]):
                    congestion.add(found[i], -1.0)
                    found[i] = times[i].best(congestion.tariff(times[i].report.cores))
                    congestion.add(found[i])
        return found, rounds, congestion.over()

    def _congestion(self) -> Congestion:
        congestion = Congestion(self.cluster)
        for one in self.taken:
            congestion.take(one)
        return congestion

    # -- repair ----------------------------------------------------------------------------------

    def repaired(
        self, wanted: Sequence[ReportPlan], batch: Sequence[ReportPlan]
    ) -> tuple[list[ReportPlan], int]:
        """All runs placed under the ceiling, and how often that took. What is late goes first the
        next time; the best of all placements is kept."""
        first: list[str] = []
        best = last = self.placed(wanted, first)
        repairs = 0
        while repairs < REPAIRS:
            late = _late_by_choice(last, batch) or [p.report.name for p in last if p.missing]
            late = [name for name in late if name not in first]
            if not late:
                break
            repairs += 1
            first += late
            last = self.placed(wanted, first)
            best = min(best, last, key=lambda plans: _lateness(plans, batch))
        best = min(best, list(batch), key=lambda plans: _lateness(plans, batch))
        return best, repairs

    def placed(self, wanted: Sequence[ReportPlan], first: Sequence[str]) -> list[ReportPlan]:
        """Every plan where its cores are free, those that are named ``first`` before the others.
        What would be late waits until the others have their places: it takes no deadline along
        with its own."""
        free = FreeCores(self.cluster, self.taken)
        found: dict[int, ReportPlan] = {}
        order = sorted(
            range(len(wanted)),
            key=lambda i: (wanted[i].report.name not in first, *wanted[i].place(self.cluster)),
        )
        for late_too in (False, True):
            for i in order:
                if i not in found:
                    plan = _place(wanted[i], self.cluster, free)
                    if late_too or not plan.missing:
                        found[i] = plan
                        for run in plan.runs:
                            free.take(run.start, run.seconds, plan.report.cores)
        return [found[i] for i in range(len(wanted))]


def _by_slack(times: Sequence[RunTimeSearch]) -> list[int]:
    """The places of reports, those first that have least seconds between their last row and their
    deadline which one batch does not need; by name among those that have as many."""

    def slack(i: int) -> tuple[float, str]:
        report = times[i].report
        return report.latest_batch + report.reserve - report.arrivals.complete_at, report.name

    return sorted(range(len(times)), key=slack)


def _late_by_choice(plans: Sequence[ReportPlan], batch: Sequence[ReportPlan]) -> list[str]:
    """The reports that miss a deadline which one batch of each report would meet."""
    pairs = zip(plans, batch, strict=True)
    return [plan.report.name for plan, one in pairs if plan.missing and not one.missing]


def _lateness(plans: Sequence[ReportPlan], batch: Sequence[ReportPlan]) -> tuple[int, int, float]:
    late = [plan.missing for plan in plans if plan.missing]
    return len(late), len(_late_by_choice(plans, batch)), sum(late)


def _place(wanted: ReportPlan, cluster: NightCluster, free: FreeCores) -> ReportPlan:
    """A plan at its own times, or a little later; earlier, or as one batch, where that is late."""
    tried = [_moved(wanted, cluster, free, wanted.runs[-1].start)]
    complete = max(wanted.report.arrivals.complete_at, cluster.start)
    if tried[0].missing and not wanted.report.keeps:
        tried.append(_moved(wanted, cluster, free, complete))
        batch = PlannedRun(
            start=complete,
            rows=wanted.report.arrivals.total,
            seconds=wanted.report.batch_seconds,
        )
        alone = ReportPlan(report=wanted.report, runs=(batch,), cost=0.0)
        tried.append(_moved(alone, cluster, free, complete))
    return min(tried, key=lambda plan: plan.rank)


def _moved(
    wanted: ReportPlan, cluster: NightCluster, free: FreeCores, final_from: float
) -> ReportPlan:
    """The plan with each run where its cores are free. An early run that cannot be before the
    source is complete is left out, and its rows are the next one's."""
    report = wanted.report
    runs: list[PlannedRun] = []
    done, after = 0, cluster.start
    for planned in wanted.runs[:-1]:
        start = free.earliest(max(planned.start, after), planned.seconds, report.cores)
        rows = report.arrivals.rows_at(start) - done
        seconds = report.cost.cost(rows)
        if wanted.runs == report.decided:
            # Whoever decided knew better what its runs take than its cost model says.
            seconds = planned.seconds if start <= planned.start else max(seconds, planned.seconds)
        if seconds > planned.seconds:
            start = free.earliest(start, seconds, report.cores)
        if start + seconds <= report.arrivals.complete_at and rows > 0:
            runs.append(PlannedRun(start=start, rows=rows, seconds=seconds))
            done, after = done + rows, start + seconds
    rows = report.arrivals.total - done
    seconds = report.cost.cost(rows) + report.cost.final_aggregation(len(runs) + 1)
    if wanted.runs == report.decided and len(runs) + 1 == len(wanted.runs):
        seconds = wanted.runs[-1].seconds
    start = free.earliest(max(final_from, after), seconds, report.cores)
    runs.append(PlannedRun(start=start, rows=rows, seconds=seconds))
    return _priced(report, tuple(runs), cluster)


def _priced(report: NightReport, runs: tuple[PlannedRun, ...], cluster: NightCluster) -> ReportPlan:
    cost = sum(report.cores * cluster.prices.integral(run.start, run.end) for run in runs)
    return ReportPlan(report=report, runs=runs, cost=cost)
