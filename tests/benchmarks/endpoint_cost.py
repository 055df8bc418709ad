"""The CPU of a tiny run on a Spark Connect server.

The server is started, does one run that is not counted, and then as many as asked for, each by the
job as a process of its own. What the server's process used in the meantime is told apart.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import psutil

from forerun.include.machine.cpu_meter import run_measured
from forerun.spark_jobs import run as job
from tests.spark.days import Day, publish, save_rows, save_sums
from tests.spark.standalone import connect_server


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5)


def main(given: argparse.Namespace) -> None:
    times = given.times
    with tempfile.TemporaryDirectory() as name, connect_server(Path(name)) as (address, server):
        process = psutil.Process(server.pid)
        took = [_tiny_run(Path(name) / f"day-{i}", address, process) for i in range(times + 1)]
    sys.stdout.write("run, CPU s of the client, CPU s of the server\n")
    for number, (client_s, server_s) in enumerate(took):
        sys.stdout.write(f"{number or 'first'}, {client_s:.2f}, {server_s:.2f}\n")
    medians = [median(figures) for figures in zip(*took[1:], strict=True)]
    sys.stdout.write(f"median but the first, {medians[0]:.2f}, {medians[1]:.2f}\n")


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
