"""A run whose store is full: an error that says so, nothing committed, and a retry that goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from forerun.include.state.commits import read_commit
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.failures import StageError
from tests.spark.days import Day, expected, publish, save_rows, save_sums

ROWS = [(i, f"shop {i}", i) for i in range(20_000)]


def mount(folder: Path, *options: str) -> bool:
    command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mount(disk, "-o", "size=300k"):
        pytest.skip("a file system of one's own needs the right to mount")
    yield disk
    # Lazily: Spark may still hold a file of it open.
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_store_that_fills_up_during_a_run(
    tmp_path: Path, small_disk: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    started: Engine = request.getfixturevalue(engine)
    day = Day(tmp_path, str(small_disk))
    day.deliver(ROWS)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    with pytest.raises(StageError) as caught:
        day.do(started)
    assert "Free space" in caught.value.hint, caught.value
    assert read_commit(day.store, day.at, 1) is None
    assert mount(small_disk, "-o", "remount,size=30m")
    commit = day.do(started, "a2")
    assert commit.attempt == "a2"
    assert day.rows(commit) == expected([ROWS])
