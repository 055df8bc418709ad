"""The CPU of a tiny run on a Spark Connect server.

The server is started, does one run that is not counted, and then as many as asked for, each by the
job as a process of its own. What the server's process used in the meantime is told apart.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import psutil

from forerun.include.machine.cpu_meter import run_measured
from forerun.spark_jobs import run as job
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.spark.days import Day, publish, save_rows, save_sums
from tests.spark.standalone import connect_server


def _tiny_run(folder: Path, address: str, server: psutil.Process) -> tuple[float, float]:
    """CPU seconds of the client and of the server for a run of three stages over two rows."""
    folder.mkdir()
    day = Day(folder)
    day.deliver([(1, "a", 100), (2, "b", 250)])
    key = day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    before = server.cpu_times()
    command = [sys.executable, str(job.__file__), "--plan", day.store.uri(key), "--attempt", "a1"]
    command += ["--engine", "connect", "--master", address]
    environment = {**os.environ, "PYTHONPATH": str(Path(job.__file__).absolute().parents[2])}
    with (folder / "log").open("wb") as log:
        done = run_measured(command, environment, stdout=log, stderr=log)
    if done.exit_code:
        raise SystemExit((folder / "log").read_text())
    after = server.cpu_times()
    used = after.user + after.system - before.user - before.system
    return done.process_cpu_s, used


def _runs(times: int, _found: Found) -> Figures:
    with tempfile.TemporaryDirectory() as name, connect_server(Path(name)) as (address, server):
        process = psutil.Process(server.pid)
        took = [_tiny_run(Path(name) / f"day-{i}", address, process) for i in range(times + 1)]
    return {"runs": took}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the one server."""
    under = f"{given.times} runs after the first"
    yield Cell(name=("server",), under=under, measure=partial(_runs, given.times))


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield each run, and the median of all but the first."""
    for figures in found.values():
        first, *others = figures["runs"]
        medians = [median(column) for column in zip(*others, strict=True)]
        runs = [("first", first), *enumerate(others, 1), ("median but the first", medians)]
        rows = ((name, *(f"{value:.2f}" for value in run)) for name, run in runs)
        yield from table(("run", "CPU s of the client", "CPU s of the server"), rows)


BENCHMARK = Benchmark(cells=cells, lines=lines)
