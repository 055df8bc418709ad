"""``make bench-choosing``: the times that are chosen among a dozen, against all subsets of them.

The 22 queries of TPC-H as at scale 10, days with arrivals and prices that are drawn. Each is
planned with every set of at most three of eleven early times, and with those that ``choose_times``
plans. CPU seconds are those of the planner's one thread. Nothing is executed.

    python -m tests.benchmarks choosing
    python -m tests.benchmarks choosing --only q03,q09 --days 1 --no-page
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from forerun.planner import api
from forerun.planner.request import PlanRequest, Source, TimePoint
from forerun.planner.schedule.choose import MOST_CANDIDATES, choose_times
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import generate_tpch, tpch_texts
from tests.benchmarks.page import SCHEDULE_PAGE, write_section
from tests.benchmarks.planning import TPCH_CHANGING
from tests.tpch.at_scale_10 import at_scale_10

MOST_EARLY = 3
_TABLES_OF = 0.01
"""The scale of the tables whose columns are read; their sizes are those of scale 10."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query on a day: what was chosen, the best of all subsets, batch, and the CPU seconds of
    choosing and of planning three time points."""

    query: str
    chosen: float
    best: float
    batch: float
    planned: int
    choosing_s: float
    three_s: float

    @property
    def gap(self) -> float:
        """By what part the choice is dearer than the best of all subsets."""
        return self.chosen / self.best - 1


def draw_points(draw: random.Random) -> tuple[TimePoint, ...]:
    """Eleven early times of a day and the final run. Arrivals are of one to three waves; a day has
    two to five prices, the final run the dearest."""
    hours = sorted(draw.uniform(2, 23) for _ in range(MOST_CANDIDATES))
    waves = [(draw.uniform(4, 23), draw.uniform(1, 8)) for _ in range(draw.randint(1, 3))]
    edges = sorted(draw.uniform(3, 22) for _ in range(draw.randint(1, 4)))
    prices = [draw.uniform(0.1, 0.8) for _ in range(len(edges) + 1)]

    def there(hour: float) -> float:
        parts = (min(1.0, max(0.0, (hour - (m - w)) / (2 * w))) for m, w in waves)
        return sum(parts) / len(waves)

    early = tuple(
        TimePoint(weight=prices[sum(edge <= h for edge in edges)], arrived=there(h) / there(24.0))
        for h in hours
    )
    return (*early, TimePoint(weight=1.0))


def run_case(query: str, sql: str, sources: tuple[Source, ...], draw: random.Random) -> Case:
    """Choose, and compare with all subsets."""
    points = draw_points(draw)
    request = PlanRequest(report=query, sql=sql, sources=sources, points=points)
    three = replace(request, points=(points[3], points[7], points[-1]))
    api.plan(three)  # what is imported and remembered once is nobody's
    _, three_s = _timed(lambda: api.plan(three))
    chosen, choosing_s = _timed(lambda: choose_times(request, MOST_EARLY))
    every = tuple(
        one for size in range(MOST_EARLY + 1)
        for one in combinations(range(1, len(points)), size)
    )  # fmt: skip
    settings = replace(request.settings, all_sets=True)
    found = api.plan(replace(request, open_sets=every, settings=settings))
    best = found.decision.chosen.total / 1e6
    return Case(query, chosen.cost, best, chosen.batch, chosen.planned, choosing_s, three_s)


def _timed(work):  # type: ignore[no-untyped-def]
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


def cases(only: Sequence[str], days: int, seed: int) -> Iterator[Case]:
    """Every query on so many days."""
    tables = with_statistics(find_tables(generate_tpch(_TABLES_OF)), TPCH_CHANGING)
    sources = tuple(map(at_scale_10, tables))
    for query, sql in sorted(tpch_texts().items()):
        if only and query not in only:
            continue
        for day in range(days):
            yield run_case(query, sql, sources, random.Random(f"{seed} {query} {day}"))


def section(found: Sequence[Case]) -> list[str]:
    """The figures for the page."""
    early = [case for case in found if case.best < case.batch]
    gaps = [case.gap for case in found]
    of_early = [case.gap for case in early] or [0.0]
    ratios = [case.choosing_s / case.three_s for case in found]
    in_all = sum(case.choosing_s for case in found) / sum(case.three_s for case in found)
    queries, planned = len({case.query for case in found}), max(case.planned for case in found)
    mean, over = statistics.mean, "over the best of all subsets"
    return [
        f"{queries} queries of TPC-H as at scale 10, {len(found)} days. Of 11 early times at most",
        f"{MOST_EARLY}: 232 subsets, at most {planned} of them planned.",
        "",
        "| | mean | worst |",
        "| --- | ---: | ---: |",
        f"| weighted cost {over} | {mean(gaps):.2%} | {max(gaps):.2%} |",
        f"| of {len(early)} days with early runs | {mean(of_early):.2%} | {max(of_early):.2%} |",
        f"| planning time, times that of three time points | {in_all:.2f} | {max(ratios):.2f} |",
    ]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=4, help="of each query")
    parser.add_argument("--seed", type=int, default=1)


def main(given: argparse.Namespace) -> int:
    found = []
    for case in cases(given.only, given.days, given.seed):
        found.append(case)
        print(
            f"{case.query}: {case.gap:.2%} over the best, {case.chosen / case.batch:.2f} of batch, "
            f"{case.choosing_s / case.three_s:.2f} times the planning of three",
            file=sys.stderr,
        )
    lines = section(found)
    print("\n".join(lines))
    if not given.no_page:
        write_section("bench-choosing", lines, SCHEDULE_PAGE)
    return 0
