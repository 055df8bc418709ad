"""``make bench-smoke``: planning time, the fixed cost of a run, four TPC-H queries on Spark.

All figures of one invocation come from one machine in one go; ratios are what to look at. CPU
seconds of executors are Spark's own (event log), those of processes the whole tree's. Run it on a
machine that does nothing else.

    python -m tests.benchmarks smoke --scale 10
    python -m tests.benchmarks smoke --scale 1 --only q13,q18 --keep bench
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forerun.demo.data import generate_day
from forerun.include.machine.cpu_meter import run_measured
from forerun.include.machine.jvm import (
    DriverFiles,
    driver_environment,
    home_folder,
    spark_submit,
    submit_options,
)
from forerun.planner.api import plan
from forerun.planner.request import PlanRequest, TimePoint
from forerun.simulation.accounts import DayAccount
from forerun.simulation.day import simulate
from forerun.simulation.planning import with_statistics
from forerun.simulation.running import SparkRunner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.days import POINTS, TPCH, Days, generate_tpch, say
from tests.benchmarks.page import PAGE, ROOT, write_section

DEMO_SCALE = 1.0
QUERIES = {"q01": 0.45, "q03": 0.85, "q13": 0.60, "q18": 0.70}
"""Queries, and the weighted executor CPU over batch that we want to stay under."""
EMPTY_APPLICATION = """
from pyspark.sql import SparkSession
SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate().stop()
"""


def planning_times() -> list[dict[str, object]]:
    """Milliseconds to plan each demo report over the demo's own day, median of 20, warm."""
    given = generate_day(home_folder() / "bench" / f"demo-{DEMO_SCALE:g}", DEMO_SCALE)
    rows = []
    for path in sorted((ROOT / "include" / "sql").glob("*.sql")):
        request = PlanRequest(
            report=path.stem,
            sql=path.read_text(),
            sources=with_statistics(given, frozenset(given)),
            points=POINTS,
        )
        took = []
        for _ in range(20):
            started = time.perf_counter()
            plan(request)
            took.append(1000 * (time.perf_counter() - started))
        rows.append({"report": path.stem, "ms": round(statistics.median(took), 1)})
    return rows


def fixed_costs() -> list[dict[str, object]]:
    """Wall and CPU of an application with next to nothing to do, and of an empty one, with and
    without the class-data archive; medians of 3."""
    tables = find_tables(generate_tpch(0.01))
    text = "SELECT n_regionkey, count(*) AS n FROM nation GROUP BY n_regionkey"
    rows = []
    for with_archive in (True, False):
        files = None if with_archive else DriverFiles()
        options = submit_options("/tmp", tiny=True, files=files)
        empty, small = [], []
        for _ in range(3):
            empty.append(_empty_application(options))
            small.append(_small_run(tables["nation"], text, options))
        row: dict[str, object] = {"archive": "with" if with_archive else "without"}
        for name, figures in (("empty", empty), ("run", small)):
            row[f"{name}_wall_s"] = round(statistics.median(wall for wall, _ in figures), 2)
            row[f"{name}_cpu_s"] = round(statistics.median(cpu for _, cpu in figures), 2)
        rows.append(row)
        say(f"fixed cost: {row}")
    return rows


