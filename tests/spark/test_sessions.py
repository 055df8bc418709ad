"""The settings on which the meaning of SQL depends: Spark's own registry, and days in sessions."""

from __future__ import annotations

import datetime as dt
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.machine.job_archive import job_archive
from forerun.include.machine.jvm import driver_environment, spark_submit, submit_options
from forerun.include.reports.spark.session import (
    FIXED,
    UNDEFINED,
    Session,
    SessionError,
    refuse_differing,
)
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs.prepare import open_generation, prepare_run
from forerun.include.runs.stored_plan import StoredPlan
from forerun.planner.checks import WITHOUT_ANSI
from forerun.planner.contract import decode_plan
from forerun.planner.request import ANSI, TIME_ZONE, Settings
from forerun.spark_jobs.engines.spark import _value
from forerun.spark_jobs.executor import execute
from forerun.spark_jobs.judged import RefusedTextError
from tests.spark.days import Day, save_rows, save_sums

WITHOUT_MEANING = Path(__file__).parent / "settings_without_meaning.txt"
JOB = Path(__file__).resolve().parents[2] / "forerun" / "spark_jobs" / "run.py"
DATE = dt.date(2026, 3, 29)
"""The day of 23 hours in Berlin."""


@pytest.mark.spark
def test_every_setting_of_spark_is_looked_at(spark):
    """The search for settings that change what SQL means: the registry of the Spark that is there
    has no setting that nobody has looked at, and none of the fixed ones has another default."""
    jvm = spark.session._jvm
    registry = getattr(getattr(jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")
    for method in registry.getClass().getMethods():
        if method.getParameterCount() == 0 and method.getReturnType().getName().endswith("Entry"):
            method.invoke(registry, None)  # some are registered when they are first asked for
    there = {e.key(): e.defaultValueString() for e in registry.getConfigEntries().toArray()}
    known = set(WITHOUT_MEANING.read_text().split()) | {*FIXED, ANSI, TIME_ZONE}
    of_sql = {name for name in there if name.startswith("spark.sql.")}
    assert not of_sql - known, "settings of this Spark that nobody has looked at"
    assert not set(FIXED) - of_sql, "fixed settings that this Spark does not have"
    assert {name: there[name] for name in FIXED} == dict(FIXED)


@pytest.mark.spark
def test_a_session_with_any_other_value_is_refused(spark):
    """Each setting by itself, whatever it is: a switch the other way, words by another word."""
    conf, tried = spark.session.conf, 0
    refuse_differing(lambda name: _value(spark.session, name))
    for name, fixed in FIXED.items():
        other = {"true": "false", "false": "true", UNDEFINED: "true"}.get(fixed, "LEGACY")
        if name in ("spark.sql.mapKeyDedupPolicy", "spark.sql.timestampType"):
            other = {"EXCEPTION": "LAST_WIN", "TIMESTAMP_LTZ": "TIMESTAMP_NTZ"}[fixed]
        if not conf.isModifiable(name):
            continue
        before = conf.get(name, None)
        try:
            conf.set(name, other)
        except Exception:  # noqa: BLE001 - a value that Spark refuses, nobody can set
            continue
        try:
            with pytest.raises(SessionError, match=name):
                refuse_differing(lambda name: _value(spark.session, name))
            tried += 1
        finally:
            conf.unset(name) if before in (None, UNDEFINED) else conf.set(name, before)
    assert tried > 100


@pytest.mark.spark
def test_a_submitted_run_fails_with_the_name_of_the_setting(day: Day, tmp_path: Path) -> None:
    """spark-defaults.conf says how texts are read: nothing is computed, and the name is said."""
    name = "spark.sql.ansi.doubleQuotedIdentifiers"
    (tmp_path / "spark-defaults.conf").write_text(f"{name} true\n")
    day.deliver([(1, "a", 2)])
    day.plan_run(1, (save_rows(1), save_sums(1)))
    command = [str(spark_submit())]
    for key, value in submit_options(day.store.root, tiny=True):
        command += ["--conf", f"{key}={value}"]
    plan = day.store.uri(day.at.plan(day.plan.current, "p1"))
    command += [
        "--py-files",
        str(job_archive(tmp_path)),
        str(JOB),
        "--plan",
        plan,
        "--attempt",
        "a",
    ]
    done = subprocess.run(
        command,
        env=driver_environment() | {"SPARK_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("error: ")]
    assert len(said) == 1
    assert said[0].startswith(f"error: session: the deployment sets {name}=true")


CLOCKS = (
    "SELECT to_date(at) AS d, hour(at) AS h, CAST(at AS STRING) AS s, "
    "date_trunc('HOUR', at) AS t, count(*) AS n FROM events "
    "WHERE at >= :report_start AND at < :report_end AND at > TIMESTAMP '2026-03-29 00:15:00' "
    "GROUP BY to_date(at), hour(at), CAST(at AS STRING), date_trunc('HOUR', at)"
)


def report(folder: Path, sql: str = CLOCKS, **options: Any) -> ReportSpec:
    events = SourceSpec(
        name="events",
        path=str(folder / "events"),
        columns={"at": "TIMESTAMP", "n": "INT"},
        complete_when=ClockTime(),
    )
    runs = tuple(RunTime(at=at, weight=weight) for at, weight in (("12:00", 0.2), ("24:00", 1.0)))
    return ReportSpec(
        name="clocks", sources=(events,), policy=RunPolicy(runs=runs), sql=sql, **options
    )


def deliver(folder: Path, name: str, *moments: str, n: int = 1) -> None:
    (folder / "events").mkdir(exist_ok=True)
    at = [dt.datetime.fromisoformat(moment).replace(tzinfo=dt.UTC) for moment in moments]
    rows = {"at": pa.array(at, pa.timestamp("us", "UTC")), "n": pa.array([n] * len(at), pa.int32())}
    pq.write_table(pa.table(rows), folder / "events" / f"{name}.parquet")


def run_day(engine: Any, folder: Path, spec: ReportSpec, method: str) -> tuple[list[tuple], Any]:
    """The rows of a day whose second file comes after its first run, and its last plan."""
    store, now = (folder / f"store-{method}").as_uri(), dt.datetime(2026, 3, 30, tzinfo=dt.UTC)
    (folder / "events" / "2.parquet").unlink(missing_ok=True)
    day = open_generation(store, spec, DATE, trigger="t", now=now)
    settings = Settings(temporal="early")
    for run in (1, 2):
        if run == 2:
            deliver(folder, "2", "2026-03-28 23:10:00", "2026-03-29 02:30:00", n=2)
        prepared = prepare_run(day, run, now=now, method=method, settings=settings)
        if not prepared.skip_reason:
            commit = execute(engine, StoredPlan.read(prepared.plan_uri), f"a{run}")
    result = commit.result
    files = [Path(day.store.uri(f"{result.folder}/{f.name}")[7:]) for f in result.files]
    rows = pa.concat_tables(pq.read_table(file) for file in files).to_pylist()
    return sorted(tuple(row.values()) for row in rows), decode_plan(
        day.store.get(prepared.plan_key)
    )


def _on_each(test: Any) -> Any:
    engines = [pytest.param("sail"), pytest.param("spark", marks=pytest.mark.spark)]
    return pytest.mark.parametrize("engine", engines)(test)


@_on_each
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "UTC"])
def test_clocks_in_sql_are_those_of_the_report(engine, zone, tmp_path, request):
    """Parameters, literals, hours, days and texts of timestamps go by the report's zone, in a plan
    with kept rows as in batch."""
    running = request.getfixturevalue(engine)
    deliver(tmp_path, "1", "2026-03-28 22:59:59", "2026-03-28 23:30:00", "2026-03-29 01:00:00")
    deliver(tmp_path, "noon", "2026-03-29 12:00:00")
    spec = report(tmp_path, timezone=zone)
    kept, plan = run_day(running, tmp_path, spec, "progressive")
    assert plan.method == "incremental"
    assert plan.run.base == 1
    batch, plan = run_day(running, tmp_path, spec, "batch")
    assert plan.method == "batch"
    assert kept == batch
    if zone == "Europe/Berlin":
        midnight, skipped = dt.date(2026, 3, 29), dt.datetime(2026, 3, 29, 1, tzinfo=dt.UTC)
        assert [(row[0], row[1], row[2]) for row in kept] == [
            (midnight, 0, "2026-03-29 00:30:00"),
            (midnight, 3, "2026-03-29 03:00:00"),
            (midnight, 4, "2026-03-29 04:30:00"),
            (midnight, 14, "2026-03-29 14:00:00"),
        ]
        assert kept[1][3] == skipped


@_on_each
def test_a_session_of_its_own_wins_over_the_clock_of_the_report(engine, tmp_path, request):
    running = request.getfixturevalue(engine)
    deliver(tmp_path, "1", "2026-03-29 01:00:00")
    sql = "SELECT hour(at) AS h, count(*) AS n FROM events GROUP BY hour(at)"
    spec = report(tmp_path, sql, timezone="Europe/Berlin", session=Session(time_zone="Asia/Tokyo"))
    rows, _ = run_day(running, tmp_path, spec, "progressive")
    assert rows == [(8, 1), (10, 1), (11, 1)]


@pytest.mark.spark
def test_a_report_without_ansi_mode_is_batch_by_its_text(spark, tmp_path):
    deliver(tmp_path, "1", "2026-03-29 01:00:00", n=0)
    sql = "SELECT sum(10 / n) AS q, count(CAST('x' AS INT)) AS c FROM events"
    spec = report(tmp_path, sql, session=Session(ansi=False))
    rows, plan = run_day(spark, tmp_path, spec, "auto")
    assert rows == [(10.0, 0)]
    assert plan.batch_because == WITHOUT_ANSI
    rows, plan = run_day(spark, tmp_path, spec, "progressive")
    assert rows == [(10.0, 0)]
    assert plan.batch_because == WITHOUT_ANSI
    # Spark's optimizer computes the constant, so the judge is told before any stage.
    with pytest.raises(RefusedTextError, match="CAST_INVALID_INPUT"):
        run_day(spark, tmp_path, report(tmp_path, sql), "batch")
