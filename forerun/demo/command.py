"""``forerun demo``: three reports of a day through Airflow and Spark, beside their batch runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from forerun import accounts, console
from forerun.accounts import DayAccount
from forerun.demo.data import ARRIVED, generate_day, split_day
from forerun.demo.page import PageReport, page
from forerun.demo.verdict import left_to_itself, verdict
from forerun.plain import PlainQuery
from forerun.planning import sources as planner_sources
from forerun.running import Runner, SparkRunner
from forerun.simulate import make_account
from forerun.simulation_command import show_day
from forerun.tables import Table
from include.day import latest_generation
from include.demo import DATA_VARIABLE, DAY, POLICY, data_uri, demo_sources
from include.jvm import driver_environment, home_folder
from include.report import ReportSpec
from include.state.opening import open_store
from planner.algebra.relational import sources as sources_of
from planner.errors import ForerunError
from planner.request import TimePoint
from planner.sql.frontend import read_query

ROOT = Path(__file__).resolve().parents[2]
_MASTER = "local[2]"
_BUCKET = "forerun-demo"
_LEAD = (
    "Three reports, computed early, while the data came in and compute was cheap, and finished at "
    "midnight with what was left. Every figure is from what ran."
)


REPORTS = ("consolidated_revenue", "top_orders", "customer_distribution")
"""The DAG of each is ``dags/demo_<name>.py``, its SQL ``include/reports/<name>.sql``."""


class DemoError(ForerunError):
    """The demo cannot run, or a DAG of it failed."""

    code = "demo"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one demo keeps its things. ``env`` is for Airflow and everything that it starts."""

    home: Path
    store: str
    data: str
    env: dict[str, str]


def run(store: str, scale: float, *, as_json: bool) -> int:
    """The whole demo; 0 if every result equals batch, else 1."""
    started = time.monotonic()
    notes = console.notes()
    with _place(store) as place:
        notes.print(f"data of a day at scale {scale:g}")
        tables = _stage(place.data, scale)
        notes.print("Airflow's database")
        _airflow(place, "migrate", "db", "migrate")
        runner = SparkRunner(place.home / "logs", _MASTER)
        pages = []
        for name in REPORTS:
            notes.print(f"{name}: three runs through Airflow, then batch")
            _airflow(place, name, "dags", "test", f"demo_{name}", DAY.isoformat())
            pages.append(_account(place, name, tables, runner))
        seconds = time.monotonic() - started
        target = home_folder() / "demo" / "day.html"
        footer = f"forerun demo, scale {scale:g}, {store} store, {seconds:.0f} s in all."
        said = verdict(
            {one.title: one.day for one in pages}, {one.title: one.alone for one in pages}
        )
        target.write_text(page(_title(), _LEAD, said, pages, footer), encoding="utf-8")
    _show(pages, said, target, as_json=as_json)
    notes.print(f"{seconds:.0f} s in all")
    return 0 if all(one.day.equal for one in pages) else 1


def stage(scale: float) -> int:
    """Put the day's data where an Airflow of one's own looks for it (``FORERUN_DATA``)."""
    target = data_uri()
    _stage(target, scale)
    console.notes().print(f"data of {DAY} at scale {scale:g}, staged in {target}")
    return 0


def up(store: str, scale: float) -> int:
    """Airflow's UI on the demo's DAGs and data, until it is interrupted."""
    with _place(store) as place:
        _stage(place.data, scale)
        _airflow(place, "migrate", "db", "migrate")
        console.notes().print("Airflow's UI: http://localhost:8080 (trigger a demo_ DAG with the")
        console.notes().print(
            f"report date {DAY}); the password is in the lines below. Ctrl-C ends."
        )
        command = [sys.executable, "-m", "airflow", "standalone"]
        return subprocess.run(command, env=place.env, cwd=ROOT, check=False).returncode


def _title() -> str:
    return f"The day of {DAY.day} {DAY:%B %Y}"


@contextmanager
def _place(store: str) -> Iterator[_Place]:
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
    from include.local_s3 import local_s3

    with local_s3(home / "s3") as server:
        os.environ.update(server.environment)
        bucket = server.make_bucket(_BUCKET)
        yield _enter(home, f"{bucket}/store", f"{bucket}/data", server.environment)


