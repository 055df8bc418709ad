"""The place of a demo: its data, its store, an Airflow home, perhaps an S3 server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from forerun.demo.data import generate_day, split_day
from forerun.demo.reports import DATA_VARIABLE, DAY, PAST_DAYS
from forerun.include.machine.jvm import driver_environment, home_folder
from forerun.include.stores.opening import open_store
from forerun.planner.errors import ForerunError
from forerun.simulation.tables import Table

ROOT = Path(__file__).resolve().parents[2]
MASTER = "local[2]"
_BUCKET = "forerun-demo"


class DemoError(ForerunError):
    """The demo cannot run, or a DAG of it failed."""

    code = "demo"


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one demo. ``env`` is for Airflow and everything that it starts."""

    home: Path
    store: str
    data: str
    env: dict[str, str]


@contextmanager
def open_place(store: str) -> Iterator[Place]:
    """A fresh place for one demo; with ``s3`` also a server that ends with the block."""
    if not (ROOT / "dags").is_dir():
        raise DemoError(
            "the demo's DAGs are not there", hint="Run the demo in a checkout of Forerun."
        )
    home = home_folder() / "demo"
    for old in ("day", "s3", "logs"):
        shutil.rmtree(home / old, ignore_errors=True)
    day = home / "day"
    day.mkdir(parents=True)
    if store == "file":
        yield _enter(home, (day / "store").as_uri(), (day / "data").as_uri(), {})
        return
    from forerun.include.machine.local_s3 import local_s3

    with local_s3(home / "s3") as server:
        os.environ.update(server.environment)
        bucket = server.make_bucket(_BUCKET)
        yield _enter(home, f"{bucket}/store", f"{bucket}/data", server.environment)


def _enter(home: Path, store: str, data: str, extra: dict[str, str]) -> Place:
    os.environ[DATA_VARIABLE] = data
    connection = {"conn_type": "spark", "host": MASTER, "extra": {"deploy-mode": "client"}}
    env = driver_environment() | extra
    env |= {
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # The demo and its UI share a home: what one has seen first must run in the other.
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
        "PYTHONPATH": str(ROOT),
        "FORERUN_STORE": store,
        DATA_VARIABLE: data,
    }
    return Place(home, store, data, env)


def stage_day(data: str, scale: float, day: date = DAY) -> dict[str, Table]:
    """Generate, cut, and put what comes in before each run where the demo's DAGs look for it."""
    generated = home_folder() / "demo" / "generated" / f"scale-{scale:g}"
    tables = generate_day(generated / "whole", scale)
    split_day(tables, generated / "deliveries")
    store = open_store(data)
    for path in sorted((generated / "deliveries").glob("*/run-*.parquet")):
        key = f"staged/{day.isoformat()}/{path.stem}/{path.parent.name}/part-0.parquet"
        store.put(key, path.read_bytes())
    return tables


def stage_past_days(data: str, scale: float) -> None:
    """The same for the days before it: a tenth fewer rows for each that lies further back."""
    for back, day in enumerate(reversed(PAST_DAYS), 1):
        stage_day(data, scale * (1 - back / 10), day)


def run_airflow(
    place: Place, name: str, *arguments: str, on_line: Callable[[str], None] = lambda _: None
) -> None:
    """Run an airflow command; its output goes to a log that an error names, line by line to
    ``on_line``, too."""
    run_module(place, f"airflow-{name}", "airflow", *arguments, on_line=on_line)


def run_module(
    place: Place,
    name: str,
    module: str,
    *arguments: str,
    on_line: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a module with Airflow's environment; its output goes to a log that an error names, line
    by line to ``on_line``, too."""
    log = place.home / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", module, *arguments]
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            command,
            env=place.env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as done,
    ):
        for line in done.stdout or ():
            output.write(line)
            on_line(line)
    if done.returncode:
        lines = log.read_text(errors="replace").splitlines()
        raise DemoError(
            f"{' '.join((module, *arguments))} failed: {lines[-1] if lines else 'no output'}",
            hint=f"The whole log: {log}",
        )
