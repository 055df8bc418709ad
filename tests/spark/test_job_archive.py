"""The zip: the same bytes every time, and enough to do a run with nothing else on the path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from include.job_archive import job_archive
from tests.spark.days import Day, expected, publish, save_rows, save_sums

ROWS = [(1, "a", 100), (2, "b", 250)]


def job(archive: Path, day: Day, *extra: str) -> subprocess.CompletedProcess[str]:
    plan = f"{day.store.root}/{day.at.plan(day.plan.current, 'p1')}"
    return subprocess.run(
        [sys.executable, "-m", "spark_jobs.run", "--plan", plan, "--engine", "sail", *extra],
        check=False, cwd="/", env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True, text=True,
    )  # fmt: skip


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = job_archive(tmp_path / "a"), job_archive(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    assert first.name == second.name
    assert job_archive(tmp_path / "a") == first
    assert [p.name for p in (tmp_path / "a").iterdir()] == [first.name]


def test_a_run_with_only_the_zip(tmp_path: Path, day: Day) -> None:
    archive = job_archive(tmp_path)
    day.deliver(ROWS)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    done = job(archive, day, "--run", "1", "--attempt", "x1")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome == {"run": 1, "attempt": "x1", "won": True, "critical": 0, "warnings": 0}
    assert "stage 3/3 publish -> result: 2 rows" in done.stderr
    again = job(archive, day, "--run", "1", "--attempt", "x2")
    assert again.returncode == 0
    assert json.loads(again.stdout.splitlines()[-1])["won"] is False
    from include.state.commits import read_commit

    assert day.rows(read_commit(day.store, day.at, 1)) == expected([ROWS])


def test_errors_are_sentences(tmp_path: Path, day: Day) -> None:
    archive = job_archive(tmp_path)
    day.deliver(ROWS).unlink()
    day.plan_run(1, (save_rows(1),))
    for extra, words in (
        (("--run", "1", "--attempt", "x1"), "vanished after it was pinned"),
        (("--run", "2", "--attempt", "x1"), "plans run 1, not run 2"),
    ):
        done = job(archive, day, *extra)
        assert done.returncode == 2
        assert words in done.stderr
        assert "hint:" in done.stderr
        assert "Traceback" not in done.stderr
