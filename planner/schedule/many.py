"""Many reports under one ceiling: each planned alone against a price, then placed by least laxity.

Reports are planned one by one, the least lax first, and a congestion price is added where planned
cores exceed the ceiling; those that lie there are planned again, for a counted number of rounds
(:mod:`forerun.planner.schedule.congestion`). Then all runs are placed without preemption, report by
report, the least lax first, each run at the first instant from its planned one on at which its
cores are free. Where a deadline is missed that way, the report is tried as soon as its source is
complete; if it is still missed, the report waits until the others have their places, goes before
all of them the next time, and everything is placed again, a counted number of times. The best
placement is kept.

One run of each report as soon as its source is complete is placed, too. The plan with the fewest
missed deadlines is handed out, so never one that misses more than that; and of those that miss as
many, the one that misses the fewest which would have been met so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.cluster import Cluster, FreeCores, peak
from forerun.planner.schedule.congestion import Congestion
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.run_times import RunTimes

ROUNDS = 8
"""Rounds of congestion prices."""

REPAIRS = 6
"""How often everything is placed again, with what missed its deadline first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPlan:
    """A plan for every report, in the order in which they were given. ``rounds``: of congestion
    prices; ``over``: core seconds above the ceiling that the repair had to move; ``repairs``: how
    often everything was placed again."""

    plans: tuple[ReportPlan, ...]
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
    cluster: Cluster,
    *,
    on_report: Callable[[], None] = lambda: None,
) -> NightPlan:
    """Plan a night. ``on_report`` is called once for each report when its first plan is there.

    Raises :class:`ScheduleError` for two reports of one name, a report that needs more cores than
    the ceiling ever has, and a night that ends before all is done.
    """
    names = [report.name for report in reports]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ScheduleError(f"there are two reports {twice}", hint="Give each its own name.")
    times = [RunTimes(report, cluster) for report in reports]
    wanted, rounds, over = _negotiated(times, cluster, on_report)
    batch = _placed([one.earliest_batch(cluster.prices) for one in times], cluster, ())
    placed, repairs = _repaired(wanted, batch, cluster)
    return NightPlan(plans=tuple(placed), rounds=rounds, over=over, repairs=repairs)


