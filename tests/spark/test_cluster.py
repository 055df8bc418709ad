"""A day on a Spark cluster whose machines have nothing in common but the store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forerun.doctors.cluster import examine_cluster
from forerun.include.machine.job_archive import job_archive
from forerun.include.machine.jvm import (
    driver_environment,
    driver_files,
    spark_submit,
    submit_options,
)
from forerun.include.state.commits import read_commit
from forerun.include.stores.opening import open_store
from forerun.spark_jobs.engines.sail import SailEngine
from tests.bare_python import bare_python
from tests.s3_servers import use_bucket
from tests.spark.places import FIRST, Place
from tests.spark.standalone import Standalone, quick_java, standalone

pytestmark = [
    pytest.mark.spark,
    pytest.mark.s3,
    pytest.mark.skipif(driver_files().jars is None, reason="the S3A jars are not here: make jars"),
]
JOB = Path(__file__).resolve().parents[2] / "forerun" / "spark_jobs" / "run.py"
DELIVERIES = (
    (
        [(1, "a", 10), (2, "b", 20), (3, "a", 5), (4, "c", 1), (5, "b", 2)],
        [(1, 7), (3, 2), (2, 1), (4, 9)],
    ),
    ([(6, "a", 100), (7, None, 3)], [(7, 5), (6, 1), (1, 1)]),
)


SHARES = FIRST.replace("AS cost", "AS cost, (SELECT sum(price) FROM sales) AS whole")
"""A report that keeps rows by a key and states."""


def small() -> dict[str, str]:
    """Settings for applications on two workers with a core and little memory each."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.cores.max": "2",
        "spark.executor.memory": "512m",
        "spark.executor.defaultJavaOptions": quick_java(),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.sql.shuffle.partitions": "2",
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@dataclass
class Away(Place):
    """A place whose deliveries and store lie in a bucket, and whose runs are submitted."""

    bucket: str = ""

    @property
    def uri(self) -> str:
        return f"{self.bucket}/store"

    def delivery(self, table: str) -> str:
        return f"{self.bucket}/in/{table}"


@dataclass(frozen=True)
class Driver:
    """A machine that submits: it has Python with the locked packages, Spark, the job and no more.

    ``executor_python``: what executors would start for a Python task.
    """

    folder: Path
    cluster: Standalone
    executor_python: str = "/no/such/python"

    def submit(self, *arguments: str, uri: str) -> subprocess.CompletedProcess[str]:
        job = self.folder / "run.py"
        shutil.copy(JOB, job)  # alone: nothing of the project lies beside it
        deployment = self.folder / "deployment.conf"
        deployment.write_text("".join(f"{k} {v}\n" for k, v in self.deployment().items()))
        options = submit_options(uri, tiny=True, master=self.cluster.url)
        command = [str(spark_submit()), "--properties-file", str(deployment)]
        command += [part for name, value in options for part in ("--conf", f"{name}={value}")]
        command += ["--py-files", str(job_archive(self.folder / "job")), str(job), *arguments]
        environment = driver_environment() | {
            "PYSPARK_DRIVER_PYTHON": str(self.folder / "python/bin/python"),
            "PYSPARK_PYTHON": self.executor_python,
            "SPARK_LOCAL_DIRS": str(self.folder / "scratch"),
        }
        environment.pop("PYTHONPATH", None)
        return subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def deployment(self) -> dict[str, str]:
        """What this cluster's owner sets for all applications."""
        return {
            **small(),
            "spark.master": self.cluster.url,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": (self.folder / "events").as_uri(),
        }

    def events(self) -> list[list[dict[str, Any]]]:
        """The deployment's event logs, in the order of the applications."""
        return [
            [json.loads(line) for line in log.read_text().splitlines()]
            for log in sorted((self.folder / "events").iterdir(), key=lambda f: f.stat().st_mtime)
        ]


