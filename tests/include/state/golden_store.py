"""A whole store as a version of Forerun left it: one day published, the next one begun.

``python -m tests.include.state.golden_store`` writes that of the version at hand, once, when a
version is made; the archives are never written again. Specs and pins hold absolute paths, so a
store is unpacked where it was made.
"""

from __future__ import annotations

import datetime as dt
import io
import os
import shutil
import sys
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.engines import ENGINES
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs.prepare import open_generation, prepare_run, publish_result
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.records import OpenedBy
from forerun.planner.contract import ColumnSpec
from forerun.planner.request import Settings
from forerun.planner.version import VERSION
from forerun.spark_jobs.engine import Engine, start_engine
from forerun.spark_jobs.executor import execute

FOLDER = Path("/tmp/forerun-golden-store")
ARCHIVES = Path(__file__).resolve().parents[2] / "goldens" / "stores"
DAYS = (dt.date(2026, 3, 1), dt.date(2026, 3, 2))
RUNS = 3


def report() -> ReportSpec:
    """Sales by category: a join of two sources that grow, so that early runs keep states."""

    def source(name: str, *columns: str) -> SourceSpec:
        return SourceSpec(
            name=name,
            path=str(FOLDER / "sources" / "{ds}" / name),
            columns=tuple(ColumnSpec(name=one, type="BIGINT") for one in columns),
            key=columns[:1],
            complete_when=ClockTime(),
        )

    times = zip(("12:00", "18:00", "24:00"), (0.25, 0.3, 1.0), strict=True)
    return ReportSpec(
        name="by_category",
        sql="SELECT i.category, COUNT(*) AS sales, SUM(s.price) AS total, MAX(s.price) AS most "
        "FROM sales s JOIN items i ON s.item = i.item GROUP BY i.category",
        sources=(source("sales", "id", "item", "price"), source("items", "item", "category")),
        policy=RunPolicy(runs=tuple(RunTime(at=at, weight=weight) for at, weight in times)),
        deadline="26:00",
        store=(FOLDER / "store").as_uri(),
    )


def deliver(day: dt.date, run: int) -> None:
    """Write what comes before a run of a day: its rows are a function of day and run."""
    first = 100 * run
    rows = range(first, first + 100)
    _write(
        day,
        "sales",
        run,
        id=list(rows),
        item=[n % 40 for n in rows],
        price=[n * day.day for n in rows],
    )
    items = range(10 * run, 10 * run + 10)
    _write(day, "items", run, item=list(items), category=[n % 4 for n in items])


def _write(day: dt.date, name: str, run: int, **columns: list[int]) -> None:
    folder = FOLDER / "sources" / day.isoformat() / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{run}.parquet"
    pq.write_table(pa.table(columns), file)
    written = day.toordinal() + run
    os.utime(file, (written, written))  # a pin names it, and archives have no parts of seconds


def expected(day: dt.date) -> list[tuple[int, int, int, int]]:
    """What the query gives over all rows of a day, sorted."""
    found: dict[int, list[int]] = {}
    for n in range(100, 100 * (RUNS + 1)):
        if 10 <= (item := n % 40) < 10 * (RUNS + 1):
            found.setdefault(item % 4, []).append(n * day.day)
    return sorted((k, len(v), sum(v), max(v)) for k, v in found.items())


def open_day(day: dt.date) -> Day:
    """Open a day, or find it as it was opened before."""
    by = OpenedBy(
        dag_id="sales",
        run_id="golden",
        mode="progressive",
        group="",
        retries=Retries(count=0, pauses_s=0.0),
    )
    return open_generation(
        report().store, report(), day, trigger="golden", now=_moment(day, 0), opened_by=by
    )


def do_run(engine: Engine, handle: Day, run: int) -> None:
    """Do a run as its DAG's tasks would."""
    prepared = prepare_run(
        handle,
        run,
        now=_moment(handle.date, 12 + 6 * (run - 1)),
        method="progressive",
        settings=Settings(temporal="early", prices=ENGINES["sail"].prices),
    )
    execute(engine, StoredPlan.read(prepared.plan_uri), f"t1-{run:08x}", lambda _: None)


def publish(handle: Day) -> None:
    publish_result(handle, now=_moment(handle.date, 25))


def _moment(day: dt.date, hour: int) -> dt.datetime:
    return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) + dt.timedelta(hours=hour)


def unpack(version: str) -> None:
    """Put the store of a version where it was made."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    with tarfile.open(ARCHIVES / f"{version}.tar.xz") as archive:
        archive.extractall(FOLDER.parent)


def main() -> int:
    """Make the archive of this version, if there is none yet."""
    target = ARCHIVES / f"{VERSION}.tar.xz"
    if target.exists():
        sys.exit(f"{target.name} is there: what a version has written is never written again")
    shutil.rmtree(FOLDER, ignore_errors=True)
    engine = start_engine(ENGINES["sail"], master=None, name="golden")
    try:
        for day, runs in zip(DAYS, (RUNS, RUNS - 1), strict=True):
            handle = open_day(day)
            for run in range(1, runs + 1):
                deliver(day, run)
                do_run(engine, handle, run)
            if runs == RUNS:
                publish(handle)
    finally:
        engine.stop()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:xz") as archive:
        archive.add(FOLDER, FOLDER.name)
    ARCHIVES.mkdir(exist_ok=True)
    target.write_bytes(made.getvalue())
    shutil.rmtree(FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
