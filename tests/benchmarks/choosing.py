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
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations

from forerun.planner import api
from forerun.planner.request import PlanRequest, Source, TimePoint
from forerun.planner.schedule.choose import MOST_CANDIDATES, choose_times
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.page import SCHEDULE_PAGE
from tests.benchmarks.planning import timed
from tests.benchmarks.suites import TPCH_GROWING as SUITE
from tests.tpch.at_scale_10 import at_scale_10

MOST_EARLY = 3
_TABLES_OF = 0.01
"""The scale of the tables whose columns are read; their sizes are those of scale 10."""


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


def run_case(query: str, sql: str, sources: tuple[Source, ...], draw: random.Random) -> Figures:
    """What was chosen, the best of all subsets, and batch, and the CPU seconds of choosing and of
    planning three time points."""
    points = draw_points(draw)
    request = PlanRequest(report=query, sql=sql, sources=sources, points=points)
    three = replace(request, points=(points[3], points[7], points[-1]))
    api.plan(three)  # what is imported and remembered once is nobody's
    three_s, _ = timed(lambda: api.plan(three))
    choosing_s, chosen = timed(lambda: choose_times(request, MOST_EARLY))
    every = tuple(
        one for size in range(MOST_EARLY + 1)
        for one in combinations(range(1, len(points)), size)
    )  # fmt: skip
    settings = replace(request.settings, all_sets=True)
    found = api.plan(replace(request, open_sets=every, settings=settings))
    best = found.decision.chosen.total / 1e6
    return {
        "chosen": chosen.cost,
        "best": best,
        "batch": chosen.batch,
        "planned": chosen.planned,
        "choosing_s": choosing_s,
        "three_s": three_s,
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=4, help="of each query")
    parser.add_argument("--seed", type=int, default=1)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query on so many days."""

    def measure(query: str, sql: str, day: int, _found: Found) -> Figures:
        sources = tuple(map(at_scale_10, SUITE.sources(_TABLES_OF)))
        return run_case(query, sql, sources, random.Random(f"{given.seed} {query} {day}"))

    for query, sql in sorted(SUITE.texts().items()):
        for day in range(given.days):
            one = partial(measure, query, sql, day)
            yield Cell(name=(query, f"day-{day}"), under=f"seed {given.seed}", measure=one)


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield by how much choices are above the best, and how long they take."""
    every = list(found.values())
    gaps = [one["chosen"] / one["best"] - 1 for one in every]
    early = [gap for gap, one in zip(gaps, every, strict=True) if one["best"] < one["batch"]]
    ratios = [one["choosing_s"] / one["three_s"] for one in every]
    in_all = sum(one["choosing_s"] for one in every) / sum(one["three_s"] for one in every)
    queries, planned = len({name[0] for name in found}), max(one["planned"] for one in every)
    yield f"{queries} queries of TPC-H as at scale 10, {len(every)} days. Of 11 early times at most"
    yield f"{MOST_EARLY}: 232 subsets, at most {planned} of them planned."
    yield ""
    over, share = "over the best of all subsets", "planning time, times that of three time points"
    rows = [(f"weighted cost {over}", f"{statistics.mean(gaps):.2%}", f"{max(gaps):.2%}")]
    if early:
        told = f"{statistics.mean(early):.2%}", f"{max(early):.2%}"
        rows.append((f"of {len(early)} days with early runs", *told))
    rows.append((share, f"{in_all:.2f}", f"{max(ratios):.2f}"))
    yield from table(("", "mean", "worst"), rows)


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda _given: "bench-choosing", page=SCHEDULE_PAGE
)
