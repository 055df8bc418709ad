"""Drivers as processes of their own, which are ended at any moment.

The moments are found by watching the store, as somebody from outside would.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from forerun.include.machine.jvm import driver_environment, spark_submit, submit_options
from forerun.include.state.commits import read_commit
from forerun.include.state.records import RunCommit
from tests.spark.days import Day

JOB = Path(__file__).resolve().parents[2] / "forerun" / "spark_jobs" / "run.py"


@dataclass(frozen=True)
class Machine:
    """Where a driver runs: its user, its folder, and what its environment has besides."""

    user: int | None = None
    folder: str = "/"
    variables: tuple[tuple[str, str], ...] = ()


HERE = Machine()


@contextmanager
def driver(
    day: Day, archive: Path, attempt: str, engine: str, on: Machine = HERE
) -> Iterator[subprocess.Popen[bytes]]:
    """A driver in a process group of its own; whatever happens, none is left behind."""
    plan = f"{day.store.root}/{day.at.plan(day.plan.current, 'p1')}"
    arguments = ["--plan", plan, "--run", str(day.plan.current), "--attempt", attempt]
    if engine == "sail":
        command = [sys.executable, "-m", "forerun.spark_jobs.run", "--engine", "sail", *arguments]
        env = {**os.environ, "PYTHONPATH": str(archive), "RUST_LOG": "error"}
    else:
        command = [str(spark_submit()), "--master", "local[2]", "--driver-memory", "1g"]
        options = (
            *submit_options(day.store.root, tiny=True),
            ("spark.sql.shuffle.partitions", "2"),
        )
        command += [part for pair in options for part in ("--conf", "=".join(pair))]
        command += ["--py-files", str(archive), str(JOB), *arguments]
        env = driver_environment()
    log = (day.folder / f"{attempt}.log").open("wb")
    process = subprocess.Popen(
        command, env={**env, **dict(on.variables)}, cwd=on.folder, user=on.user,
        stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        _kill(process)
        log.close()


def kill_when(
    day: Day,
    archive: Path,
    attempt: str,
    engine: str,
    moment: Callable[[], bool],
    how: int = signal.SIGKILL,
) -> bool:
    """Start a driver and end it at a moment; false if it had ended before that came."""
    with driver(day, archive, attempt, engine) as process:
        limit = time.monotonic() + 240
        while not moment():
            if process.poll() is not None:
                return False
            if time.monotonic() > limit:
                pytest.fail((day.folder / f"{attempt}.log").read_text())
            time.sleep(0.002)
        assert process.poll() is None
        _kill(process, how)
    return True


def finish(day: Day, archive: Path, attempt: str, engine: str, on: Machine = HERE) -> RunCommit:
    """Run a driver to its end, and return what it, or another one, has committed."""
    with driver(day, archive, attempt, engine, on) as process:
        code = process.wait(timeout=300)
    assert code == 0, (day.folder / f"{attempt}.log").read_text()
    commit = read_commit(day.store, day.at, day.plan.current)
    assert commit is not None
    return commit


def _kill(process: subprocess.Popen[bytes], how: int = signal.SIGKILL) -> None:
    """The whole group: spark-submit's JVM and the Python driver below it."""
    try:
        os.killpg(process.pid, how)
    except ProcessLookupError:
        return
    process.wait()
