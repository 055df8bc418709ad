"""``make bench-schedule``: deadlines by strategy, in the simulation of the paper's evaluation.

"Scheduling of Intermittent Query Processing", section 7.4: 13 queries over one stream, deadlines
staggered in a random order and tightened from 1.0D to 0.1D; with minimum batches of a slack of 50
and 100 %, and without; at the expected rate and at four others. The paper shows one order; here
each case is run in many, and what is counted is in how many of them *all* deadlines were met.
Nothing is executed: see ``paper_queries`` for where the costs come from. Then nights of many
reports under one ceiling (``night_sweep``).

    python -m tests.benchmarks schedule
    python -m tests.benchmarks schedule --orders 3 --no-page
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from forerun import console
from forerun.planner.schedule.single import Feasible, schedule_single
from tests.benchmarks.minimum_batch import minimum_batch
from tests.benchmarks.night_sweep import large_night_s, run_overloaded, run_warehouse
from tests.benchmarks.night_sweep import section as night_section
from tests.benchmarks.page import LAB, ROOT, SCHEDULE_PAGE, write_section
from tests.benchmarks.paper_queries import FILES, FIXED, LONGEST_S, QUERIES, RATES, PaperQuery
from tests.benchmarks.paper_scheduling import Query, Strategy, run_queries
from tests.benchmarks.schedule_plot import Panel, svg

PLOT = LAB / "schedule-sweep.svg"
CSV = LAB / "schedule-sweep.csv"
FRACTIONS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
TIGHT = (0.2, 0.1)
SLACKS: tuple[float | None, ...] = (0.5, 1.0, None)
"""The slack of minimum batches; None for no minimum."""

REPORTS = 200
"""Of a generated warehouse."""

BASE = sum(query.single for query in QUERIES)


@dataclass(frozen=True, slots=True)
class Case:
    """What is varied; ``slack`` is None without a minimum batch."""

    slack: float | None
    rate: str
    fraction: float
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case over several orders: in how many all deadlines were met, and in the mean, how many of
    the 13 were missed, batches, and the cost as times that of one batch each."""

    slack: float | None
    rate: str
    fraction: float
    strategy: str
    orders: int
    met: int
    missed: float
    batches: float
    cost: float


def cases() -> Iterator[Case]:
    """The sweeps of the paper: all fractions at the fixed rate, the tight ones at the others."""
    for slack in SLACKS:
        for rate in RATES if slack is not None else ("FR",):
            for fraction in FRACTIONS if rate == "FR" else TIGHT:
                for strategy in Strategy:
                    yield Case(slack, rate, fraction, strategy)


def staggered(order: Sequence[PaperQuery], fraction: float) -> dict[str, float]:
    """The deadlines of section 7.4: the first query has C_max and a fraction of its one batch after
    the window's end, each further one a fraction of its own more."""
    at, found = FILES + LONGEST_S, {}
    for query in order:
        at += fraction * query.single
        found[query.name] = at
    return found


def run_case(case: Case, orders: int) -> Outcome:
    """A case in so many random orders, the same for every case."""
    met, missed, batches, cost = 0, 0, 0, 0.0
    for seed in range(orders):
        order = random.Random(seed).sample(QUERIES, len(QUERIES))
        deadlines = staggered(order, case.fraction)
        queries = [_query(query, deadlines[query.name], case) for query in order]
        courses = run_queries(queries, case.strategy)
        late = sum(course.missed for course in courses)
        met += late == 0
        missed += late
        batches += sum(len(course.batches) for course in courses)
        cost += sum(course.seconds for course in courses)
    return Outcome(
        slack=case.slack,
        rate=case.rate,
        fraction=case.fraction,
        strategy=case.strategy.value,
        orders=orders,
        met=met,
        missed=missed / orders,
        batches=batches / orders,
        cost=cost / orders / BASE,
    )


def _query(query: PaperQuery, deadline: float, case: Case) -> Query:
    minimum = None
    if case.slack is not None:
        minimum = minimum_batch(query.cost, FILES, slack=case.slack, longest=LONGEST_S).rows
    return Query(
        name=query.name,
        cost=query.cost,
        deadline=deadline,
        arrivals=RATES[case.rate],
        forecast=FIXED,
        minimum=minimum,
    )


# -- the page ------------------------------------------------------------------------------------


def _name(slack: float | None) -> str:
    return "no minimum batch" if slack is None else f"slack {slack:.0%}"


