"""A Spark standalone cluster on this machine: a master and workers that share no folder.

pyspark has the classes of master, worker and Spark Connect server, and no scripts that start them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from forerun.include.machine.jvm import driver_files, java_options, spark_home

_HOST = "127.0.0.1"
_START_SECONDS = 90.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


def quick_java() -> str:
    """Options of a JVM that starts with few CPU seconds: shared classes, one compiler, one thread
    that collects garbage. The archive fits a class path without a folder of configuration."""
    return " ".join(java_options(driver_files().archive, tiny=True))


@dataclass(frozen=True)
class Standalone:
    """A running cluster: the master's URL, the port of its pages, each worker's own folder and its
    process."""

    url: str
    pages: int
    folder: Path
    workers: tuple[Path, ...]
    processes: tuple[subprocess.Popen[bytes], ...]

    def state(self) -> dict[str, Any]:
        """What the master says of its workers and applications."""
        with urlopen(f"http://{_HOST}:{self.pages}/json/", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


@contextmanager
def standalone(folder: Path, *, workers: int = 2, memory: str = "600m") -> Iterator[Standalone]:
    """Run a master and ``workers`` workers with one core and ``memory`` each, for the block.

    Every process has a working folder and a scratch folder of its own, and no configuration. Its
    environment is the least that Java needs: no credentials, no Python path.
    """
    with ExitStack() as stack:
        at = _folder(folder, "master")
        master = stack.enter_context(
            _daemon(at, _MASTER, "--host", _HOST, "--port", "0", "--webui-port", "0")
        )
        # A worker that finds no master asks again only after seconds.
        pages = _port_of(master, at, "MasterWebUI: Bound .* and started at http://.*")
        url = f"spark://{_HOST}:{_port_of(master, at, 'Starting Spark master at spark://.*')}"
        places = tuple(_folder(folder, f"worker-{number}") for number in range(workers))
        processes = tuple(
            stack.enter_context(
                _daemon(at, _WORKER, "--host", _HOST, "--cores", "1", "--memory", memory,
                        "--webui-port", "0", "--work-dir", str(at / "work"), url)
            )
            for at in places
        )  # fmt: skip
        cluster = Standalone(url, pages, folder, places, processes)
        wait(lambda: cluster.state()["aliveworkers"] == workers, places[-1])
        yield cluster


@contextmanager
def connect_server(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run a Spark Connect server with two cores for the block; gives its address and process."""
    at = _folder(folder, "connect")
    settings = {
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": _HOST,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (at / "warehouse").as_uri(),
    }
    command = [
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        "local[2]",
        "--driver-memory",
        "768m",
    ]
    command += ["--driver-java-options", quick_java()]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with _daemon(at, *command, "spark-internal") as process:
        port = _port_of(process, at, "Spark Connect server started at: .*")
        yield f"sc://{_HOST}:{port}", process
        if process.returncode is None and (ended := process.poll()) is not None:
            raise AssertionError(f"the server ended by itself ({ended}): {_said(at)}")


@contextmanager
def _daemon(at: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        "PATH": os.environ["PATH"],
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_DIRS": str(at / "scratch"),
        "SPARK_DAEMON_JAVA_OPTS": quick_java(),
        **{name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ},
    }
    with (at / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(spark_home() / "bin" / "spark-class"), *command],
            env=environment, cwd=at, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _folder(folder: Path, name: str) -> Path:
    for part in ("scratch", "work"):
        (folder / name / part).mkdir(parents=True)
    return folder / name


def wait(done: Callable[[], bool], at: Path) -> None:
    """Wait until what was started in a folder answers so."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        try:
            if done():
                return
        except (URLError, OSError, json.JSONDecodeError):
            pass  # a master answers before it has anything to say
        time.sleep(0.1)
    raise AssertionError(f"{at.name} did not start: {_said(at)}")


def _port_of(process: subprocess.Popen[bytes], at: Path, line: str) -> int:
    """Return the port at the end of a line of a daemon's log. The daemon takes one that is free
    itself: one that is looked for before it starts may be another process's by then."""
    found: list[str] = []

    def said() -> bool:
        found[:] = re.findall(rf"{line}:(\d+)$", (at / "log").read_text(), re.MULTILINE)
        assert process.poll() is None, f"{at.name} ended: {_said(at)}"
        return bool(found)

    wait(said, at)
    return int(found[0])


def _said(at: Path) -> str:
    return (at / "log").read_text()[-2000:]
