"""What the fixed cost of a run is made of: CPU seconds of a tiny application, phase by phase.

A real plan over 25 rows is submitted as runs are, but by :mod:`tests.benchmarks.fixed_cost_job`,
which does what ``spark_jobs/run.py`` does and writes down, after each phase, what its process and
the JVM's threads have used by then. Medians of several applications, one after the other.

    python -m tests.benchmarks fixed_cost --times 5
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from forerun.include.machine.cpu_meter import run_measured
from forerun.include.machine.job_archive import job_archive
from forerun.include.machine.jvm import (
    DriverFiles,
    driver_environment,
    driver_files,
    spark_submit,
    submit_options,
)
from forerun.planner.request import TimePoint
from forerun.simulation.plain import PlainQuery
from forerun.simulation.planning import sources
from forerun.simulation.running import DRIVER_MEMORY, SparkRunner
from forerun.simulation.simulated_day import DEFAULT_DAY, Simulation, spec_of, write_deliveries
from forerun.simulation.tables import find_tables
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.fixed_cost_job import KINDS, MARK
from tests.benchmarks.suites import TPCH

JOB = Path(__file__).with_name("fixed_cost_job.py")
SQL = "SELECT n_regionkey, count(*) AS n FROM nation GROUP BY n_regionkey"
Phases = dict[str, dict[str, float]]
"""CPU seconds by phase and by who used them."""
CASES = {
    "tiny": "with the archive, first compiler only (how tiny runs start)",
    "both-compilers": "with the archive, both compilers",
    "no-archive": "without the archive, first compiler only",
}


def plan_of_nothing(work: Path) -> str:
    """The URI of a plan of batch over 25 rows, in a store of its own."""
    (work / "logs").mkdir(parents=True)
    tables = {"nation": find_tables(TPCH.generate(0.01))["nation"]}
    what = Simulation(
        name="small", sql=SQL, tables=tables, changing=frozenset(), correlations=(), seed=1,
        points=(TimePoint(weight=1.0),), work=work, store=str(work / "store"),
    )  # fmt: skip
    write_deliveries(what, ["nation"], lambda _rows: None)
    runner = SparkRunner(work / "logs", "local[2]")
    given = sources(tables.values(), what.changing)
    _, prepared = PlainQuery(spec_of(what, ["nation"]), given, DEFAULT_DAY, runner).prepare()
    return prepared.plan_uri


def one_application(case: str) -> Phases:
    """The phases of one application. The last one is what the whole process tree used beyond
    what was written down."""
    files = DriverFiles() if case == "no-archive" else driver_files()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        uri, tiny = plan_of_nothing(work), case != "both-compilers"
        command = [str(spark_submit()), "--master", "local[2]", "--driver-memory", DRIVER_MEMORY]
        for name, value in submit_options(uri, tiny, master="local[2]", files=files):
            command += ["--conf", f"{name}={value}"]
        command += ["--py-files", str(job_archive(work)), str(JOB), uri]
        with (work / "out").open("wb") as out:
            used = run_measured(command, driver_environment(), stdout=out, stderr=subprocess.STDOUT)
        text = (work / "out").read_text()
    if used.exit_code:
        raise SystemExit(text[-4000:])
    marks = [
        json.loads(line.removeprefix(MARK)) for line in text.splitlines() if line.startswith(MARK)
    ]
    phases: Phases = {}
    before = dict.fromkeys(KINDS, 0.0)
    for mark in marks:
        phases[mark["phase"]] = {kind: mark[kind] - before[kind] for kind in KINDS}
        before = mark
    counted = before["python"] + before["jvm"]
    phases["stop and exit"] = dict.fromkeys(KINDS, 0.0) | {"jvm": used.process_cpu_s - counted}
    return phases


def medians(runs: Sequence[Phases]) -> Phases:
    """Of each figure the median of all applications."""
    return {
        phase: {kind: statistics.median(run[phase][kind] for run in runs) for kind in KINDS}
        for phase in runs[0]
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5, help="applications of each kind")


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield each way to start an application."""

    def measure(case: str, _found: Found) -> Figures:
        return {"phases": medians([one_application(case) for _ in range(given.times)])}

    for case in CASES:
        under = f"medians of {given.times}"
        yield Cell(name=(case,), under=under, measure=partial(measure, case))


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield a table of phases for each way."""
    columns = ("phase", "all", "Python", "JVM", "of it compilers", "of it collector")
    for (case,), figures in found.items():
        yield ""
        yield f"CPU seconds, {CASES[case]}:"
        yield ""
        phases: Phases = figures["phases"]
        in_sum = {kind: sum(of[kind] for of in phases.values()) for kind in KINDS}
        rows = (
            (phase, *(f"{one:.2f}" for one in (of["python"] + of["jvm"], *map(of.get, KINDS))))
            for phase, of in [*phases.items(), ("sum", in_sum)]
        )
        yield from table((*columns, "classes, wall"), rows)


BENCHMARK = Benchmark(cells=cells, lines=lines, section=lambda _given: "fixed-cost")