@pytest.fixture
def driver(tmp_path: Path, cluster: Standalone) -> Driver:
    folder = tmp_path / "driver"
    for name in ("scratch", "events"):
        (folder / name).mkdir(parents=True)
    bare_python(folder / "python")
    return Driver(folder, cluster)


def test_a_day_on_a_cluster_that_shares_nothing_but_the_store(
    driver: Driver, tmp_path: Path, versitygw_server, monkeypatch, sail: SailEngine
) -> None:
    bucket = use_bucket(versitygw_server, monkeypatch)
    place = Away(tmp_path / "airflow", sail, arrived=(0.7, 1.0), bucket=bucket)
    at = place.open("night", SHARES)
    for run, (sales, returns) in enumerate(DELIVERIES, start=1):
        place.deliver(run, sales, returns)
        prepared = place.plan(at, SHARES, run)
        assert not prepared.skip_reason
        arguments = ("--plan", prepared.plan_uri, "--run", str(run), "--attempt", f"a{run}")
        done = driver.submit(*arguments, uri=place.uri)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        assert os.environ["AWS_SECRET_ACCESS_KEY"] not in done.stdout + done.stderr
    commit = read_commit(open_store(place.uri), at, 2)
    assert commit is not None
    place.check(commit, SHARES)
    assert {family.kind for family in prepared.result.plan.families} == {"shuffle", "state"}
    applications = driver.events()
    assert len(applications) == 2
    for events in applications:
        check_executors(events, driver.cluster)
    for worker in driver.cluster.workers:
        shipped = {file.name for file in worker.glob("work/app-*/*/*.jar")}
        assert any(name.startswith("hadoop-aws-") for name in shipped)
    assert list((driver.folder / "scratch").iterdir()) == []


def check_executors(events: list[dict[str, Any]], cluster: Standalone) -> None:
    """Executors of both workers, and nobody else, did the tasks of the application."""
    added = [e for e in events if e["Event"] == "SparkListenerExecutorAdded"]
    pages = {
        e["Executor ID"]: e["Executor Info"]["Log Urls"]["stderr"].partition("/logPage")[0]
        for e in added
    }
    assert sorted(pages.values()) == sorted(w["webuiaddress"] for w in cluster.state()["workers"])
    tasks = [e for e in events if e["Event"] == "SparkListenerTaskEnd"]
    assert {e["Task End Reason"]["Reason"] for e in tasks} == {"Success"}
    done = Counter(e["Task Info"]["Executor ID"] for e in tasks)
    assert set(done) == set(pages), "the driver, or one executor alone, did the work"
    (environment,) = (e for e in events if e["Event"] == "SparkListenerEnvironmentUpdate")
    assert environment["Spark Properties"]["spark.master"] == cluster.url


@pytest.mark.slow
def test_the_doctor_says_that_a_cluster_has_everything(
    cluster: Standalone, versitygw_server, monkeypatch, tmp_path: Path
) -> None:
    """Also that nothing is left in the store of what executors wrote there."""
    store = f"{use_bucket(versitygw_server, monkeypatch)}/store"
    (tmp_path / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in small().items())
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = {f.name: f for f in examine_cluster(cluster.url, store)}
    assert {f.name: (f.found, f.todo) for f in found.values() if f.state == "problem"} == {}
    assert found["executors"].found.startswith("2, after ")
    assert found["executor-python"].found == ".".join(map(str, sys.version_info[:3]))
    assert found["deploy-mode"].state == "note"
    assert open_store(store).list("probe") == ()


@pytest.mark.slow
def test_the_doctor_says_why_no_executor_comes(
    cluster: Standalone, monkeypatch, tmp_path: Path
) -> None:
    """Workers are alive, and none has the memory that the deployment asks for."""
    (tmp_path / "spark-defaults.conf").write_text("spark.executor.memory 3g\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    *_, executors, _ = examine_cluster(cluster.url, str(tmp_path / "store"), wait=3)
    assert (executors.name, executors.state) == ("executors", "problem")
    assert "spark.executor.memory" in executors.todo
