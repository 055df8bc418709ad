"""The JVM of a driver dies under it: a sentence and exit code 2, and a retry goes on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forerun.include.machine.jvm import driver_environment, submit_options
from forerun.include.state.commits import read_commit, read_stage
from tests.spark.days import Day, expected, publish, save_rows, save_sums

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]
ROWS = [(i % 90, "abc"[i % 3], i) for i in range(3000)]


def start(day: Day, attempt: str) -> subprocess.Popen[str]:
    plan = f"{day.store.root}/{day.at.plan(1, 'p1')}"
    command = [sys.executable, "-m", "forerun.spark_jobs.run", "--master", "local[1]"]
    command += ["--plan", plan, "--run", "1", "--attempt", attempt]
    options = [f"--conf {name}={shlex.quote(v)}" for name, v in submit_options("", tiny=True)]
    environment = {
        **driver_environment(),
        "PYSPARK_SUBMIT_ARGS": " ".join((*options, "pyspark-shell")),
    }
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def java_below(process: int) -> int:
    """The process id of the driver's JVM."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = status.read_text().split("(", 1)[1].rsplit(") ", 1)
        except OSError:
            continue  # it has ended meanwhile
        if name == "java" and os.getsid(int(status.parent.name)) == process and rest:
            return int(status.parent.name)
    raise LookupError(f"no JVM below {process}")


def test_a_jvm_that_dies_is_said_and_the_retry_goes_on(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.deliver(ROWS)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    process = start(day, "a1")
    try:
        limit = time.monotonic() + 240
        while read_stage(day.store, day.at, 1, "save-rows") is None:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < limit
            time.sleep(0.01)
        os.kill(java_below(process.pid), signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 2, said
    _, _, after = said.partition("error: stage:JVM: ")
    # A thread of py4j may say later that its own connection is gone, too.
    assert after.splitlines()[1].lstrip().startswith("hint: "), said
    assert read_commit(day.store, day.at, 1) is None
    again = start(day, "a2")
    _, said = again.communicate(timeout=240)
    assert again.returncode == 0, said
    commit = read_commit(day.store, day.at, 1)
    assert commit is not None
    assert commit.metrics.stages[0].reused
    assert day.rows(commit) == expected([ROWS])
