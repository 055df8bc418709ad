"""What the reports of a night compute in common, and what the planner makes of it, by estimate.

A suite's queries are planned as one group, and once more without common sub-plans. Nothing is
executed; ``tests.benchmarks night SUITE --only q1,q2`` executes a group of some of them.

    python -m tests.benchmarks common_work tpch --scale 10
    python -m tests.benchmarks common_work tpcds --scale 1
    python -m tests.benchmarks common_work demo --scale 3
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial

from forerun.planner.cost.constants import MICRO
from forerun.planner.report_group import GroupPlan, plan_group, whole_days
from forerun.planner.request import PlanRequest, Settings
from tests.benchmarks.days import POINTS
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.suites import DEMO, SUITES, Suite

ALL_SUITES = {**SUITES, DEMO.name: DEMO}


def planned(suite: Suite, scale: float, *, common: bool) -> GroupPlan:
    """The suite as one group, with common sub-plans or without."""
    sources = suite.sources(scale)
    settings = Settings(common_subplans=common)
    return plan_group(
        whole_days(
            PlanRequest(
                report=name.replace("-", "_"),
                sql=sql,
                sources=sources,
                points=POINTS,
                settings=settings,
            )
            for name, sql in suite.texts().items()
        )
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=ALL_SUITES)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the group with common sub-plans and without."""

    def measure(common: bool, _found: Found) -> Figures:
        started = time.process_time()
        plan = planned(ALL_SUITES[given.suite], given.scale, common=common)
        shared = [(one.saved / MICRO, ", ".join(one.readers), one.title) for one in plan.common]
        took = time.process_time() - started
        cost, batch = plan.cost / MICRO, plan.batch / MICRO
        return {"cost": cost, "batch": batch, "planning_s": took, "shared": shared}

    for common, name in ((False, "without"), (True, "with")):
        under = f"{given.suite} at scale {given.scale:g}"
        yield Cell(name=(name,), under=under, measure=partial(measure, common))


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the costs, and what is shared."""
    names = ("cost", "batch", "planning_s")
    rows = ((name, *(f"{one[what]:.1f}" for what in names)) for (name,), one in found.items())
    yield from table(("common sub-plans", "CPU s, weighted", "batch", "planning, CPU s"), rows)
    yield ""
    shared = found.get(("with",), {"shared": []})["shared"]
    told = ((f"{saved:.2f}", readers, title) for saved, readers, title in shared)
    yield from table(("saves", "reports", "what"), told)


BENCHMARK = Benchmark(cells=cells, lines=lines)
