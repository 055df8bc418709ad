"""Decides when the runs of reports are: one report after the other, each beside those before it.

All keep one order (:mod:`forerun.planner.schedule.others`), so a decision of one report is the same
whether it is made alone, when a task of its day asks for it, or together with those of the whole
night. Candidate times are those of :mod:`forerun.planner.schedule.candidate_times`. Here a set of
them is worth what its runs take by a cost model; :mod:`forerun.planner.schedule.choose` asks the
planner of the runs instead, where there are files to plan over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.candidate_times import MOST_CANDIDATES, RestOfDay
from forerun.planner.schedule.cluster import Cluster
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.others import Cores, Others, TakenCores
from forerun.planner.schedule.single import Feasible, schedule_single

_SOURCE = "rows"
"""A report of a night is its slowest source."""

_MOST_EARLY = 5
"""Sets of more early runs are not compared: there are too many, and each run has its start."""


def decide_all(
    reports: Sequence[NightReport],
    cluster: Cluster,
    held: Sequence[TakenCores] = (),
    *,
    on_report: Callable[[], None] = lambda: None,
) -> list[ReportPlan]:
    """Decide for all reports from the start of the cluster on, beside cores that are ``held`` then.
    The plans are in the order in which the reports were given; ``on_report`` is called for each.

    Where those before leave others no room for their final runs, all decide once more, so that
    final runs are short whatever the early ones pay; what misses fewer deadlines holds.

    Raises :class:`ScheduleError` for two reports of one name, for one that needs more cores than
    the ceiling ever has, and for one that ends after what is known of the cluster.
    """
    names = [report.name for report in reports]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ScheduleError(f"there are two reports {twice}", hint="Give each its own name.")
    found = _in_order(reports, cluster, held, on_report, short=False)
    if any(plan.missing for plan in found):
        shorter = _in_order(reports, cluster, held, lambda: None, short=True)
        found = min(found, shorter, key=lambda plans: sum(plan.missing > 0 for plan in plans))
    by_name = {plan.report.name: plan for plan in found}
    return [by_name[name] for name in names]


def _in_order(
    reports: Sequence[NightReport],
    cluster: Cluster,
    held: Sequence[TakenCores],
    on_report: Callable[[], None],
    *,
    short: bool,
) -> list[ReportPlan]:
    shared, found = Others(cluster, 0.0, held), list[ReportPlan]()
    for report in sorted(reports, key=place):
        cores = shared.to(report.cores)
        found.append(decide(report, cluster, cores, cluster.start, short=short))
        for one in wanted(found[-1], cores):
            shared.plan(one)
        on_report()
    return found


def place(report: NightReport) -> tuple[float, str]:
    """Return where a report stands in the order of all: by the latest start of its final run."""
    return report.latest_start, report.name


def wanted(plan: ReportPlan, cores: Cores) -> Iterator[TakenCores]:
    """Return what a report wants of its cluster, for those after it."""
    for run in plan.runs:
        begins = cores.has_turn(run.start, run.seconds)
        yield TakenCores(start=begins, seconds=run.seconds, cores=plan.report.cores)


def decide(
    report: NightReport, cluster: Cluster, cores: Cores, now: float, *, short: bool = False
) -> ReportPlan:
    """Return the best times of one report from ``now`` on.

    The deadline comes before the reserve, and that before what is paid; with ``short``, a final run
    that takes less time comes before what is paid, too.
    """
    _check(report, cluster, now)
    if report.times:
        return at_times(report, cluster, [at for at in report.times if at > now] or [now])

    def seconds(part: float, batches: int) -> float:
        rows = round(part * report.arrivals.total)
        return report.cost.cost(rows) + report.cost.final_aggregation(batches)

    rest = RestOfDay(
        now=now,
        ready=max(now, report.arrivals.complete_at),
        latest=report.latest_start,
        due=report.deadline,
        curves={_SOURCE: report.arrivals},
        prices=cluster.prices,
        seconds=seconds,
        cores=cores,
    )
    return _Sets(report, cluster, cores, rest).best(short=short)


class _Sets:
    """The sets of a report's candidate times, by what their runs take and pay."""

    def __init__(
        self, report: NightReport, cluster: Cluster, cores: Cores, rest: RestOfDay
    ) -> None:
        self._report, self._cluster, self._cores = report, cluster, cores
        self._starts = rest.early(MOST_CANDIDATES) if report.at_most > 1 else ()
        self._finals = sorted({rest.ready, rest.expected})
        self._rows = [0, *(report.arrivals.rows_at(at) for at in self._starts)]
        self._runs: dict[tuple[int, int], PlannedRun] = {}
        self._ends: dict[tuple[int, int], float] = {}
        for before in range(len(self._starts)):
            for run in range(before + 1, len(self._starts) + 1):
                self._add(before, run)

    def best(self, *, short: bool) -> ReportPlan:
        most = min(_MOST_EARLY, self._report.at_most - 1, len(self._starts))
        found = [
            self._plan(one, final)
            for final in self._finals
            for size in range(most + 1)
            for one in self._in_time(size, final)
        ]

        def rank(plan: ReportPlan) -> tuple[float, ...]:
            missing, unkept, cost = plan.rank
            return missing, unkept, plan.final.seconds if short else 0.0, cost

        return min([*found, *self._section_3_1()], key=rank)

    def _in_time(self, size: int, final: float) -> Iterator[tuple[int, ...]]:
        """The sets of so many early runs of which each is over before the next one begins."""
        for one in combinations(range(1, len(self._starts) + 1), size):
            starts = (*(self._starts[run - 1] for run in one[1:]), final)
            pairs = zip(pairwise((0, *one)), starts, strict=False)
            if all(pair in self._ends and self._ends[pair] <= start for pair, start in pairs):
                yield one

    def _add(self, before: int, run: int) -> None:
        rows = self._rows[run] - self._rows[before]
        if rows <= 0:
            return
        at, seconds = self._starts[run - 1], self._report.cost.cost(rows)
        self._ends[before, run] = self._cores.has_turn(at, seconds) + seconds
        self._runs[before, run] = PlannedRun(
            start=self._cores.opens(at, seconds), rows=rows, seconds=seconds
        )

    def _plan(self, early: tuple[int, ...], final: float) -> ReportPlan:
        runs = [self._runs[pair] for pair in pairwise((0, *early))]
        return self._with_final(runs, self._rows[early[-1] if early else 0], final)

    def _with_final(self, early: Sequence[PlannedRun], done: int, start: float) -> ReportPlan:
        """Early runs and the final one, where it has its turn."""
        last = last_run(self._report, self._report.arrivals.total - done, len(early), start)
        begins = self._cores.has_turn(start, last.seconds)
        return priced(self._report, (*early, replace(last, start=begins)), self._cluster)

    def _section_3_1(self) -> Iterator[ReportPlan]:
        """The fewest batches that meet the deadline, if they have their turn as they are planned:
        where runs almost touch, no set of candidates may be in time."""
        report = self._report
        alone = schedule_single(report.cost, report.arrivals, report.deadline)
        batches = alone.batches if isinstance(alone, Feasible) else ()
        if not 1 < len(batches) <= report.at_most or batches[0].start < self._cluster.start:
            return
        runs = [PlannedRun(start=one.start, rows=one.rows, seconds=one.seconds) for one in batches]
        early = runs[:-1]
        if all(self._cores.has_turn(one.start, one.seconds) == one.start for one in early):
            yield self._with_final(early, sum(one.rows for one in early), runs[-1].start)


