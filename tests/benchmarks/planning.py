"""``make bench-plan``: planning time of TPC-H's 22 and TPC-DS's 103 query texts.

CPU seconds of the planner's one thread, warm (the first plan of a process also imports modules);
tables generated at a scale, so that statistics are those of real files. Nothing is executed.

    python -m tests.benchmarks planning
    python -m tests.benchmarks planning --only q14a,q64,h-q09 --only 3 --repeat 1 --no-page
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

from forerun.planner.algebra.relational import Join, walk
from forerun.planner.api import plan
from forerun.planner.request import PlanRequest, Source, TimePoint
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql import frontend
from forerun.planner.sql.frontend import Query, read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.benchmarks import tpcds
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.suites import TPCDS, TPCH_GROWING

JOIN_CLASSES = ((0, 2), (3, 5), (6, 9), (10, 14), (15, 24), (25, 999))
GOALS = ((0.8, 0.7), (1.0, 3.0))
"""Share of the queries, and the seconds within which they should be planned."""
POINTS = (3, 6, 9)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """A query to plan: its suite, name, text and sources."""

    suite: str
    name: str
    sql: str
    sources: tuple[Source, ...]


def points(count: int) -> tuple[TimePoint, ...]:
    """Runs at even steps of the day; early ones at a third of the price."""
    early = [TimePoint(weight=0.3, arrived=(i + 1) / count) for i in range(count - 1)]
    return (*early, TimePoint(weight=1.0))


def tasks(scale: float) -> list[Task]:
    """Every query of both suites, TPC-H's named ``h-q01``."""
    h, ds = TPCH_GROWING.sources(scale), TPCDS.sources(scale)
    found = [Task("TPC-H", f"h-{name}", text, h) for name, text in TPCH_GROWING.texts().items()]
    texts = tpcds.queries().items()
    return found + [Task(_suite(name), name, text, ds) for name, text in texts]


def _suite(name: str) -> str:
    return "TPC-DS 2.7 variants" if name.startswith("v27-") else "TPC-DS"


def measure(task: Task, count: int, repeat: int) -> Figures:
    """Plan a query ``repeat`` times with ``count`` time points: medians of the phases and of the
    whole, how many joins there are, and what was chosen. Raises what planning raises."""
    request = PlanRequest(
        report=re.sub(r"\W", "_", task.name), sql=task.sql, sources=task.sources,
        points=points(count),
    )  # fmt: skip
    read, query = timed(lambda: read_anew(task), repeat)
    normalized, relation = timed(
        lambda: normalize(query.relation, task.sources, ColumnIds(query.last_id)), repeat
    )
    whole, found = timed(lambda: (read_anew(task), plan(request))[1], repeat)
    return {
        "suite": task.suite,
        "read": read,
        "normalize": normalized,
        "whole": whole,
        "joins": sum(isinstance(node, Join) for node in walk(relation)),
        "method": found.plan.method,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def read_anew(task: Task) -> Query:
    """Read a text that the process may remember, as a planner that starts does."""
    frontend._read.cache_clear()
    return read_query(task.sql, task.sources)


def timed(work: Callable[[], T], repeat: int = 1) -> tuple[float, T]:
    """Do work so often; return the median of its CPU seconds, and what came of it."""
    took = []
    for _ in range(repeat):
        started = time.process_time()
        result = work()
        took.append(time.process_time() - started)
    return statistics.median(took), result


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that the share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * round(1000 * share) // 1000) - 1)]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeat", type=int, default=3, help="plans per query (default 3)")


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query with every number of time points."""

    @cache
    def warm() -> None:
        measure(every[0], POINTS[0], 1)

    def one(task: Task, count: int, _found: Found) -> Figures:
        warm()
        return measure(task, count, given.repeat if count == POINTS[0] else 1)

    every = tasks(given.scale)
    for count in POINTS:
        for task in every:
            under = f"tables at scale {given.scale:g}, median of {given.repeat}"
            measured = partial(one, task, count)
            yield Cell(name=(task.name, str(count)), under=under, measure=measured)


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the times by suite and by joins, the slowest, and what more time points take."""
    planned = {name[0]: one for name, one in found.items() if name[1] == str(POINTS[0])}
    peak = max((one["peak_mb"] for one in planned.values()), default=0.0)
    yield f"CPU time of one thread with {POINTS[0]} time points; peak memory {peak:,.0f} MB."
    yield ""
    columns = ("queries", "planned", "median", "80 %", "95 %", "max", "goal")
    suites = dict.fromkeys(one["suite"] for one in planned.values())
    yield from table(columns, (_of_suite(suite, planned) for suite in suites))
    yield ""
    yield "Against the number of joins (normalized query, all suites):"
    yield ""
    yield from table(("joins", "queries", "median", "max"), _by_joins(planned))
    yield ""
    yield "The slowest, with how long reading the text and normalizing take of it:"
    yield ""
    slowest = sorted(planned.items(), key=lambda item: -item[1]["whole"])[:12]
    rows = (
        (name, f["joins"], *(_ms(f[part]) for part in ("read", "normalize", "whole")), f["method"])
        for name, f in slowest
    )
    yield from table(("query", "joins", "reading", "normalizing", "all", "plan"), rows)
    sums = {count: _sum(found, count) for count in POINTS}
    if all(sums.values()):
        ratios = ", ".join(f"{count}: {took / sums[POINTS[0]]:.2f}" for count, took in sums.items())
        yield ""
        yield f"All queries by the number of time points, relative to {POINTS[0]}: {ratios}."


def _sum(found: Found, count: int) -> float:
    return sum(one["whole"] for name, one in found.items() if name[1] == str(count))


def _of_suite(suite: str, planned: Mapping[str, Figures]) -> Iterator[str]:
    times = [one["whole"] for one in planned.values() if one["suite"] == suite]
    yield from (suite, str(len(times)))
    yield from (_ms(percentile(times, share)) for share in (0.5, 0.8, 0.95, 1.0))
    reached = all(percentile(times, share) <= goal for share, goal in GOALS)
    yield "reached" if reached else "missed"


def _by_joins(planned: Mapping[str, Figures]) -> Iterator[tuple[object, ...]]:
    for low, high in JOIN_CLASSES:
        times = [one["whole"] for one in planned.values() if low <= one["joins"] <= high]
        if times:
            label = f"{low} to {high}" if high < 999 else f"{low} or more"
            yield label, len(times), _ms(statistics.median(times)), _ms(max(times))


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms"


BENCHMARK = Benchmark(cells=cells, lines=lines, section=lambda _given: "bench-plan")