def _empty_application(options: tuple[tuple[str, str], ...]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY_APPLICATION)
        command = [str(spark_submit()), "--master", "local[2]", "--driver-memory", "4g"]
        for name, value in options:
            command += ["--conf", f"{name}={value}"]
        used = run_measured(
            [*command, str(script)], driver_environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return used.wall_s, used.process_cpu_s or 0.0


def _small_run(table: Table, sql: str, options: tuple[tuple[str, str], ...]) -> tuple[float, float]:
    """The plain run of a query over 25 rows, as an application of ours."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "logs").mkdir()
        runner = SparkRunner(work / "logs", "local[2]", dict(options))
        what = Simulation(
            name="small", sql=sql, tables={"nation": table}, changing=frozenset({"nation"}),
            points=(TimePoint(weight=1.0),), correlations=(), seed=1, work=work,
            store=str(work / "store"),
        )  # fmt: skip
        batch = simulate(what, runner, lambda _text: None, lambda _rows: None).batch
        return batch.wall_s, batch.process_cpu_s


def queries(scale: float, only: list[str], master: str) -> list[dict[str, object]]:
    """The TPC-H queries of the smoke test, each as a whole day and as batch."""
    days, texts, rows = Days.of(TPCH, scale), TPCH.texts(), []
    for name in only:
        say(f"{name}: a day of {len(POINTS)} runs and batch")
        rows.append(_figures(name, days.run(name, texts[name], master)))
        say(json.dumps(rows[-1]))
    return rows


def _figures(name: str, day: DayAccount) -> dict[str, object]:
    weighted = sum(run.weight * run.process_cpu_s for run in day.runs)
    return {
        "query": name,
        "equal": day.equal,
        "runs": [round(run.cpu_s, 1) for run in day.runs],
        "runs_process": [round(run.process_cpu_s, 1) for run in day.runs],
        "runs_wall": [round(run.wall_s, 1) for run in day.runs],
        "batch": round(day.batch.cpu_s, 1),
        "batch_process": round(day.batch.process_cpu_s, 1),
        "batch_wall": round(day.batch.wall_s, 1),
        "weighted": round(day.weighted_ratio or 0.0, 3),
        "weighted_process": round(weighted / day.batch.process_cpu_s, 3),
        "final": round(day.final_ratio or 0.0, 3),
        "wanted": QUERIES[name],
        "kept_bytes": sum(run.state_bytes for run in day.runs),
        "kept": list(day.kept),
    }


def section(figures: dict[str, Any]) -> list[str]:
    """The figures as lines of the page of benchmarks."""
    out = [
        "Figures of one `make bench-smoke` on one machine; losers are published too. Executor CPU",
        "is what Spark's event log adds up, process CPU the whole process tree of the application.",
        "The weighted ratio is the sum of weight times CPU over all runs, over that of batch.",
        "",
        f"{figures['machine']}, {figures['at']}, TPC-H scale {figures['scale']}.",
        "",
        "### Planning time of the demo reports",
        "",
        f"Over the demo's own day, at scale {DEMO_SCALE:g}, `auto`, before the first run.",
        "",
        "| report | ms (median of 20) |",
        "| --- | --- |",
    ]
    out += [f"| {row['report']} | {row['ms']} |" for row in figures["planning"]]
    out += [
        "",
        "### The fixed cost of a run",
        "",
        "An application whose stages have next to nothing to do, and an empty Spark application;",
        "local[2], first compiler only, median of 3. Seconds, wall / CPU of the process tree.",
        "",
        "| class-data archive | empty application | run | the run's own |",
        "| --- | --- | --- | --- |",
    ]
    for row in figures["fixed"]:
        own = row["run_wall_s"] - row["empty_wall_s"], row["run_cpu_s"] - row["empty_cpu_s"]
        out.append(
            f"| {row['archive']} | {row['empty_wall_s']} / {row['empty_cpu_s']} | "
            f"{row['run_wall_s']} / {row['run_cpu_s']} | {own[0]:.2f} / {own[1]:.2f} |"
        )
    out += [
        "",
        "### TPC-H on Spark, local[2]",
        "",
        "58, 79 and 100 % of orders, lineitem (lines with their orders) and customer; weights",
        "0.25, 0.3 and 1. CPU seconds of executors by run; a 0 is a run that was not opened.",
        "",
        "| query | runs | batch | weighted | wanted | final | processes | batch | ratio | kept |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in figures["queries"]:
        runs = ", ".join(map(str, row["runs"]))
        process = ", ".join(map(str, row["runs_process"]))
        out.append(
            f"| {row['query']} | {runs} | {row['batch']} | {row['weighted']} | {row['wanted']} | "
            f"{row['final']} | {process} | {row['batch_process']} | {row['weighted_process']} | "
            f"{row['kept_bytes'] / 1e6:,.0f} MB |"
        )
    return out


def main(given: argparse.Namespace) -> None:
    figures: dict[str, Any] = {
        "at": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "scale": f"{given.scale:g}",
        "planning": planning_times(),
        "fixed": fixed_costs(),
        "queries": queries(given.scale, (given.only or list(QUERIES)), given.master),
    }
    print(json.dumps(figures, indent=1))
    if not given.no_page:
        write_section("bench-smoke", section(figures))
        say(f"wrote {PAGE.relative_to(ROOT)}")