def last_run(report: NightReport, rows: int, early: int, start: float) -> PlannedRun:
    """Return the final run over so many rows, after so many early runs."""
    seconds = report.cost.cost(rows) + report.cost.final_aggregation(early + 1)
    return PlannedRun(start=start, rows=rows, seconds=seconds)


def at_times(report: NightReport, cluster: Cluster, times: Sequence[float]) -> ReportPlan:
    """Return a report at given times, the last of them for its final run, or as soon as its source
    is complete. An early run is left out that finds nothing, or would not be over by then. Nobody
    looks at the ceiling."""
    complete, done = report.arrivals.complete_at, 0
    runs: list[PlannedRun] = []
    for at in times[:-1]:
        rows = report.arrivals.rows_at(at) - done
        seconds = report.cost.cost(rows)
        if rows > 0 and at + seconds <= complete:
            runs.append(PlannedRun(start=at, rows=rows, seconds=seconds))
            done += rows
    last = last_run(report, report.arrivals.total - done, len(runs), 0.0)
    start = cluster.opens(max(times[-1], complete), last.seconds)
    return priced(report, (*runs, replace(last, start=start)), cluster)


def at_fixed_times(
    reports: Iterable[NightReport], cluster: Cluster, times: Sequence[float]
) -> list[ReportPlan]:
    """Return each report at the same times, which stay as they are: what is compared with."""
    fixed = (replace(report, times=tuple(times)) for report in reports)
    return [at_times(report, cluster, times) for report in fixed]


def priced(report: NightReport, runs: tuple[PlannedRun, ...], cluster: Cluster) -> ReportPlan:
    """Return the plan of a report with what its runs pay. Beyond what is known of prices nothing is
    paid."""
    end = cluster.end
    cost = sum(cluster.prices.integral(min(r.start, end), min(r.end, end)) for r in runs)
    return ReportPlan(report=report, runs=runs, cost=report.cores * cost)


def _check(report: NightReport, cluster: Cluster, now: float) -> None:
    if max(report.arrivals.complete_at, report.deadline, now) > cluster.end:
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
