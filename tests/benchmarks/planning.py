"""``make bench-plan``: planning time of TPC-H's 22 and TPC-DS's 103 query texts.

CPU seconds of the planner's one thread, warm (the first plan of a process also imports modules);
tables generated at a scale, so that statistics are those of real files. Nothing is executed.

    python -m tests.benchmarks planning
    python -m tests.benchmarks planning --only q14a,q64,h-q09 --repeat 1 --no-page
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from forerun.planner.algebra.relational import Join, walk
from forerun.planner.api import plan
from forerun.planner.errors import ForerunError
from forerun.planner.request import PlanRequest, Source, TimePoint
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks import exploration, tpcds
from tests.benchmarks.days import generate_tpch
from tests.benchmarks.page import PAGE, ROOT, write_section

TPCH_CHANGING = frozenset({"orders", "lineitem", "customer", "partsupp"})
JOIN_CLASSES = ((0, 2), (3, 5), (6, 9), (10, 14), (15, 24), (25, 999))
GOALS = ((0.8, 1.0), (1.0, 5.0))
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


@dataclass(frozen=True, slots=True)
class Figures:
    """CPU seconds of the phases and of the whole; how many joins; what was chosen, or why not."""

    suite: str
    name: str
    read: float = 0.0
    normalize: float = 0.0
    whole: float = 0.0
    joins: int = 0
    method: str = ""
    refused: str = ""


def points(count: int) -> tuple[TimePoint, ...]:
    """Runs at even steps of the day; early ones at a third of the price."""
    early = [TimePoint(weight=0.3, arrived=(i + 1) / count) for i in range(count - 1)]
    return (*early, TimePoint(weight=1.0))


def tasks(scale: float, only: Sequence[str]) -> list[Task]:
    """Every query of both suites, TPC-H's named ``h-q01``; or those that are asked for."""
    h, ds = (
        _sources(generate_tpch(scale), TPCH_CHANGING),
        _sources(tpcds.tables(scale), tpcds.FACTS),
    )
    found = [
        Task("TPC-H", f"h-{path.stem}", path.read_text(), h)
        for path in sorted((ROOT / "tests" / "tpch").glob("q*.sql"))
    ]
    texts = tpcds.queries().items()
    found += [Task(_suite(name), name, text, ds) for name, text in texts]
    return [task for task in found if not only or task.name in only]


def _suite(name: str) -> str:
    return "TPC-DS 2.7 variants" if name.startswith("v27-") else "TPC-DS"


def _sources(folder: Path, changing: frozenset[str]) -> tuple[Source, ...]:
    return with_statistics(find_tables(folder), changing)


def measure(task: Task, count: int, repeat: int) -> Figures:
    """Plan a query ``repeat`` times with ``count`` time points; medians."""
    request = PlanRequest(
        report=re.sub(r"\W", "_", task.name), sql=task.sql, sources=task.sources,
        points=points(count),
    )  # fmt: skip
    try:
        read, query = _timed(lambda: read_query(task.sql, task.sources), repeat)
        normalized, relation = _timed(
            lambda: normalize(query.relation, task.sources, ColumnIds(query.last_id)), repeat
        )
        whole, found = _timed(lambda: plan(request), repeat)
    except ForerunError as error:
        return Figures(task.suite, task.name, refused=str(error))
    joins = sum(isinstance(node, Join) for node in walk(relation))
    return Figures(task.suite, task.name, read, normalized, whole, joins, found.plan.method)


def _timed(work: Callable[[], T], repeat: int) -> tuple[float, T]:
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


