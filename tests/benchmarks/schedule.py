"""``make bench-schedule``: deadlines by strategy, in the simulation of the paper's evaluation.

"Scheduling of Intermittent Query Processing", section 7.4: 13 queries over one stream, deadlines
staggered in a random order and tightened from 1.0D to 0.1D; with minimum batches of a slack of 50
and 100 %, and without; at the expected rate and at four others. The paper shows one order; here
each case is run in many, and what is counted is in how many of them *all* deadlines were met.
Nothing is executed: see ``paper_queries`` for where the costs come from.

    python -m tests.benchmarks schedule
    python -m tests.benchmarks schedule --orders 3 --no-page
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from forerun.planner.schedule.single import Feasible, schedule_single
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, Name, table
from tests.benchmarks.minimum_batch import minimum_batch
from tests.benchmarks.page import SCHEDULE_PAGE
from tests.benchmarks.paper_queries import FILES, FIXED, LONGEST_S, QUERIES, RATES, PaperQuery
from tests.benchmarks.paper_scheduling import Query, Strategy, run_queries
from tests.benchmarks.plot import Line, lines_svg

PLOT = "schedule-sweep.svg"
ALONE = "alone"
FRACTIONS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
TIGHT = (0.2, 0.1)
SLACKS: tuple[float | None, ...] = (0.5, 1.0, None)
"""The slack of minimum batches; None for no minimum."""

BASE = sum(query.single for query in QUERIES)


@dataclass(frozen=True, slots=True)
class Case:
    """What is varied; ``slack`` is None without a minimum batch."""

    slack: float | None
    rate: str
    fraction: float
    strategy: Strategy

    @property
    def name(self) -> Name:
        return (*kind_of(self), self.strategy.name)


def kind_of(case: Case) -> Name:
    """What a case has in common with those of other strategies."""
    slack = "no-minimum" if case.slack is None else f"slack-{case.slack:.0%}"
    return slack, case.rate, f"{case.fraction:g}D"


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


def run_case(case: Case, orders: int) -> Figures:
    """A case in so many random orders, the same for every case: in how many all deadlines were met,
    and in the mean, how many of the 13 were missed, batches, the files that batches after the end
    of the window had, and the cost as times that of one batch each."""
    met, missed, batches, left, cost = 0, 0, 0, 0, 0.0
    end = RATES[case.rate].complete_at
    for seed in range(orders):
        order = random.Random(seed).sample(QUERIES, len(QUERIES))
        deadlines = staggered(order, case.fraction)
        queries = [_query(query, deadlines[query.name], case) for query in order]
        courses = run_queries(queries, case.strategy)
        late = sum(course.missed for course in courses)
        met += late == 0
        missed += late
        batches += sum(len(course.batches) for course in courses)
        left += sum(one.rows for course in courses for one in course.batches if one.start >= end)
        cost += sum(course.seconds for course in courses)
    return {
        "met": met,
        "missed": missed / orders,
        "batches": batches / orders,
        "left": left / orders,
        "cost": cost / orders / BASE,
    }


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


def alone(query: PaperQuery) -> Figures:
    """Section 7.3: a query alone, from 1.0D to 0.1D after the window's end: how many batches, and
    their cost as times one batch, or what is missing."""
    found = []
    for fraction in FRACTIONS:
        one = schedule_single(query.cost, FIXED, FILES + fraction * query.single)
        if isinstance(one, Feasible):
            found.append(f"{len(one.batches)} ({one.seconds / query.single:.2f})")
        else:
            found.append(f"{one.missing:.1f} s missing")
    return {"by_fraction": found}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--orders", type=int, default=20, help="random orders of each case")


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every case, and every query alone."""
    under = f"{given.orders} random orders"

    def in_orders(case: Case, _found: Found) -> Figures:
        return run_case(case, given.orders)

    def by_itself(query: PaperQuery, _found: Found) -> Figures:
        return alone(query)

    for case in cases():
        yield Cell(name=case.name, under=under, measure=partial(in_orders, case))
    for query in QUERIES:
        yield Cell(name=(ALONE, query.name), under=under, measure=partial(by_itself, query))


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield a row a case, a column a strategy: orders with all deadlines met."""
    yield "In how many orders of the deadlines all 13 were met; *cost* is that of LLF, as times one"
    yield "batch of each query, *left* are its files in batches after the end of the window."
    yield ""
    yield f"![Deadlines met, by strategy]({PLOT})"
    yield ""
    names = [strategy.name for strategy in Strategy]
    kinds = dict.fromkeys(name[:-1] for name in found if name[0] != ALONE)
    rows = []
    for kind in kinds:
        of = {name: found[*kind, name] for name in names if (*kind, name) in found}
        met = (f"{of[name]['met']}/{given.orders}" if name in of else "" for name in names)
        best = of.get(Strategy.LLF.name)
        told: tuple[str, ...] = ("", "", "")
        if best:
            told = f"{best['cost']:.2f}", f"{best['batches']:,.0f}", f"{best['left']:,.0f}"
        rows.append((*kind, *met, *told))
    yield from table(("batches", "rate", "deadlines", *names, "cost", "batches run", "left"), rows)
    yield ""
    yield "Each query alone: batches, and cost as times one batch."
    yield ""
    singles = ((name[1], *one["by_fraction"]) for name, one in found.items() if name[0] == ALONE)
    yield from table(("query", *(f"{fraction:g}D" for fraction in FRACTIONS)), singles)


def beside(given: argparse.Namespace, found: Found) -> dict[str, str]:
    """The plot: by how tight deadlines are, at the fixed rate with a slack of 50 %."""
    drawn = [
        Line(
            strategy.name,
            [
                (fraction, found[Case(0.5, "FR", fraction, strategy).name]["met"] / given.orders)
                for fraction in sorted(FRACTIONS)
            ],
        )
        for strategy in Strategy
    ]
    title = "Orders of the queries in which all 13 deadlines are met, slack 50%, fixed rate"
    return {PLOT: lines_svg(title, "deadlines, D", "share of orders", drawn)}


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda _given: "bench-schedule", page=SCHEDULE_PAGE,
    beside=beside,
)  # fmt: skip
