"""Nights of 200 reports under one ceiling, simulated with surprises: the second part of
``make bench-schedule``.

Warehouses are generated (``nights``), and each is run for some nights that turn out otherwise
than forecast. The same nights are run with every report at midnight, and at 14:00, 19:00 and 24:00;
these start by least laxity under the same ceiling, too. What is best in hindsight is, for each
report, the one of some fixed sets of times that paid least over all nights, if it never had to wait
for cores.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from forerun.planner.schedule.cluster import NightCluster, peak
from forerun.planner.schedule.many import NightPlan, at_fixed_times, place_all, plan_night
from forerun.planner.schedule.night import NightReport, ReportPlan
from forerun.planner.schedule.night_course import NightCourse, Turnout, run_night
from forerun.planner.schedule.step_curve import Piece, StepCurve
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.nights import HOUR, MIDNIGHT, GeneratedNight, as_it_was, generate_night
from tests.benchmarks.page import SCHEDULE_PAGE

Missed = Callable[[Sequence[NightReport], NightCluster], Sequence[ReportPlan]]
THREE = (14 * HOUR, 19 * HOUR, MIDNIGHT)
FIXED_SETS = (
    (MIDNIGHT,), (12 * HOUR, MIDNIGHT), (14 * HOUR, MIDNIGHT), (18 * HOUR, MIDNIGHT),
    (22 * HOUR, MIDNIGHT), THREE, (12 * HOUR, 18 * HOUR, MIDNIGHT),
    (12 * HOUR, 22 * HOUR, MIDNIGHT),
)  # fmt: skip
USUAL, OVERLOADED = "warehouse", "overloaded"
_CEILING_STEPS = 7
"""Halvings by which the least ceiling is found."""


@dataclass(frozen=True, slots=True)
class NightFigures:
    """A night, as it was by plan, with all at midnight, and at three times: deadlines missed and
    core seconds paid; ``lost``: deadlines that the plan missed and midnight met; ``hindsight``:
    core seconds of the best fixed times of each report."""

    missed: tuple[int, int, int]
    paid: tuple[float, float, float]
    lost: int
    hindsight: float


@dataclass(frozen=True, slots=True)
class WarehouseFigures:
    """A warehouse: its nights; the peak that all at midnight wants and that the plan has; the least
    ceiling, as part of the generated one, at which plan and midnight are forecast to meet all;
    CPU seconds of planning."""

    nights: tuple[NightFigures, ...]
    peaks: tuple[float, float]
    least: tuple[float, float]
    planning_s: float


def turnouts(draw: random.Random, night: GeneratedNight) -> dict[str, Turnout]:
    """How the day of each report turns out; one in fifty has a run that fails."""
    found = {}
    for report in night.reports:
        arrivals, slower = as_it_was(draw, report)
        failed = frozenset({1}) if draw.random() < 0.02 else frozenset()
        found[report.name] = Turnout(arrivals=arrivals, slower=slower, failed=failed)
    return found


def run_warehouse(seed: int, reports: int, nights: int) -> WarehouseFigures:
    """One warehouse over so many nights."""
    night = generate_night(seed, reports)
    started = time.process_time()
    planned = plan_night(night.reports, night.cluster)
    planning_s = time.process_time() - started
    midnight = at_fixed_times(night.reports, night.cluster, (MIDNIGHT,))
    wanted = peak((r.start, r.end, p.report.cores) for p in midnight for r in p.runs)
    return WarehouseFigures(
        nights=tuple(_nights(seed, night, planned.plans, nights)),
        peaks=(wanted, planned.peak),
        least=(_least_ceiling(night, _planned), _least_ceiling(night, _all_at_midnight)),
        planning_s=planning_s,
    )


def run_overloaded(seed: int, nights: int) -> tuple[NightFigures, ...]:
    """A warehouse of 400 reports with two fifths of its ceiling: no plan can meet all deadlines."""
    generated = generate_night(1_000 + seed, 400)
    night = GeneratedNight(generated.reports, part_of(generated, 0.4))
    planned = plan_night(night.reports, night.cluster)
    return tuple(_nights(seed, night, planned.plans, nights))


def _nights(
    seed: int, night: GeneratedNight, planned: Sequence[ReportPlan], nights: int
) -> Iterator[NightFigures]:
    """The same nights by plan, with all at midnight, and at three times."""
    midnight = at_fixed_times(night.reports, night.cluster, (MIDNIGHT,))
    three = at_fixed_times(night.reports, night.cluster, THREE)
    days = [turnouts(random.Random(f"{seed}/{n}"), night) for n in range(nights)]
    for day, best in zip(days, _hindsight(night, days), strict=True):
        ours, plain, early = (
            run_night(plans, night.cluster, day) for plans in (planned, midnight, three)
        )
        yield _figures(ours, plain, early, best)


def _figures(
    ours: NightCourse, plain: NightCourse, early: NightCourse, hindsight: float
) -> NightFigures:
    late, late_plain, late_early = (
        {course.name for course in one.missed} for one in (ours, plain, early)
    )
    return NightFigures(
        missed=(len(late), len(late_plain), len(late_early)),
        paid=(ours.cost, plain.cost, early.cost),
        lost=len(late - late_plain),
        hindsight=hindsight,
    )


def _hindsight(night: GeneratedNight, days: Sequence[dict[str, Turnout]]) -> list[float]:
    """What the best fixed times of each report paid, by night."""
    sums = [0.0] * len(days)
    for report in night.reports:
        by_set = [
            [_paid(report, day[report.name], times, night.cluster) for day in days]
            for times in FIXED_SETS
        ]
        for n, paid in enumerate(min(by_set, key=sum)):
            sums[n] += paid
    return sums


def _paid(
    report: NightReport, turnout: Turnout, times: Sequence[float], cluster: NightCluster
) -> float:
    as_it_was_ = replace(report, arrivals=turnout.arrivals)
    (plan,) = at_fixed_times((as_it_was_,), cluster, times)
    return sum(
        report.cores * cluster.prices.integral(run.start, run.start + turnout.slower * run.seconds)
        for run in plan.runs
    )


# -- the least ceiling ---------------------------------------------------------------------------


def _planned(reports: Sequence[NightReport], cluster: NightCluster) -> Sequence[ReportPlan]:
    return plan_night(reports, cluster).missed


def _all_at_midnight(reports: Sequence[NightReport], cluster: NightCluster) -> Sequence[ReportPlan]:
    placed: NightPlan = place_all(at_fixed_times(reports, cluster, (MIDNIGHT,)), cluster)
    return placed.missed


def _least_ceiling(night: GeneratedNight, missed: Missed) -> float:
    """The smallest part, up to 4 times, of the generated ceiling at which nothing is missed."""
    low, high = 0.0, 4.0
    for _ in range(_CEILING_STEPS):
        middle = (low + high) / 2
        fits = middle > 0 and not missed(night.reports, part_of(night, middle))
        low, high = (low, middle) if fits else (middle, high)
    return high


def part_of(night: GeneratedNight, part: float) -> NightCluster:
    """The cluster of a night with a part of its ceiling, which has room for each report still."""
    widest = max(report.cores for report in night.reports)
    pieces = [
        Piece(p.start, p.end, max(widest, p.value * part)) for p in night.cluster.ceiling.pieces
    ]
    return replace(night.cluster, ceiling=StepCurve(pieces, "the ceiling"))


# -- the page ------------------------------------------------------------------------------------


def large_night_s() -> float:
    """CPU seconds to plan 1,000 reports."""
    night = generate_night(0, 1_000)
    started = time.process_time()
    plan_night(night.reports, night.cluster)
    return time.process_time() - started


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--warehouses", type=int, default=5, help="each of 200 reports")
    parser.add_argument("--nights", type=int, default=20, help="nights of each warehouse")
    parser.add_argument("--reports", type=int, default=200, help="of a warehouse")


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the warehouses, those with more than can be done, and one that is large."""
    reports, nights = given.reports, given.nights
    under = f"{reports} reports, {nights} nights"

    def usual(seed: int, _found: Found) -> Figures:
        return asdict(run_warehouse(seed, reports, nights))

    def overloaded(seed: int, _found: Found) -> Figures:
        return {"nights": [asdict(one) for one in run_overloaded(seed, max(1, nights // 7))]}

    for kind, measure in ((USUAL, usual), (OVERLOADED, overloaded)):
        for seed in range(given.warehouses):
            yield Cell(name=(kind, str(seed)), under=under, measure=partial(measure, seed))
    yield Cell(name=("large",), under=under, measure=lambda _found: {"planning_s": large_night_s()})


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield what was missed and paid, the least ceiling, and nights that are overloaded."""
    warehouses = [one for name, one in found.items() if name[0] == USUAL]
    nights = [night for one in warehouses for night in one["nights"]]
    if not nights:
        return
    missed = [sum(night["missed"][i] for night in nights) for i in range(3)]
    without = [sum(night["missed"][i] == 0 for night in nights) for i in range(3)]
    ours = sum(night["paid"][0] for night in nights)
    ratios = [sum(night["paid"][i] for night in nights) / ours for i in range(3)]
    yield f"{len(warehouses)} warehouses, {len(nights)} nights in all."
    yield ""
    rows = (
        ("deadlines missed", *(f"{n:,}" for n in missed)),
        ("nights without a missed deadline", *without),
        ("core seconds by price, planned = 1", *(f"{r:.2f}" for r in ratios)),
    )
    yield from table(("", "planned", "all at midnight", "14:00, 19:00, 24:00"), rows)
    yield ""
    worst = max(night["paid"][0] / night["paid"][1] for night in nights)
    hindsight = ours / sum(night["hindsight"] for night in nights)
    least, peaks = (
        [sum(one[what][i] for one in warehouses) / len(warehouses) for i in range(2)]
        for what in ("least", "peaks")
    )
    lost = sum(night["lost"] for night in nights)
    yield (
        f"Deadlines that all at midnight met and the plan missed: {lost}. What the plan paid, as a "
        f"part of all at midnight, at worst: {worst:.2f}; of the best fixed times of each report "
        f"in hindsight, in sum: {hindsight:.2f}."
    )
    yield (
        "The least ceiling at which every deadline is forecast to be met is, in the mean, "
        f"{least[0]:.2f} of the given one with the plan and {least[1]:.2f} with all at midnight: "
        f"{1 - least[0] / least[1]:.0%} lower. Without a ceiling all at midnight would want "
        f"{peaks[0]:,.0f} cores at once; the plan's peak is {peaks[1]:,.0f}."
    )
    if large := found.get(("large",)):
        yield f"A night of 1,000 reports is planned in {large['planning_s']:.1f} CPU s on one core."
    over = [n for name, one in found.items() if name[0] == OVERLOADED for n in one["nights"]]
    if over:
        sums = [sum(night["missed"][i] for night in over) for i in range(3)]
        yield ""
        yield (
            f"Overloaded, 400 reports and two fifths of the ceiling, {len(over)} nights: the plan "
            f"missed {sums[0]:,} deadlines, all at midnight {sums[1]:,}, three times {sums[2]:,}; "
            f"midnight would have met {sum(n['lost'] for n in over):,} of the plan's."
        )


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda _given: "bench-nights", page=SCHEDULE_PAGE
)
