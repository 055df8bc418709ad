"""A day of a whole Airflow on S3, where only a connection in its database knows how to reach it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from forerun.include.machine.jvm import driver_files
from forerun.include.machine.local_s3 import LocalS3, local_s3
from forerun.include.stores.opening import open_store
from tests.airflow.test_days import DAY
from tests.e2e.standalone import ROOT, StandaloneAirflow

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.s3,
    pytest.mark.slow,
    pytest.mark.skipif(driver_files().jars is None, reason="no S3A jars here: make jars"),
]
NAME = "shop_s3"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalS3]:
    with local_s3(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, s3: LocalS3) -> Iterator[StandaloneAirflow]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3.environment.items():
            patch.setenv(name, value)
        bucket = s3.make_bucket("by-connection")
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        settings = {
            "FORERUN_AWS_CONN_ID": NAME,
            "FORERUN_STORE": f"{bucket}/store",
            "FORERUN_TEST_ROOT": bucket,
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
        }
        dag_file = ROOT / "tests" / "airflow" / "dag_files" / "days.py"
        started = StandaloneAirflow(tmp_path_factory.mktemp("s3_day"), dag_file, settings)
    started.ask(
        "/api/v2/connections",
        {
            "connection_id": NAME,
            "conn_type": "aws",
            "login": s3.access_key,
            "password": s3.secret_key,
            "extra": json.dumps({"endpoint_url": s3.endpoint, "region_name": "us-east-1"}),
        },
    )
    yield started
    started.end()


def test_a_day_runs_and_its_pages_are_shown(
    server: StandaloneAirflow, s3: LocalS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = server.trigger("on_spark", logical_date=f"{DAY}T00:00:00Z", mode="progressive")
    server.ask("/api/v2/dags/on_spark", {"is_paused": False}, method="PATCH")
    assert server.wait_for(run, "success", "failed") == "success"
    page = server.page(f"/forerun/days/on_spark/{DAY}")
    assert "published" in page.lower()
    assert s3.secret_key not in page
    assert "on_spark" in server.page("/forerun/")
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    store = open_store("s3://by-connection")
    pointer = json.loads(store.get(f"store/results/on_spark/{DAY}/pointer.json"))
    assert pointer["folder"].startswith("s3a://by-connection/")
    assert len(store.list(f"store/reports/on_spark/{DAY}/1/commits")) == 2
    for file in store.list("store"):
        assert file.key.endswith(".parquet") or s3.secret_key.encode() not in store.get(file.key)
    logs = "".join(path.read_text(errors="replace") for path in server.home.rglob("*.log"))
    assert "spark-submit" in logs
    assert s3.secret_key not in logs