def _enter(home: Path, store: str, data: str, extra: dict[str, str]) -> _Place:
    os.environ[DATA_VARIABLE] = data
    connection = {"conn_type": "spark", "host": _MASTER, "extra": {"deploy-mode": "client"}}
    env = driver_environment() | extra
    env |= {
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]),
        "FORERUN_STORE": store,
        DATA_VARIABLE: data,
    }
    return _Place(home, store, data, env)


def _stage(data: str, scale: float) -> dict[str, Table]:
    """Generate, cut, and put what comes in before each run where the demo's DAGs look for it."""
    generated = home_folder() / "demo" / "generated" / f"scale-{scale:g}"
    tables = generate_day(generated / "whole", scale)
    split_day(tables, generated / "deliveries")
    store = open_store(data)
    for path in sorted((generated / "deliveries").glob("*/run-*.parquet")):
        key = f"staged/{DAY.isoformat()}/{path.stem}/{path.parent.name}/part-0.parquet"
        store.put(key, path.read_bytes())
    return tables


def _airflow(place: _Place, name: str, *arguments: str) -> None:
    """Run an airflow command; its output goes to a log that an error names."""
    log = place.home / "logs" / f"airflow-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        command = [sys.executable, "-m", "airflow", *arguments]
        done = subprocess.run(
            command, env=place.env, cwd=ROOT, stdout=output, stderr=output, check=False
        )
    if done.returncode:
        lines = log.read_text(errors="replace").splitlines()
        raise DemoError(
            f"airflow {' '.join(arguments)} failed: {lines[-1] if lines else 'no output'}",
            hint=f"The whole log: {log}",
        )


def _account(place: _Place, name: str, tables: dict[str, Table], runner: Runner) -> PageReport:
    """What the DAG's runs committed, beside the plain query over the same files."""
    store = open_store(place.store)
    at = latest_generation(store, name, DAY)
    if at is None or store.find(at.commit(len(POLICY.runs))) is None:
        raise DemoError(
            f"the final run of {name} was not committed",
            hint=f"The log: {place.home / 'logs' / f'airflow-{name}.log'}",
        )
    report = ROOT / "include" / "reports" / f"{name}.sql"
    sql = report.read_text(encoding="utf-8")
    sources = planner_sources(tables.values(), frozenset(tables))
    spec = ReportSpec(
        name=name,
        sql=sql,
        sources=demo_sources(name, *sorted(sources_of(read_query(sql, sources).relation))),
        policy=POLICY,
        deadline="26:00",
        store=place.store,
    )
    plain = PlainQuery(spec, sources, DAY, runner)
    plain_at, batch = plain.run()
    arrivals = accounts.read_arrivals(store, at, spec.runs)
    whole = max(sum(rows[-1] for _, rows in arrivals), 1)
    parts = [sum(rows[i] for _, rows in arrivals) / whole for i in range(spec.runs)]
    points = tuple(zip(spec.weights, parts, strict=True))
    day = make_account(
        store,
        at,
        engine=runner.engine,
        sql=sql,
        verdict=plain.compare(at, plain_at),
        runs=accounts.read_runs(store, at, points),
        batch=batch,
        arrivals=arrivals,
    )
    times = tuple(run.at for run in POLICY.runs)
    return PageReport(
        title=name.replace("_", " ").capitalize(),
        about=_about(sql),
        times=times,
        day=day,
        alone=left_to_itself(report, tables, _points()),
    )


def _points() -> tuple[TimePoint, ...]:
    return tuple(
        TimePoint(weight=run.weight, arrived=arrived)
        for run, arrived in zip(POLICY.runs, ARRIVED, strict=True)
    )


def _about(sql: str) -> str:
    """The comment at the top of a report's SQL."""
    lines = takewhile(lambda line: line.startswith("--"), sql.splitlines())
    return " ".join(line.removeprefix("--").strip() for line in lines)


def _show(pages: list[PageReport], said: tuple[str, ...], target: Path, *, as_json: bool) -> None:
    if as_json:
        days: list[DayAccount] = [one.day for one in pages]
        shown = {"page": str(target), "verdict": said, "reports": [day.as_json() for day in days]}
        console.say_json(shown)
        return
    for one in pages:
        show_day(one.day)
        console.say("")
    for text in said:
        console.say(text)
    console.say(f"\nthe day as a page: {target}")
