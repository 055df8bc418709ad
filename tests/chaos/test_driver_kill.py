"""SIGKILL of the driver, at any moment, and a retry: the same result, and no orphan is read."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.machine.job_archive import job_archive
from forerun.include.state.commits import read_commit, read_stage
from forerun.include.state.records import RunCommit
from forerun.planner.contract import Stage
from tests.chaos.drivers import driver, finish, kill_when
from tests.selection import few
from tests.spark.days import Day, expected, publish, save_rows, save_sums

FIRST = [(i % 90, "abc"[i % 3], i) for i in range(3000)] + [(None, None, 7)] * 3
SECOND = [(i % 110, "abd"[i % 3], i) for i in range(2000)]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return job_archive(tmp_path / "job")


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)


def prepare(day: Day) -> None:
    """Run 1 of 2 is still to do; run 2 will be planned on it."""
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1)))


def written(day: Day, family: str, attempt: str) -> bool:
    """Whether an attempt has begun to write a family's partition."""
    return (day.folder / "my store" / day.at.artifact(family, day.plan.current, attempt)).exists()


def recorded(day: Day, stage: str) -> bool:
    return read_stage(day.store, day.at, day.plan.current, stage) is not None


def check(day: Day, archive: Path, engine: str, commit: RunCommit) -> None:
    """What run 1 kept is whole, and run 2 on top of it gives the batch result."""
    assert [a.rows for a in commit.artifacts] == [len(FIRST), 4]
    day.deliver(SECOND)
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True)
    final = finish(day, archive, "final", engine)
    assert day.rows(final) == expected([FIRST, SECOND])
    # Everything read back was named by a commit: two runs' rows, nothing of a dead attempt.
    named = {a.attempt for a in commit.artifacts}
    assert named <= {"k1", "k2", "k3"}


@pytest.mark.spark
@pytest.mark.slow
def test_kills_of_a_spark_driver(day: Day, archive: Path) -> None:
    """Inside the first stage, between two stages, then to the end."""
    prepare(day)
    assert kill_when(day, archive, "k1", "spark", lambda: written(day, "f_rows", "k1"))
    assert not recorded(day, "save-rows")
    assert kill_when(day, archive, "k2", "spark", lambda: recorded(day, "save-rows"))
    assert read_commit(day.store, day.at, 1) is None
    commit = finish(day, archive, "k3", "spark")
    # The first stage is the second attempt's; what the first one left behind is not read.
    assert commit.artifacts[0].attempt == "k2"
    assert "k1" not in {a.attempt for a in commit.artifacts}
    assert commit.metrics.stages[0].reused
    check(day, archive, "spark", commit)


@pytest.mark.parametrize(
    "moment",
    few(
        [
            lambda day: written(day, "f_rows", "k1"),
            lambda day: recorded(day, "save-rows"),
            lambda day: written(day, "f_sums", "k1"),
            lambda day: recorded(day, "save-sums"),
            lambda day: read_commit(day.store, day.at, 1) is not None,
        ],
        2,
    ),
    ids=["in stage 1", "after stage 1", "in stage 2", "after stage 2", "after the commit"],
)
def test_kills_on_the_small_engine(day: Day, archive: Path, moment: Callable[[Day], bool]) -> None:
    prepare(day)
    kill_when(day, archive, "k1", "sail", lambda: moment(day))
    check(day, archive, "sail", finish(day, archive, "k2", "sail"))


def test_two_attempts_at_once(day: Day, archive: Path) -> None:
    """Both end well, one has won, and both name the same winner."""
    prepare(day)
    with (
        driver(day, archive, "k1", "sail") as first,
        driver(day, archive, "k2", "sail") as second,
    ):
        assert [first.wait(timeout=300), second.wait(timeout=300)] == [0, 0]
    commit = read_commit(day.store, day.at, 1)
    assert commit is not None
    logs = [(day.folder / f"{name}.log").read_text() for name in ("k1", "k2")]
    assert sorted('"won": true' in log for log in logs) == [False, True]
    assert all(f'"attempt": "{commit.attempt}"' in log for log in logs)
    check(day, archive, "sail", commit)


def test_a_zombie_that_goes_on_after_the_retry_committed(day: Day, archive: Path) -> None:
    """A driver is stopped, not killed; the retry commits; the zombie wakes up and loses."""
    prepare(day)
    with driver(day, archive, "k1", "sail") as zombie:
        limit = time.monotonic() + 120
        while not written(day, "f_rows", "k1") and time.monotonic() < limit:
            time.sleep(0.002)
        os.killpg(zombie.pid, signal.SIGSTOP)
        try:
            commit = finish(day, archive, "k2", "sail")
        finally:
            os.killpg(zombie.pid, signal.SIGCONT)
        assert zombie.wait(timeout=120) == 0
    assert read_commit(day.store, day.at, 1) == commit
    assert '"won": false' in (day.folder / "k1.log").read_text()
    check(day, archive, "sail", commit)


def test_what_a_zombie_writes_into_its_folder_later_is_not_read(day: Day, archive: Path) -> None:
    """Each attempt has folders of its own: the orphan of one that died is in no commit."""
    prepare(day)
    assert kill_when(day, archive, "k1", "sail", lambda: recorded(day, "save-rows"))
    # Planned again over other files, so the record does not fit; its folder is now an orphan.
    other: Stage = replace(save_rows(1), sql=save_rows(1).sql + " WHERE true")
    day.plan_run(1, (other, save_sums(1)))
    commit = finish(day, archive, "k2", "sail")
    assert {a.attempt for a in commit.artifacts} == {"k2"}
    assert written(day, "f_rows", "k1")
    check(day, archive, "sail", commit)
