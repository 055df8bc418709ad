"""Reports that decide their times one at a time, as in Airflow: a part of ``make bench-schedule``.

Nights are generated (``nights``), and each report chooses its times for itself: by the candidates
and the rules of Airflow's choosing (``candidate_times``, ``others``), with a cost model in place of
planned runs. Once each as if it were alone, once beside the others of its cluster. The reports
decide in a random order when the day opens, and again, in order of time, before their first early
run. Then the night is run with surprises; cores are given by laxity both times.

    python -m tests.benchmarks deciding
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations, pairwise

from forerun.planner.schedule.candidate_times import RestOfDay
from forerun.planner.schedule.choose import MOST_CANDIDATES
from forerun.planner.schedule.cluster import Cluster, TakenCores
from forerun.planner.schedule.many import plan_night
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.night_course import run_night
from forerun.planner.schedule.others import UNSHARED, Cores, Others
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.night_sweep import part_of, turnouts
from tests.benchmarks.nights import MIDNIGHT, GeneratedNight, generate_night
from tests.benchmarks.page import SCHEDULE_PAGE

_MOST_EARLY = 3


@dataclass(frozen=True, slots=True)
class Decided:
    """A night that was run with the times that were decided as if alone, beside the others, and
    planned for all at once: deadlines missed, core seconds by price, and ``lost``: those that were
    missed beside the others and met alone. ``seconds`` of CPU that deciding beside others took."""

    missed: tuple[int, int, int]
    paid: tuple[float, float, float]
    lost: int
    seconds: float


def run_decided(seed: int, reports: int, part: float = 1.0) -> Decided:
    """One night of so many reports, with a part of the ceiling that is generated for them."""
    generated = generate_night(seed, reports)
    night = GeneratedNight(generated.reports, part_of(generated, part))
    day = turnouts(random.Random(f"decided/{seed}"), night)
    alone = decide(night, seed, beside=False)
    started = time.process_time()
    beside = decide(night, seed, beside=True)
    seconds = time.process_time() - started
    planned = plan_night(night.reports, night.cluster).plans
    courses = [run_night(plans, night.cluster, day) for plans in (alone, beside, planned)]
    late = [{course.name for course in one.missed} for one in courses]
    return Decided(
        missed=(len(late[0]), len(late[1]), len(late[2])),
        paid=(courses[0].cost, courses[1].cost, courses[2].cost),
        lost=len(late[1] - late[0]),
        seconds=seconds,
    )


def decide(night: GeneratedNight, seed: int, *, beside: bool) -> list[ReportPlan]:
    """The times that all reports have decided, in the order of the night."""
    order = list(range(len(night.reports)))
    random.Random(f"order/{seed}").shuffle(order)
    found: dict[int, ReportPlan] = {}
    said: dict[int, list[TakenCores]] = {}

    def decided(i: int, now: float) -> None:
        cores = _beside(night, said, i, now) if beside else UNSHARED
        found[i] = _decided(night.reports[i], night.cluster, cores, now)
        said[i] = list(_wanted(found[i], cores))

    for i in order:
        decided(i, night.cluster.start)
    # A report without early runs decides once.
    for i in sorted(order, key=lambda one: found[one].runs[0].start):
        if beside and len(found[i].runs) > 1:
            decided(i, found[i].runs[0].start)
    return [found[i] for i in range(len(order))]


def _wanted(plan: ReportPlan, cores: Cores) -> Iterator[TakenCores]:
    """What a report says that it wants, for others to plan around."""
    for run in plan.runs:
        start = run.start
        if run is plan.runs[-1]:
            start = cores.final_begins(run.start, run.seconds)
        yield TakenCores(start=start, seconds=run.seconds, cores=plan.report.cores)


def _place(report: NightReport) -> tuple[float, str]:
    """Where a report stands in the order: the latest start of its final run, as one batch."""
    return report.deadline - max(report.reserve, report.batch_seconds), report.name


def _beside(
    night: GeneratedNight, said: dict[int, list[TakenCores]], own: int, now: float
) -> Others:
    """What those before a report leave of the cluster; who has begun has its cores, whoever it
    is."""
    report = night.reports[own]
    held, planned = [], []
    for number, wanted in said.items():
        for one in wanted if number != own else ():
            start = max(one.start, now)
            taken = TakenCores(start=start, seconds=one.end - start, cores=one.cores)
            if one.start < now < one.end:
                held.append(taken)
            elif one.start >= now and _place(night.reports[number]) < _place(report):
                planned.append(taken)
    return Others(night.cluster, report.cores, held, planned)


# -- one report ----------------------------------------------------------------------------------


def _decided(report: NightReport, cluster: Cluster, cores: Cores, now: float) -> ReportPlan:
    """The best of all sets of at most three early times: infeasible before dear."""
    total, cost = report.arrivals.total, report.cost
    latest, _ = _place(report)

    def seconds(part: float, batches: int) -> float:
        return cost.cost(round(part * total)) + cost.final_aggregation(batches)

    rest = RestOfDay(
        now=now,
        ready=MIDNIGHT,
        latest=latest,
        due=report.deadline,
        curves={"rows": report.arrivals},
        prices=cluster.prices,
        seconds=seconds,
        cores=cores,
    )
    early, final = rest.early(MOST_CANDIDATES), rest.expected
    sets = (one for size in range(_MOST_EARLY + 1) for one in combinations(early, size))
    plans = (plan for one in sets if (plan := _plan(report, one, final, cores)) is not None)

    def rank(plan: ReportPlan) -> tuple[float, float]:
        last = plan.runs[-1]
        paid = sum(cluster.prices.integral(run.start, run.end) for run in plan.runs)
        ends = cores.final_begins(last.start, last.seconds) + last.seconds
        return max(0.0, ends - report.deadline), paid

    return min(plans, key=rank)


def _plan(
    report: NightReport, early: Sequence[float], final: float, cores: Cores
) -> ReportPlan | None:
    """The runs at some times, None where an early run would not end before the next one."""
    runs: list[PlannedRun] = []
    done = 0
    for at, following in pairwise((*early, final)):
        rows = report.arrivals.rows_at(at) - done
        seconds = report.cost.cost(rows)
        start = cores.opens(at, seconds)
        if rows <= 0 or start + seconds > following:
            return None
        runs.append(PlannedRun(start=start, rows=rows, seconds=seconds))
        done += rows
    rows = report.arrivals.total - done
    seconds = report.cost.cost(rows) + report.cost.final_aggregation(len(runs) + 1)
    last = PlannedRun(start=final, rows=rows, seconds=seconds)
    return ReportPlan(report=report, runs=(*runs, last), cost=0.0)


# -- the page ------------------------------------------------------------------------------------


CASES = ((40, 1.0, 20), (100, 0.5, 10), (200, 0.5, 5))
"""Reports, the part of the ceiling, and how many nights: the last ones are overloaded."""


def cells(_given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the nights of each case, each of another warehouse."""

    def measure(seed: int, reports: int, part: float, _found: Found) -> Figures:
        return asdict(run_decided(seed, reports, part))

    for reports, part, nights in CASES:
        for seed in range(nights):
            one = partial(measure, seed, reports, part)
            yield Cell(name=(str(reports), f"{part:.0%}", f"night-{seed}"), measure=one)


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield two rows for each case."""
    rows = []
    for reports, part in dict.fromkeys(name[:2] for name in found):
        nights = [one for name, one in found.items() if name[:2] == (reports, part)]
        missed = [sum(one["missed"][i] for one in nights) for i in range(3)]
        paid = [sum(one["paid"][i] for one in nights) for i in range(3)]
        case = f"{reports}, {part}, {len(nights)}"
        rows.append((case, "deadlines missed", *(f"{n:,}" for n in missed)))
        shares = (f"{one / paid[0]:.3f}" for one in paid)
        rows.append(("", "core seconds by price, alone = 1", *shares))
    columns = ("as if alone", "beside the others", "all planned at once")
    yield from table(("reports, ceiling, nights", "", *columns), rows)
    yield ""
    lost = sum(one["lost"] for one in found.values())
    yield f"Deadlines that were met alone and missed beside the others: {lost}."


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda _given: "bench-deciding", page=SCHEDULE_PAGE
)
