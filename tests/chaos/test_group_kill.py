"""SIGKILL of a driver that does the final runs of a group: what is committed stays, and the retry
does only the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forerun.include.machine.job_archive import job_archive
from forerun.include.state.commits import read_commit
from tests.chaos.test_driver_kill import FIRST
from tests.spark.days import Day, expected, publish, save_rows, save_sums

pytestmark = pytest.mark.slow
NAMES = ("first", "second", "third")


@pytest.fixture
def days(tmp_path: Path) -> list[Day]:
    """Three reports whose final runs are planned; each has a store of its own."""
    made = []
    for name in NAMES:
        (tmp_path / name).mkdir()
        day = Day(tmp_path / name)
        day.deliver(FIRST)
        day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
        made.append(day)
    return made


def start(days: list[Day], archive: Path, attempt: str, log: Path) -> subprocess.Popen[bytes]:
    uris = [f"{day.store.root}/{day.at.plan(1, 'p1')}" for day in days]
    plans = [part for uri in uris for part in ("--plan", uri)]
    command = [sys.executable, "-m", "forerun.spark_jobs.run", *plans, "--attempt", attempt]
    env = {**os.environ, "PYTHONPATH": str(archive), "RUST_LOG": "error"}
    with log.open("wb") as said:
        return subprocess.Popen(
            [*command, "--engine", "sail"], env=env, cwd="/", stdout=said, stderr=said,
            start_new_session=True,
        )  # fmt: skip


def committed(day: Day) -> bool:
    return read_commit(day.store, day.at, 1) is not None


@pytest.mark.parametrize("after", [1, 2])
def test_a_driver_is_killed_between_the_finals_of_two_reports(
    days: list[Day], tmp_path: Path, after: int
) -> None:
    archive = job_archive(tmp_path / "job")
    killed = start(days, archive, "k1", tmp_path / "k1.log")
    try:
        limit = time.monotonic() + 120
        while not committed(days[after - 1]):
            assert killed.poll() is None, (tmp_path / "k1.log").read_text()
            assert time.monotonic() < limit
            time.sleep(0.002)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert [committed(day) for day in days] == [number < after for number in range(3)]
    again = start(days, archive, "k2", tmp_path / "k2.log")
    assert again.wait(timeout=120) == 0, (tmp_path / "k2.log").read_text()
    commits = [read_commit(day.store, day.at, 1) for day in days]
    assert [commit.attempt for commit in commits] == ["k1"] * after + ["k2"] * (3 - after)
    for day, commit in zip(days, commits, strict=True):
        assert day.rows(commit) == expected([FIRST])
    assert (tmp_path / "k2.log").read_text().count("is committed by attempt k2") == 3 - after
