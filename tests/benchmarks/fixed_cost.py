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
from collections import defaultdict
from datetime import UTC, date, datetime
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
from tests.benchmarks.days import generate_tpch, say
from tests.benchmarks.fixed_cost_job import KINDS, MARK
from tests.benchmarks.page import write_section

JOB = Path(__file__).with_name("fixed_cost_job.py")
SQL = "SELECT n_regionkey, count(*) AS n FROM nation GROUP BY n_regionkey"
DAY: date = DEFAULT_DAY
Phases = dict[str, dict[str, float]]
"""CPU seconds by phase and by who used them."""


def plan_of_nothing(work: Path) -> str:
    """The URI of a plan of batch over 25 rows, in a store of its own."""
    (work / "logs").mkdir(parents=True)
    tables = {"nation": find_tables(generate_tpch(0.01))["nation"]}
    what = Simulation(
        name="small", sql=SQL, tables=tables, changing=frozenset(), correlations=(), seed=1,
        points=(TimePoint(weight=1.0),), work=work, store=str(work / "store"),
    )  # fmt: skip
    write_deliveries(what, ["nation"], lambda _rows: None)
    runner = SparkRunner(work / "logs", "local[2]")
    given = sources(tables.values(), what.changing)
    _, prepared = PlainQuery(spec_of(what, ["nation"]), given, DAY, runner).prepare()
    return prepared.plan_uri


def one_application(files: DriverFiles, *, tiny: bool) -> Phases:
    """The phases of one application. The last one is what the whole process tree used beyond
    what was written down."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        uri = plan_of_nothing(work)
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


def medians(runs: list[Phases]) -> Phases:
    """Of each figure the median of all applications."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for phases in runs:
        for phase, figures in phases.items():
            for kind, value in figures.items():
                found[phase][kind].append(value)
    return {
        phase: {kind: statistics.median(values) for kind, values in of_kind.items()}
        for phase, of_kind in found.items()
    }


def section(by_case: dict[str, Phases], times: int) -> list[str]:
    """The figures as lines of the page of benchmarks."""
    at = datetime.now(UTC).date().isoformat()
    lines = [f"`python -m tests.benchmarks fixed_cost --times {times}`, medians, {at}."]
    for case, phases in by_case.items():
        lines += [
            "",
            f"CPU seconds, {case}:",
            "",
            "| phase | all | Python | JVM | of it compilers | of it collector | classes, wall |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        rows = [*phases.items(), ("sum", _sum(phases))]
        for phase, of in rows:
            figures = [of["python"] + of["jvm"], *(of[kind] for kind in KINDS)]
            lines.append(f"| {phase} | " + " | ".join(f"{value:.2f}" for value in figures) + " |")
    return lines


def _sum(phases: Phases) -> dict[str, float]:
    return {kind: sum(of[kind] for of in phases.values()) for kind in KINDS}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5, help="applications of each kind")


def main(given: argparse.Namespace) -> None:
    cases = {
        "with the archive, first compiler only (how tiny runs start)": (driver_files(), True),
        "with the archive, both compilers": (driver_files(), False),
        "without the archive, first compiler only": (DriverFiles(), True),
    }
    by_case = {}
    for case, (files, tiny) in cases.items():
        by_case[case] = medians([one_application(files, tiny=tiny) for _ in range(given.times)])
        say(f"{case}: {sum(_sum(by_case[case])[kind] for kind in ('python', 'jvm')):.2f}")
    lines = section(by_case, given.times)
    print("\n".join(lines))
    if not given.no_page:
        write_section("fixed-cost", lines)
