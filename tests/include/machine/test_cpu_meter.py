"""Measuring a command with everything it starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from forerun.include.machine.cpu_meter import ProcessError, run_measured, tree_cpu_s

BURN = "import time; t = time.process_time()\nwhile time.process_time() - t < 0.4: pass"


def test_the_cpu_of_descendants_counts() -> None:
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
    measured = run_measured([sys.executable, "-c", script])
    assert measured.exit_code == 0
    assert 0.4 <= measured.process_cpu_s < 5
    assert measured.wall_s >= 0.4


def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    with (tmp_path / "err").open("wb") as err:
        assert (
            run_measured([sys.executable, "-c", "raise SystemExit(2)"], stderr=err).exit_code == 2
        )


def test_a_signal_is_a_negative_exit_code() -> None:
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_measured([sys.executable, "-c", kill]).exit_code == -9


def test_the_environment_and_arguments_arrive(tmp_path: Path) -> None:
    code = "import os, sys; open(sys.argv[1], 'w').write(os.environ['X'] + sys.argv[2])"
    target = tmp_path / "a b"
    command = [sys.executable, "-c", code, str(target), "$HOME '\""]
    assert run_measured(command, {**os.environ, "X": "1"}).exit_code == 0
    assert target.read_text() == "1$HOME '\""


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(ProcessError, match=r"there is no command /no(?s:.)*doctor"):
        run_measured(["/no/such/command"])


def test_own_cpu_grows() -> None:
    before = tree_cpu_s()
    sum(i * i for i in range(2_000_000))
    assert tree_cpu_s() > before


@pytest.mark.skipif(not os.access("/sys/fs/cgroup/cpuacct", os.W_OK), reason="no cpuacct here")
def test_groups_are_removed() -> None:
    before = set(Path("/sys/fs/cgroup/cpuacct").glob("forerun-*"))
    run_measured([sys.executable, "-c", ""])
    assert not set(Path("/sys/fs/cgroup/cpuacct").glob("forerun-*")) - before