def at_fixed_times(
    reports: Sequence[NightReport], cluster: Cluster, times: Sequence[float]
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


def place_all(plans: Sequence[ReportPlan], cluster: Cluster) -> NightPlan:
    """Plans that did not look at the ceiling, placed under it by least laxity."""
    return NightPlan(plans=tuple(_placed(plans, cluster, ())), rounds=0, over=0.0, repairs=0)


# -- prices --------------------------------------------------------------------------------------


def _negotiated(
    times: Sequence[RunTimes], cluster: Cluster, on_report: Callable[[], None]
) -> tuple[list[ReportPlan], int, float]:
    """A plan for each report, and how many rounds it took; what is still over the ceiling."""
    congestion = Congestion(cluster)
    order = sorted(range(len(times)), key=lambda i: _slack(times[i].report))
    found: dict[int, ReportPlan] = {}
    for i in order:
        found[i] = times[i].best(congestion.tariff(times[i].report.cores))
        congestion.add(found[i])
        on_report()
    rounds = 0
    while congestion.over() > 0 and rounds < ROUNDS:
        rounds += 1
        congestion.remember()
        for i in order:
            if congestion.is_over(found[i]):
                congestion.add(found[i], -1.0)
                found[i] = times[i].best(congestion.tariff(times[i].report.cores))
                congestion.add(found[i])
    return [found[i] for i in range(len(times))], rounds, congestion.over()


def _slack(report: NightReport) -> float:
    """Seconds between the last row and the deadline that one batch does not need."""
    return report.deadline - report.arrivals.complete_at - report.batch_seconds


# -- repair --------------------------------------------------------------------------------------


def _repaired(
    wanted: Sequence[ReportPlan], batch: Sequence[ReportPlan], cluster: Cluster
) -> tuple[list[ReportPlan], int]:
    """All runs placed under the ceiling, and how often that took. What is late goes first the next
    time; the best of all placements is kept."""
    first: list[str] = []
    best = last = _placed(wanted, cluster, first)
    repairs = 0
    while repairs < REPAIRS:
        late = _late_by_choice(last, batch) or [p.report.name for p in last if p.missing]
        late = [name for name in late if name not in first]
        if not late:
            break
        repairs += 1
        first += late
        last = _placed(wanted, cluster, first)
        best = min(best, last, key=lambda plans: _lateness(plans, batch))
    best = min(best, list(batch), key=lambda plans: _lateness(plans, batch))
    return best, repairs


def _late_by_choice(plans: Sequence[ReportPlan], batch: Sequence[ReportPlan]) -> list[str]:
    """The reports that miss a deadline which one batch of each report would meet."""
    pairs = zip(plans, batch, strict=True)
    return [plan.report.name for plan, one in pairs if plan.missing and not one.missing]


def _lateness(plans: Sequence[ReportPlan], batch: Sequence[ReportPlan]) -> tuple[int, int, float]:
    late = [plan.missing for plan in plans if plan.missing]
    return len(late), len(_late_by_choice(plans, batch)), sum(late)


def _placed(
    wanted: Sequence[ReportPlan], cluster: Cluster, first: Sequence[str]
) -> list[ReportPlan]:
    """Every plan where its cores are free, those that are named ``first`` before the others. What
    would be late waits until the others have their places: it takes no deadline along with its
    own."""
    free = FreeCores(cluster)
    found: dict[int, ReportPlan] = {}
    order = sorted(
        range(len(wanted)),
        key=lambda i: (
            wanted[i].report.name not in first,
            wanted[i].safe_start(cluster) - wanted[i].report.reserve,
            wanted[i].report.name,
        ),
    )
    for late_too in (False, True):
        for i in order:
            if i not in found:
                plan = _place(wanted[i], cluster, free)
                if late_too or not plan.missing:
                    found[i] = plan
                    for run in plan.runs:
                        free.take(run.start, run.seconds, plan.report.cores)
    return [found[i] for i in range(len(wanted))]


def _place(wanted: ReportPlan, cluster: Cluster, free: FreeCores) -> ReportPlan:
    """A plan at its own times, or a little later; earlier, or as one batch, where that is late."""
    tried = [_moved(wanted, cluster, free, wanted.runs[-1].start)]
    complete = max(wanted.report.arrivals.complete_at, cluster.start)
    if tried[0].missing:
        tried.append(_moved(wanted, cluster, free, complete))
        batch = PlannedRun(
            start=complete,
            rows=wanted.report.arrivals.total,
            seconds=wanted.report.batch_seconds,
        )
        alone = ReportPlan(report=wanted.report, runs=(batch,), cost=0.0)
        tried.append(_moved(alone, cluster, free, complete))
    return min(tried, key=lambda plan: plan.rank)


def _moved(wanted: ReportPlan, cluster: Cluster, free: FreeCores, final_from: float) -> ReportPlan:
    """The plan with each run where its cores are free. An early run that cannot be before the
    source is complete is left out, and its rows are the next one's."""
    report = wanted.report
    runs: list[PlannedRun] = []
    done, after = 0, cluster.start
    for planned in wanted.runs[:-1]:
        start = free.earliest(max(planned.start, after), planned.seconds, report.cores)
        rows = report.arrivals.rows_at(start) - done
        seconds = report.cost.cost(rows)
        if seconds > planned.seconds:
            start = free.earliest(start, seconds, report.cores)
        if start + seconds <= report.arrivals.complete_at and rows > 0:
            runs.append(PlannedRun(start=start, rows=rows, seconds=seconds))
            done, after = done + rows, start + seconds
    rows = report.arrivals.total - done
    seconds = report.cost.cost(rows) + report.cost.final_aggregation(len(runs) + 1)
    start = free.earliest(max(final_from, after), seconds, report.cores)
    runs.append(PlannedRun(start=start, rows=rows, seconds=seconds))
    return _priced(report, tuple(runs), cluster)


def _priced(report: NightReport, runs: tuple[PlannedRun, ...], cluster: Cluster) -> ReportPlan:
    cost = sum(report.cores * cluster.prices.integral(run.start, run.end) for run in runs)
    return ReportPlan(report=report, runs=runs, cost=cost)