def section(found: Sequence[Figures], more: Mapping[int, float], given: str) -> list[str]:
    """The figures as lines of the page of benchmarks."""
    planned = [f for f in found if not f.refused]
    out = [
        given,
        "",
        "| queries | planned | median | 80 % | 95 % | max | goal |",
        "| --- " * 7 + "|",
    ]
    suites = dict.fromkeys(f.suite for f in found)
    out += [_suite_row(suite, [f for f in found if f.suite == suite]) for suite in suites]
    out += ["", "Against the number of joins (normalized query, all suites):", ""]
    out += ["| joins | queries | median | max |", "| --- " * 4 + "|"]
    for low, high in JOIN_CLASSES:
        times = [f.whole for f in planned if low <= f.joins <= high]
        if times:
            label = f"{low} to {high}" if high < 999 else f"{low} or more"
            median = statistics.median(times)
            out.append(f"| {label} | {len(times)} | {_ms(median)} | {_ms(max(times))} |")
    out += ["", "The slowest, with how long reading the text and normalizing take of it:", ""]
    out += ["| query | joins | reading | normalizing | all | plan |", "| --- " * 6 + "|"]
    for f in sorted(planned, key=lambda f: -f.whole)[:12]:
        parts = f"{_ms(f.read)} | {_ms(f.normalize)} | {_ms(f.whole)}"
        out.append(f"| {f.name} | {f.joins} | {parts} | {f.method} |")
    if more:
        first = more[min(more)]
        ratios = ", ".join(f"{count}: {took / first:.2f}" for count, took in sorted(more.items()))
        out += ["", f"All queries by the number of time points, relative to {min(more)}: {ratios}."]
    if refused := [f for f in found if f.refused]:
        out += ["", "Not planned:", ""]
        out += [f"- {f.name}: {' '.join(f.refused.split())}" for f in refused]
    return out


def _suite_row(suite: str, figures: Sequence[Figures]) -> str:
    times = [f.whole for f in figures if not f.refused]
    cells = [suite, f"{len(times)} of {len(figures)}"]
    shares = (0.5, 0.8, 0.95, 1.0)
    cells += [_ms(percentile(times, share)) if times else "" for share in shares]
    reached = len(times) == len(figures) and all(
        percentile(times, share) <= seconds for share, seconds in GOALS
    )
    cells.append("reached" if reached else "missed")
    return f"| {' | '.join(cells)} |"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms"


def heading(scale: float) -> str:
    """Where and when, and over what tables."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return f"{machine}, {datetime.now(UTC).date().isoformat()}; tables at scale {scale:g},"


def explored(todo: Sequence[Task], head: str) -> list[str]:
    """What exploring all of TPC-H and some of TPC-DS takes, as lines of the page."""
    chosen = [t for t in todo if t.suite == "TPC-H" or t.name in exploration.TPCDS]
    last = points(POINTS[0])[-2:]
    queries = [exploration.query_of(t.name, t.sql, t.sources, last) for t in chosen]
    return exploration.section(queries, head)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeat", type=int, default=3, help="plans per query (default 3)")


def main(given: argparse.Namespace) -> int:
    todo = tasks(given.scale, given.only)
    measure(todo[0], POINTS[0], 1)
    found = []
    for task in todo:
        found.append(measure(task, POINTS[0], given.repeat))
        f = found[-1]
        what = " ".join(f.refused.split()) or f"{_ms(f.whole)}, {f.joins} joins, {f.method}"
        print(f"{task.name}: {what}", file=sys.stderr, flush=True)
    more = {POINTS[0]: sum(f.whole for f in found)} if not given.only else {}
    for count in POINTS[1:] if more else ():
        more[count] = sum(measure(task, count, 1).whole for task in todo)
    status = Path("/proc/self/status").read_text().splitlines()
    peak = int(dict(line.split(":", 1) for line in status)["VmHWM"].split()[0]) / 1024
    head = (
        f"{heading(given.scale)} {POINTS[0]} time points;\nCPU time of one thread, median of "
        f"{given.repeat}; peak memory of the process {peak:,.0f} MB."
    )
    lines = section(found, more, head)
    work = explored(todo, heading(given.scale)) if not given.only else []
    print("\n".join([*lines, "", *work]))
    if not given.no_page and not given.only:
        write_section("bench-plan", lines)
        write_section("bench-explore", work)
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 1 if any(f.refused for f in found) else 0
