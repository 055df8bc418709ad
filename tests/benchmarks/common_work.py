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
from pathlib import Path

from forerun.demo.data import generate_day
from forerun.include.machine.jvm import home_folder
from forerun.planner.cost.constants import MICRO
from forerun.planner.report_group import GroupPlan, plan_group, whole_days
from forerun.planner.request import PlanRequest, Settings
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import POINTS, Suite
from tests.benchmarks.executed import SUITES
from tests.benchmarks.page import ROOT


def _demo_tables(scale: float) -> Path:
    folder = home_folder() / "bench" / f"demo-{scale:g}"
    if not folder.exists():
        generate_day(folder, scale)
    return folder


def _demo_texts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((ROOT / "include/sql").glob("*.sql"))}


_DEMO = Suite(
    "demo",
    "the demo",
    frozenset({"customer", "orders", "lineitem", "returns"}),
    (),
    _demo_tables,
    _demo_texts,
)
ALL_SUITES = {**SUITES, _DEMO.name: _DEMO}


def planned(suite: Suite, scale: float, *, common: bool) -> GroupPlan:
    """The suite as one group, with common sub-plans or without."""
    sources = with_statistics(find_tables(suite.generate(scale)), suite.changing)
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


def main(given: argparse.Namespace) -> None:
    suite = ALL_SUITES[given.suite]
    for common in (False, True):
        started = time.monotonic()
        plan = planned(suite, given.scale, common=common)
        print(
            f"{'with' if common else 'without'} common sub-plans: the night "
            f"{plan.cost / MICRO:.1f} CPU s weighted, batch {plan.batch / MICRO:.1f}; planned in "
            f"{time.monotonic() - started:.1f} s"
        )
    for one in plan.common:
        print(f"  {one.saved / MICRO:6.2f} {', '.join(one.readers)}: {one.title}")
