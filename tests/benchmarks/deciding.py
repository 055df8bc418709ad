"""Nights decided for all reports, and reports that choose alone: in ``make bench-schedule``.

Nights are generated (``nights``) and run with surprises; cores are given by laxity each time. Once
each report chooses its times for itself, as if it were alone, by the candidates of Airflow's
choosing (``candidate_times``), with a cost model in place of planned runs. Once the night is
decided for all before it begins, and the plan is followed. And once it is decided again as it goes
on, when early runs are due and sources complete, as in Airflow.

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
from forerun.planner.schedule.cluster import NightCluster
from forerun.planner.schedule.many import plan_night
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.night_course import run_night
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.night_sweep import part_of, turnouts
from tests.benchmarks.nights import MIDNIGHT, GeneratedNight, generate_night
from tests.benchmarks.page import SCHEDULE_PAGE

_MOST_EARLY = 3


@dataclass(frozen=True, slots=True)
class Decided:
    """A night that was run with the times that were decided as if alone, decided for all at once,
    and decided again as it went on: deadlines missed, core seconds by price, the most cores at once
    as a part of the ceiling, and ``lost``: deadlines that were met alone and missed at last.
    ``seconds`` of CPU that deciding again took."""

    missed: tuple[int, int, int]
    paid: tuple[float, float, float]
    peak: float
    lost: int
    seconds: float


def run_decided(seed: int, reports: int, part: float = 1.0) -> Decided:
    """One night of so many reports, with a part of the ceiling that is generated for them."""
    generated = generate_night(seed, reports)
    cluster = part_of(generated, part)
    night = GeneratedNight(generated.reports, cluster)
    day = turnouts(random.Random(f"decided/{seed}"), night)
    alone = [_decided(report, cluster) for report in night.reports]
    planned = plan_night(night.reports, cluster).plans
    followed = [run_night(plans, cluster, day) for plans in (alone, planned)]
    started = time.process_time()
    again = run_night(planned, cluster, day, again=True)
    seconds = time.process_time() - started
    courses = [*followed, again]
    late = [{course.name for course in one.missed} for one in courses]
    return Decided(
        missed=(len(late[0]), len(late[1]), len(late[2])),
        paid=(courses[0].cost, courses[1].cost, courses[2].cost),
        peak=again.peak / max(cluster.ceiling.values),
        lost=len(late[2] - late[0]),
        seconds=seconds,
    )


# -- one report ----------------------------------------------------------------------------------


def _decided(report: NightReport, cluster: NightCluster) -> ReportPlan:
    """The best of all sets of at most three early times: infeasible before dear."""
    total, cost = report.arrivals.total, report.cost

    def seconds(part: float, batches: int) -> float:
        return cost.cost(round(part * total)) + cost.final_aggregation(batches)

    rest = RestOfDay(
        now=cluster.start,
        ready=MIDNIGHT,
        latest=report.deadline - max(report.reserve, report.batch_seconds),
        due=report.deadline,
        curves={"rows": report.arrivals},
        prices=cluster.prices,
        seconds=seconds,
    )
    early, final = rest.early(MOST_CANDIDATES), rest.expected
    sets = (one for size in range(_MOST_EARLY + 1) for one in combinations(early, size))
    plans = (plan for one in sets if (plan := _plan(report, one, final)) is not None)

    def rank(plan: ReportPlan) -> tuple[float, float]:
        paid = sum(cluster.prices.integral(run.start, run.end) for run in plan.runs)
        return max(0.0, plan.end - report.deadline), paid

    return min(plans, key=rank)


def _plan(report: NightReport, early: Sequence[float], final: float) -> ReportPlan | None:
    """The runs at some times, None where an early run would not end before the next one."""
    runs: list[PlannedRun] = []
    done = 0
    for at, following in pairwise((*early, final)):
        rows = report.arrivals.rows_at(at) - done
        seconds = report.cost.cost(rows)
        if rows <= 0 or at + seconds > following:
            return None
        runs.append(PlannedRun(start=at, rows=rows, seconds=seconds))
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
    columns = ("as if alone", "decided once", "decided again")
    yield from table(("reports, ceiling, nights", "", *columns), rows)
    yield ""
    lost = sum(one["lost"] for one in found.values())
    yield f"Deadlines that were met alone and missed where the night was decided again: {lost}."
    peak = max(one["peak"] for one in found.values())
    yield f"The most cores at once, as a part of the ceiling: {peak:.2f}."


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda _given: "bench-deciding", page=SCHEDULE_PAGE
)
