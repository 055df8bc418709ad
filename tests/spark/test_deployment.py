"""What a deployment says about its applications is kept, whatever a run needs for itself."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import zstandard

from forerun.include.machine.job_archive import job_archive
from forerun.include.machine.jvm import driver_environment, spark_submit, submit_options
from forerun.include.state.commits import read_commit
from tests.spark.days import Day, save_rows, save_sums

pytestmark = pytest.mark.spark
JOB = Path(__file__).resolve().parents[2] / "forerun" / "spark_jobs" / "run.py"
DELIVERED = [(i % 7, "ab"[i % 2], i) for i in range(40)]
COMMAND_LINE = {
    "spark.master": "local[1]",
    "spark.app.name": "night 7",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "true",
    "spark.eventLog.rolling.enabled": "true",
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.memory": "900m",
    "spark.ui.showConsoleProgress": "true",
}
DEFAULTS = {
    "spark.hadoop.fs.s3a.endpoint": "http://kept.example",
    "spark.task.maxFailures": "7",
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
}
RESULTS_REST_ON = {
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}


def submit(day: Day, folder: Path, settings: dict[str, str]) -> None:
    """Spark-submit the planned run; ``folder`` holds the deployment's ``spark-defaults.conf``."""
    options = dict(submit_options(day.store.root, tiny=True)) | settings
    command = [str(spark_submit())]
    for name, value in options.items():
        command += ["--conf", f"{name}={value}"]
    plan = day.store.uri(day.at.plan(day.plan.current, "p1"))
    command += ["--py-files", str(job_archive(folder)), str(JOB), "--plan", plan]
    command += ["--run", str(day.plan.current), "--attempt", "a1"]
    done = subprocess.run(
        command,
        env=driver_environment() | {"SPARK_CONF_DIR": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def properties(log: Path) -> dict[str, str]:
    """The settings of the session, as the deployment's own event log has them."""
    (file,) = log.glob("eventlog_v2_*/events_1_*.zstd")
    with file.open("rb") as packed:
        lines = zstandard.ZstdDecompressor().stream_reader(packed).read().decode().splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    kinds = {event["Event"].rpartition(".")[2] for event in events}
    assert {"SparkListenerTaskEnd", "SparkListenerApplicationEnd"} <= kinds
    (found,) = (e for e in events if e["Event"] == "SparkListenerEnvironmentUpdate")
    return dict(found["Spark Properties"])


def test_a_submitted_run_has_the_settings_of_the_deployment(day: Day, tmp_path: Path) -> None:
    """Master, event log and the rest, of the command line and of ``spark-defaults.conf``; only what
    results rest on is Forerun's. The run's own figures need nothing of the deployment's log."""
    log = tmp_path / "event log"
    log.mkdir()
    settings = COMMAND_LINE | {"spark.eventLog.dir": log.as_uri()}
    defaults = "".join(f"{name} {value}\n" for name, value in DEFAULTS.items())
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    day.deliver(DELIVERED)
    day.plan_run(1, (save_rows(1), save_sums(1)))
    submit(day, tmp_path, settings)

    found = properties(log)
    wanted = settings | DEFAULTS | RESULTS_REST_ON
    assert {name: found.get(name) for name in wanted} == wanted
    assert found["spark.ui.enabled"] == "false", "a default of ours where nothing is said"

    commit = read_commit(day.store, day.at, 1)
    assert commit is not None
    saved, summed = commit.metrics.stages
    assert (saved.source_rows_read, saved.state_rows_read) == (40, 0)
    assert (summed.source_rows_read, summed.state_rows_read) == (0, 40)
    assert saved.bytes_read == sum(file.size for file in day.files)
    assert 0 < saved.executor_cpu_s < commit.metrics.executor_cpu_s
