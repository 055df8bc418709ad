"""The S3 server goes down in the middle of a run: a sentence within the time allowed, nothing
committed, and a retry goes on from the stage that was done."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from forerun.include.machine.local_s3 import LocalS3, local_s3, versitygw
from forerun.include.state.commits import read_commit
from forerun.include.stores import open_store
from forerun.spark_jobs.run import CANNOT
from tests.spark.days import Day, expected, publish, save_rows, save_sums

pytestmark = [
    pytest.mark.s3,
    pytest.mark.skipif(
        versitygw() is None, reason="needs a server that keeps its files: VersityGW"
    ),
]
ROOT = Path(__file__).resolve().parents[2]
PAUSED = """
import sys
from forerun.spark_jobs import run

say = run._say

def pause_after_the_first_stage(line):
    say(line)
    if "stage 1/3" in line:
        print("paused", flush=True)
        sys.stdin.readline()

run._say = pause_after_the_first_stage
sys.exit(run.main())
"""
"""The job in a process of its own, since Sail reads credentials once; it waits while we stop the
store."""
ROWS = [(i % 9, "abc"[i % 3], i) for i in range(300)]


def test_a_store_that_goes_down_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_S3_TIMEOUT", "4")

    def start(stack: ExitStack) -> LocalS3:
        server = stack.enter_context(local_s3(tmp_path / "s3", kind="versitygw"))
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        return server

    with ExitStack() as first:
        bucket = start(first).make_bucket("down")
        day = Day(tmp_path, f"{bucket}/store")
        day.deliver(ROWS)
        key = day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
        plan = f"{day.store.root}/{key}"
        started = time.monotonic()
        job = subprocess.Popen(
            [sys.executable, "-c", PAUSED, *arguments(plan, "a1")],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert job.stdin is not None
        assert job.stdout is not None
        said = job.stdout.readline()
        assert said == "paused\n", job.communicate()
        first.close()
        _, said = job.communicate("go on\n")
        assert job.returncode == CANNOT
        assert time.monotonic() - started < 240
    assert "error: store-down: cannot read" in said
    assert "hint: " in said
    assert "Traceback" not in said
    with ExitStack() as second:
        start(second)
        day.store = open_store(day.store.root)
        assert read_commit(day.store, day.at, 1) is None
        retry = [sys.executable, "-m", "forerun.spark_jobs.run", *arguments(plan, "a2")]
        done = subprocess.run(retry, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        commit = read_commit(day.store, day.at, 1)
        assert commit is not None
        assert [stage.reused for stage in commit.metrics.stages] == [True, False, False]
        assert day.rows(commit) == expected([ROWS])


def arguments(plan: str, attempt: str) -> list[str]:
    return ["--plan", plan, "--run", "1", "--attempt", attempt, "--engine", "sail"]
