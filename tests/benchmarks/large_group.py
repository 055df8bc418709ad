"""What a group of many reports takes: planning time, memory, the size of its plans and of its log.

A suite's queries over and over, each time as other reports, are planned as one group; nothing is
executed. The log is what the plan task says, and the command line what spark-submit gets.

    python -m tests.benchmarks large_group --reports 100 --scale 10
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections.abc import Iterator
from functools import partial

from forerun.planner.contract import encode_plan
from forerun.planner.explain import group
from forerun.planner.report_group import plan_group, whole_days
from forerun.planner.request import PlanRequest
from forerun.planner.result import PlanResult
from tests.benchmarks.days import POINTS
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.suites import SUITES


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", choices=SUITES, default="tpch")
    parser.add_argument("--reports", type=int, default=100)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the one group."""
    measure = partial(_planned, given.suite, given.scale, given.reports)
    under = f"{given.suite} at scale {given.scale:g}, {given.reports} reports"
    yield Cell(name=("group",), under=under, measure=measure)


def _planned(name: str, scale: float, reports: int, _found: Found) -> Figures:
    suite = SUITES[name]
    sources = suite.sources(scale)
    texts = itertools.islice(itertools.cycle(suite.texts().items()), reports)
    members = whole_days(
        PlanRequest(report=f"r{number:03}_{query}", sql=sql, sources=sources, points=POINTS)
        for number, (query, sql) in enumerate(texts)
    )
    before, started = _peak_mb(), time.process_time()
    plan = plan_group(members)
    took = time.process_time() - started
    plans = [one.plan for one in plan.results if isinstance(one, PlanResult)]
    sizes = [len(encode_plan(one)) for one in plans]
    return {
        "reports planned": len(plans),
        "CPU s": round(took, 1),
        "peak MB": round(_peak_mb()),
        "of it before planning": round(before),
        "plans, MB": round(sum(sizes) / 1e6, 2),
        "the largest, KB": round(max(sizes) / 1e3),
        "explanation, KB": round(len(group.render(members, plan)) / 1e3),
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the figures."""
    for figures in found.values():
        yield from table(tuple(figures), [tuple(figures.values())])


BENCHMARK = Benchmark(cells=cells, lines=lines)
