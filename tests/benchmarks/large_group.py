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

from forerun.planner.contract import encode_plan
from forerun.planner.explain import group
from forerun.planner.report_group import plan_group, whole_days
from forerun.planner.request import PlanRequest
from forerun.planner.result import PlanResult
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import POINTS
from tests.benchmarks.executed import SUITES


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", choices=SUITES, default="tpch")
    parser.add_argument("--reports", type=int, default=100)


def main(given: argparse.Namespace) -> None:
    suite = SUITES[given.suite]
    sources = with_statistics(find_tables(suite.generate(given.scale)), suite.changing)
    texts = itertools.islice(itertools.cycle(suite.texts().items()), given.reports)
    members = whole_days(
        PlanRequest(report=f"r{number:03}_{name}", sql=sql, sources=sources, points=POINTS)
        for number, (name, sql) in enumerate(texts)
    )
    before, started = _peak_mb(), time.process_time()
    plan = plan_group(members)
    took = time.process_time() - started
    results = [one for one in plan.results if isinstance(one, PlanResult)]
    sizes = sorted(len(encode_plan(one.plan)) for one in results)
    print(f"{len(results)} of {len(members)} reports planned in {took:.1f} CPU s")
    print(f"peak memory {_peak_mb():.0f} MB, of which {before:.0f} before planning")
    print(f"plans: {sum(sizes) / 1e6:.2f} MB together, the largest {sizes[-1] / 1e3:.0f} KB")
    print(f"explanation: {len(group.render(members, plan)) / 1e3:.0f} KB")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
