"""``make bench-smoke``: planning time, the fixed cost of a run, four TPC-H queries on Spark.

All figures of one invocation come from one machine in one go; ratios are what to look at. CPU
seconds of executors are Spark's own (event log), those of processes the whole tree's.

    python -m tests.benchmarks smoke --scale 10
    python -m tests.benchmarks smoke --scale 1 --only q13,q18
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from forerun.include.machine.cpu_meter import run_measured
from forerun.include.machine.jvm import (
    DriverFiles,
    driver_environment,
    driver_files,
    spark_submit,
    submit_options,
)
from forerun.planner.api import plan
from forerun.planner.request import PlanRequest, TimePoint
from forerun.simulation.day import simulate
from forerun.simulation.running import SparkRunner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import POINTS, Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.executed import conditions
from tests.benchmarks.figures import Day, executor, figures_of, process
from tests.benchmarks.fixed_cost import SQL
from tests.benchmarks.suites import DEMO, TPCH

DEMO_SCALE = 1.0
MEMORY = "4g"
QUERIES = {"q01": 0.45, "q03": 0.85, "q13": 0.60, "q18": 0.70}
"""Queries, and the weighted executor CPU over batch that we want to stay under."""
EMPTY_APPLICATION = """
from pyspark.sql import SparkSession
SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate().stop()
"""
ARCHIVES: dict[str, Callable[[], DriverFiles]] = {"with": driver_files, "without": DriverFiles}


def planning_time(report: str, _found: Found) -> Figures:
    """Milliseconds to plan a demo report over the demo's own day, median of 20, warm."""
    sources, sql = DEMO.sources(DEMO_SCALE), DEMO.texts()[report]
    request = PlanRequest(report=report, sql=sql, sources=sources, points=POINTS)
    took = []
    for _ in range(21):
        started = time.perf_counter()
        plan(request)
        took.append(1000 * (time.perf_counter() - started))
    return {"ms": statistics.median(took[1:])}


def fixed_cost(archive: str, _found: Found) -> Figures:
    """Wall and CPU of an application with next to nothing to do, and of an empty one, with or
    without the class-data archive; medians of 3."""
    options = submit_options("/tmp", tiny=True, files=ARCHIVES[archive]())
    return {
        what: [statistics.median(figures) for figures in zip(*runs, strict=True)]
        for what, measured in (("empty", _empty_application), ("run", _small_run))
        for runs in [[measured(options) for _ in range(3)]]
    }


def _empty_application(options: tuple[tuple[str, str], ...]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY_APPLICATION)
        command = [str(spark_submit()), "--master", "local[2]", "--driver-memory", MEMORY]
        for name, value in options:
            command += ["--conf", f"{name}={value}"]
        used = run_measured(
            [*command, str(script)], driver_environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return used.wall_s, used.process_cpu_s or 0.0


def _small_run(options: tuple[tuple[str, str], ...]) -> tuple[float, float]:
    """The plain run of a query over 25 rows, as an application of ours."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "logs").mkdir()
        runner = SparkRunner(work / "logs", "local[2]", dict(options))
        tables = {"nation": find_tables(TPCH.generate(0.01))["nation"]}
        what = Simulation(
            name="small", sql=SQL, tables=tables, changing=frozenset({"nation"}),
            points=(TimePoint(weight=1.0),), correlations=(), seed=1, work=work,
            store=str(work / "store"),
        )  # fmt: skip
        batch = simulate(what, runner, lambda _text: None, lambda _rows: None).batch
        return batch.wall_s, batch.process_cpu_s


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the demo's reports, both ways to start, and the queries as whole days."""
    for report in DEMO.texts():
        yield Cell(name=("plan", report), measure=partial(planning_time, report))
    for archive in ARCHIVES:
        yield Cell(name=("fixed", archive), measure=partial(fixed_cost, archive))

    def day(query: str, _found: Found) -> Figures:
        days = Days.of(TPCH, given.scale)
        return figures_of(days.run(query, TPCH.texts()[query], given.master))

    under = conditions(TPCH, given.scale, given.master, MEMORY)
    for query in QUERIES:
        yield Cell(name=("day", query), under=under, measure=partial(day, query))


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the three tables."""
    of = {
        kind: [(name[1], one) for name, one in found.items() if name[0] == kind]
        for kind in ("plan", "fixed", "day")
    }
    yield f"Planning each demo report over the demo's own day, at scale {DEMO_SCALE:g}, `auto`,"
    yield "before the first run:"
    yield ""
    plans = ((report, f"{one['ms']:.1f}") for report, one in of["plan"])
    yield from table(("report", "ms (median of 20)"), plans)
    yield ""
    yield "An application whose stages have next to nothing to do, and an empty Spark application;"
    yield "local[2], first compiler only, median of 3. Seconds, wall / CPU of the process tree:"
    yield ""
    fixed = (
        (archive, *(f"{w:.2f} / {c:.2f}" for w, c in (one["empty"], one["run"], _own(one))))
        for archive, one in of["fixed"]
    )
    yield from table(("class-data archive", "empty application", "run", "the run's own"), fixed)
    yield ""
    yield "CPU seconds of executors by run, a 0 is a run that was not opened; then of processes:"
    yield ""
    columns = ("query", "runs", "batch", "weighted", "wanted", "final", "processes", "batch")
    days = (Day.of((query,), one) for query, one in of["day"])
    yield from table((*columns, "ratio", "kept"), map(_row, days))


def _own(one: Figures) -> tuple[float, float]:
    return one["run"][0] - one["empty"][0], one["run"][1] - one["empty"][1]


def _row(day: Day) -> Iterator[object]:
    yield from (day.query, day.taken(executor), f"{executor(day.batch):.1f}")
    yield from (f"{day.ratio(executor):.3f}", QUERIES[day.query])
    yield from (f"{day.final_ratio(executor):.3f}", day.taken(process))
    yield from (f"{process(day.batch):.1f}", f"{day.ratio(process):.3f}")
    yield f"{day.kept / 1e6:,.0f} MB"


BENCHMARK = Benchmark(cells=cells, lines=lines, section=lambda _given: "bench-smoke")