def table(found: Sequence[Outcome]) -> list[str]:
    """A line a case, a column a strategy: orders with all deadlines met."""
    names = [strategy.name for strategy in Strategy]
    lines = [
        f"| batches | rate | deadlines | {' | '.join(names)} | cost | batches run |",
        f"| --- | --- | --- |{' ---: |' * (len(names) + 2)}",
    ]
    for (slack, rate, fraction), group in _grouped(found):
        best = group[0]  # of LLF
        met = " | ".join(f"{one.met}/{one.orders}" for one in group)
        lines.append(
            f"| {_name(slack)} | {rate} | {fraction:g}D | {met} | {best.cost:.2f} | "
            f"{best.batches:,.0f} |"
        )
    return lines


def _grouped(
    found: Sequence[Outcome],
) -> Iterator[tuple[tuple[float | None, str, float], list[Outcome]]]:
    size = len(Strategy)
    for start in range(0, len(found), size):
        group = list(found[start : start + size])
        yield (group[0].slack, group[0].rate, group[0].fraction), group


def plot(found: Sequence[Outcome]) -> str:
    """Five panels: the fixed rate with each kind of batch, the other rates where it is tight."""

    def panel(title: str, wanted: Sequence[tuple[float | None, str, float]], by: int) -> Panel:
        by_key = dict(_grouped(found))
        groups = []
        for key in wanted:
            group = by_key[key]
            label = key[1] if by == 1 else f"{key[2]:g}D"
            shares = [one.met / one.orders for one in group]
            groups.append((label, f"cost {group[0].cost:.2f}", shares))
        return Panel(title, groups)

    fixed = [
        panel(f"{_name(slack)}, fixed rate", [(slack, "FR", f) for f in FRACTIONS], 2)
        for slack in SLACKS
    ]
    rates = [
        panel(f"{_name(slack)}, {f:g}D, by rate", [(slack, rate, f) for rate in RATES], 1)
        for slack, f in ((0.5, 0.2), (1.0, 0.1))
    ]
    title = "In how many orders of the queries all 13 deadlines are met"
    return svg(title, [strategy.name for strategy in Strategy], [*fixed, *rates])


def single_table() -> list[str]:
    """Section 7.3: each query alone, from 1.0D to 0.1D after the window's end."""
    lines = [
        f"| query | {' | '.join(f'{f:g}D' for f in FRACTIONS)} |",
        f"| --- |{' ---: |' * len(FRACTIONS)}",
    ]
    for query in QUERIES:
        cells = []
        for fraction in FRACTIONS:
            one = schedule_single(query.cost, FIXED, FILES + fraction * query.single)
            if isinstance(one, Feasible):
                cells.append(f"{len(one.batches)} ({one.seconds / query.single:.2f})")
            else:
                cells.append(f"{one.missing:.1f} s missing")
        lines.append(f"| {query.name} | {' | '.join(cells)} |")
    return lines


def section(found: Sequence[Outcome], orders: int) -> list[str]:
    """The part of docs/lab/schedule.md that this command writes."""
    return [
        f"Each case in {orders} random orders of the deadlines: in how many all 13 were met.",
        "*cost* is that of LLF, as times one batch of each query.",
        "",
        f"![Deadlines met, by strategy]({PLOT.name})",
        "",
        *table(found),
        "",
        "Each query alone: batches, and cost as times one batch.",
        "",
        *single_table(),
    ]


def write_csv(found: Sequence[Outcome], file: Path) -> None:
    """All outcomes, a line each."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Outcome)])
        writer.writeheader()
        writer.writerows(asdict(one) for one in found)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--orders", type=int, default=20, help="random orders of each case")
    parser.add_argument("--warehouses", type=int, default=5, help="each of 200 reports")
    parser.add_argument("--nights", type=int, default=20, help="nights of each warehouse")


def main(given: argparse.Namespace) -> int:
    wanted = list(cases())
    with console.progress() as bars:
        tracked = bars.track(wanted, description="cases")
        found = [run_case(case, given.orders) for case in tracked]
        seeds = bars.track(range(given.warehouses), description="warehouses")
        nights = [run_warehouse(seed, REPORTS, given.nights) for seed in seeds]
        seeds = bars.track(range(given.warehouses), description="overloaded")
        overloaded = [n for seed in seeds for n in run_overloaded(seed, max(1, given.nights // 7))]
    lines = section(found, given.orders)
    night_lines = (
        list(night_section(nights, overloaded, REPORTS, large_night_s())) if nights else []
    )
    print("\n".join([*lines, "", *night_lines]))
    if not given.no_page:
        write_section("bench-schedule", lines, SCHEDULE_PAGE)
        if night_lines:
            write_section("bench-nights", night_lines, SCHEDULE_PAGE)
        PLOT.write_text(plot(found), encoding="utf-8")
        write_csv(found, CSV)
        print(
            f"wrote {SCHEDULE_PAGE.relative_to(ROOT)}, and {PLOT.stem} as .svg and .csv",
            file=sys.stderr,
        )
    return 0
