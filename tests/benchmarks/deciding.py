"""Reports that decide their times one at a time, as in Airflow: a part of ``make bench-schedule``.

Nights are generated (``nights``), and each report decides its times for itself (``deciding``), with
a cost model in place of planned runs. Once each as if it were alone, once beside the others of its
cluster: in a random order when the day opens, and again, in order of time, before their first early
run; and once all together. Then the nights are run with surprises; cores are given by laxity.

    python -m tests.benchmarks deciding
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from forerun.planner.schedule.deciding import decide, decide_all, place, wanted
from forerun.planner.schedule.night import ReportPlan
from forerun.planner.schedule.night_course import run_night
from forerun.planner.schedule.others import UNSHARED, Others, TakenCores
from tests.benchmarks.night_sweep import part_of, turnouts
from tests.benchmarks.nights import GeneratedNight, generate_night
from tests.benchmarks.page import SCHEDULE_PAGE, write_section


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
    alone = decide_at_random(night, seed, beside=False)
    started = time.process_time()
    beside = decide_at_random(night, seed, beside=True)
    seconds = time.process_time() - started
    planned = decide_all(night.reports, night.cluster)
    courses = [run_night(plans, night.cluster, day) for plans in (alone, beside, planned)]
    late = [{course.name for course in one.missed} for one in courses]
    return Decided(
        missed=(len(late[0]), len(late[1]), len(late[2])),
        paid=(courses[0].cost, courses[1].cost, courses[2].cost),
        lost=len(late[1] - late[0]),
        seconds=seconds,
    )


def decide_at_random(night: GeneratedNight, seed: int, *, beside: bool) -> list[ReportPlan]:
    """The times that all reports have decided, in the order of the night."""
    order = list(range(len(night.reports)))
    random.Random(f"order/{seed}").shuffle(order)
    found: dict[int, ReportPlan] = {}
    said: dict[int, list[TakenCores]] = {}

    def decided(i: int, now: float) -> None:
        cores = _beside(night, said, i, now) if beside else UNSHARED
        found[i] = decide(night.reports[i], night.cluster, cores, now)
        said[i] = list(wanted(found[i], cores))

    for i in order:
        decided(i, night.cluster.start)
    # A report without early runs decides once.
    for i in sorted(order, key=lambda one: found[one].runs[0].start):
        if beside and len(found[i].runs) > 1:
            decided(i, found[i].runs[0].start)
    return [found[i] for i in range(len(order))]


def _beside(
    night: GeneratedNight, said: dict[int, list[TakenCores]], own: int, now: float
) -> Others:
    """What those before a report leave of the cluster; who has begun has its cores, whoever it
    is."""
    report = night.reports[own]
    held, planned = [], []
    for number, others in said.items():
        for one in others if number != own else ():
            start = max(one.start, now)
            taken = TakenCores(start=start, seconds=one.end - start, cores=one.cores)
            if one.start < now < one.end:
                held.append(taken)
            elif one.start >= now and place(night.reports[number]) < place(report):
                planned.append(taken)
    return Others(night.cluster, report.cores, held, planned)


# -- the page ------------------------------------------------------------------------------------


CASES = ((40, 1.0, 20), (100, 0.5, 10), (200, 0.5, 5))
"""Reports, the part of the ceiling, and how many nights: the last ones are overloaded."""


def measured(
    cases: Sequence[tuple[int, float, int]] = CASES,
) -> Iterator[tuple[int, float, list[Decided]]]:
    """The nights of each case, each of another warehouse."""
    for reports, part, nights in cases:
        yield reports, part, [run_decided(seed, reports, part) for seed in range(nights)]


def section(found: Iterable[tuple[int, float, Sequence[Decided]]]) -> Iterator[str]:
    """The lines of docs/lab/schedule.md."""
    yield "| reports, ceiling, nights | | as if alone | beside the others | all planned at once |"
    yield "| --- | --- | ---: | ---: | ---: |"
    lost = 0
    for reports, part, nights in found:
        missed = [sum(one.missed[i] for one in nights) for i in range(3)]
        paid = [sum(one.paid[i] for one in nights) for i in range(3)]
        numbers = " | ".join(f"{n:,}" for n in missed)
        yield f"| {reports}, {part:.0%}, {len(nights)} | deadlines missed | {numbers} |"
        numbers = " | ".join(f"{one / paid[0]:.3f}" for one in paid)
        yield f"| | core seconds by price, alone = 1 | {numbers} |"
        lost += sum(one.lost for one in nights)
    yield ""
    yield f"Deadlines that were met alone and missed beside the others: {lost}."


def main(given: argparse.Namespace) -> int:
    lines = list(section(measured()))
    print("\n".join(lines))
    if not given.no_page:
        write_section("bench-deciding", lines, SCHEDULE_PAGE)
    return 0
