"""The job on an S3 store: the same run, Spark through S3A, Sail through its own client."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from forerun.include.machine.job_archive import job_archive
from forerun.include.machine.jvm import (
    driver_environment,
    driver_files,
    spark_submit,
    submit_options,
)
from forerun.include.state.commits import ArtifactError, read_commit
from forerun.spark_jobs.engines.sail import start_sail
from tests.spark.days import Day, expected, publish, save_rows, save_sums

pytestmark = pytest.mark.s3
JOB = Path(__file__).resolve().parents[2] / "forerun" / "spark_jobs" / "run.py"
FIRST = [(1, "a", 100), (2, "b", 250), (2, "b", 250), (None, None, 7)]
SECOND = [(3, "a", 1), (4, "c", 99), (5, None, 3)]


@pytest.fixture
def day(tmp_path: Path, moto_bucket: str) -> Day:
    return Day(tmp_path, f"{moto_bucket}/a/store")


def test_a_day_on_sail(day: Day) -> None:
    engine = start_sail()
    try:
        day.deliver(FIRST)
        day.plan_run(1, (save_rows(1), save_sums(1)))
        kept = day.do(engine).artifacts[0]
        day.deliver(SECOND)
        day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True)
        stray = f"{kept.folder}/stray.parquet"
        day.store.put(stray, b"x")
        with pytest.raises(ArtifactError, match="does not name it"):
            day.do(engine, "a2")
        day.store.delete(stray)
        assert day.rows(day.do(engine, "a3")) == expected([FIRST, SECOND])
    finally:
        engine.stop()


@pytest.mark.slow  # a day on a cluster, whose store is on S3, is in `make test`
@pytest.mark.spark
@pytest.mark.skipif(driver_files().jars is None, reason="the S3A jars are not here: make jars")
def test_a_day_on_spark(day: Day, tmp_path: Path) -> None:
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1)))
    submit(day, tmp_path)
    day.deliver(SECOND)
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True)
    submit(day, tmp_path)
    commit = read_commit(day.store, day.at, 2)
    assert day.rows(commit) == expected([FIRST, SECOND])
    assert all(file.identity for a in commit.artifacts for file in a.files)
    # Figures come from what ran, on S3 as on a disk: no row or byte of an artifact counts as read
    # from a source, and counting what was written is not reading.
    rows, sums, result = commit.metrics.stages
    assert (rows.source_rows_read, rows.state_rows_read) == (len(SECOND), 0)
    assert (sums.source_rows_read, sums.state_rows_read) == (0, len(SECOND))
    assert (result.source_rows_read, result.state_rows_read) == (0, 2 * (3 + 3))
    assert rows.bytes_read == sum(file.size for file in day.files[1:])
    assert sums.bytes_read == rows.bytes


def submit(day: Day, tmp_path: Path) -> None:
    plan = f"{day.store.root}/{day.at.plan(day.plan.current, 'p1')}"
    command = [str(spark_submit()), "--master", "local[2]", "--driver-memory", "1g"]
    for name, value in submit_options(day.store.root, tiny=True):
        command += ["--conf", f"{name}={value}"]
    command += ["--conf", "spark.sql.shuffle.partitions=2"]
    command += ["--py-files", str(job_archive(tmp_path)), str(JOB), "--plan", plan]
    command += ["--run", str(day.plan.current), "--attempt", "a1"]
    done = subprocess.run(
        command, env=driver_environment(), capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if " INFO " not in line]
    assert done.returncode == 0, "\n".join([*said, done.stdout])[-3000:]
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    assert secret not in " ".join(command) + done.stdout + done.stderr
