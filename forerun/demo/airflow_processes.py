"""Airflow's processes, each a child of this one: whichever of them ends is known by its name."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from forerun.demo.place import ROOT, DemoError
from forerun.include.machine import child_process
from forerun.include.machine.child_process import ChildProcess

_PARTS = ("api-server", "scheduler", "dag-processor", "triggerer")


@contextmanager
def airflow_processes(
    env: Mapping[str, str], port: int, logs: Path
) -> Iterator[tuple[ChildProcess, ...]]:
    """Airflow for this machine's users only, on a database that is migrated; it ends with the
    block. What each process says is in a file of ``logs``."""
    env = {
        **env,
        **address(port),
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
    }
    parts: list[ChildProcess] = []
    try:
        for name in _PARTS:
            command = [sys.executable, "-m", "airflow", name]
            if name in ("scheduler", "triggerer"):
                command.append("--skip-serve-logs")  # the API server reads the same files
            log = logs / f"{name}.log"
            parts.append(
                child_process.start(f"Airflow's {name}", command, log=log, env=env, cwd=ROOT)
            )
        yield tuple(parts)
    finally:
        child_process.stop(parts)


def address(port: int) -> dict[str, str]:
    """The settings by which Airflow listens at a port, and its tasks find it there."""
    url = f"http://localhost:{port}"
    return {
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
    }


def refuse_dead(processes: Sequence[ChildProcess]) -> None:
    """Raise :class:`DemoError`, with its name, if one of the processes has ended."""
    for one in processes:
        if ending := one.ending:
            raise DemoError(ending, hint=f"Its log is {one.log}; it ends: {one.last_words}")
