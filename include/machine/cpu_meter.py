"""CPU time of whole process trees, for the price of a run.

Executor figures leave out the driver, the JIT compiler, garbage collection and Python. What a run
costs is the CPU of its process tree: a cpuacct control group where one can be made, else what the
kernel adds up for a child that is waited for (which misses descendants that nobody reaped).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from forerun.planner.errors import ForerunError

_CPUACCT = Path("/sys/fs/cgroup/cpuacct")
_ENTER = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'


class ProcessError(ForerunError):
    """A command cannot be started."""

    code = "process"


@dataclass(frozen=True, slots=True)
class Measured:
    """The end of a command. A negative ``exit_code`` is the signal that killed it."""

    exit_code: int
    process_cpu_s: float
    wall_s: float


def run_measured(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    cwd: Path | None = None,
    stdout: IO[bytes] | int | None = None,
    stderr: IO[bytes] | int | None = None,
) -> Measured:
    """Run a command to its end and measure it with all its descendants.

    An interrupt kills the whole tree. Raises :class:`ProcessError` if it cannot be started.
    """
    if shutil.which(command[0], path=(os.environ if env is None else env).get("PATH")) is None:
        raise ProcessError(f"there is no command {command[0]}", hint="Run `forerun doctor`.")
    group = _make_group()
    entered = ["sh", "-c", _ENTER, "sh", str(group), *command] if group else list(command)
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            entered, env=env, cwd=cwd, stdout=stdout, stderr=stderr, start_new_session=True
        )
    except OSError as error:
        raise ProcessError(
            f"cannot start {command[0]}: {error.strerror}",
            hint="Check the memory and process limits of this machine.",
        ) from None
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    cpu = used.ru_utime + used.ru_stime
    if group:
        cpu = max(cpu, _close_group(group))
    return Measured(process.returncode, cpu, wall)


class Meter:
    """Seconds since it was made: of the clock, and of CPU of :func:`tree_cpu_s`.

    ``whole_process`` counts the CPU from the start of the process instead: what an application
    took, its JVM's start included. ``before_s`` is added to the CPU: a share of what was done for
    several before. ``shared_by`` says how many runs the process is for.
    """

    def __init__(
        self, *, whole_process: bool = False, before_s: float = 0.0, shared_by: int = 1
    ) -> None:
        self.shared_by = shared_by
        self._wall = time.monotonic()
        self._cpu = (0.0 if whole_process else tree_cpu_s()) - before_s

    @property
    def wall_s(self) -> float:
        return time.monotonic() - self._wall

    @property
    def cpu_s(self) -> float:
        return tree_cpu_s() - self._cpu


def tree_cpu_s() -> float:
    """CPU seconds up to now of this process, its reaped children, and the JVM that started it.

    A driver that spark-submit started is a child of the JVM; one that started the JVM itself is
    its parent, and then the JVM is found among the children.
    """
    own = psutil.Process()
    used = own.cpu_times()
    total: float = used.user + used.system + used.children_user + used.children_system
    parent = own.parent()
    near = own.children() if parent is None else [parent, *own.children()]
    return total + sum(_java_cpu_s(process) for process in near)


def _java_cpu_s(process: psutil.Process) -> float:
    """User and system seconds of a running JVM; 0 of any other process, or of one that is gone."""
    try:
        if process.name() != "java":
            return 0.0
        used = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(used.user + used.system)


def _make_group() -> Path | None:
    group = _CPUACCT / f"forerun-{uuid.uuid4().hex[:12]}"
    try:
        group.mkdir()
    except OSError:
        return None
    if (group / "cpuacct.usage").is_file() and os.access(group / "cgroup.procs", os.W_OK):
        return group
    _remove(group)
    return None


def _close_group(group: Path) -> float:
    """Seconds used in a group, which is then removed unless something still runs in it."""
    used = int((group / "cpuacct.usage").read_text()) / 1e9
    _remove(group)
    return used


def _remove(group: Path) -> None:
    try:
        group.rmdir()
    except OSError:
        return  # a descendant outlives the command; the empty group goes with the next boot
