"""SIGKILL at every write of planning, committing and publishing, then a retry: the same day."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_day_killed_at_any_write_and_retried_ends_the_same(tmp_path, step):
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.day_under_fire", str(tmp_path), str(step)],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()]
    codes = [int(code) for _, code, _, _ in lines]
    assert codes[:-1] == [-signal.SIGKILL] * (len(lines) - 1)
    assert codes[-1] == 0
    assert len(lines) > 80 / step  # it was really killed all along
    assert {int(retried) for _, _, retried, _ in lines} == {0}
    assert {outcome for *_, outcome in lines} == {lines[-1][3]}
    assert lines[-1][3].startswith("[(1, 0), (2, 1)] [")
