"""A day through Airflow with sources, store and table on S3: boto3 in the tasks, S3A in Spark."""

from __future__ import annotations

import io
import json
import shutil

import pyarrow.parquet as pq
import pytest

from forerun.include.machine.jvm import driver_files
from forerun.include.machine.local_s3 import local_s3
from forerun.include.stores.opening import open_store
from tests.airflow.conftest import ROOT
from tests.airflow.test_days import DAY, EXPECTED, MIDNIGHT
from tests.s3_servers import use_bucket

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.s3,
    pytest.mark.spark,
    pytest.mark.skipif(driver_files().jars is None, reason="no S3A jars here: make jars"),
]


@pytest.fixture
def bag(airflow_home, tmp_path, monkeypatch):
    """The DAGs of ``dag_files/days.py`` on a bucket; its URI, and the server's secret key."""
    from airflow.dag_processing.dagbag import DagBag

    with local_s3(tmp_path / "s3") as server:
        root = use_bucket(server, monkeypatch)
        monkeypatch.setenv("FORERUN_TEST_ROOT", root)
        file = airflow_home / "dags" / "days_on_s3.py"
        shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "days.py", file)
        found = DagBag(str(file))
        assert not found.import_errors
        yield found, root, server.secret_key
        file.unlink()


def test_a_progressive_day_on_s3(bag, capfd):
    dags, root, secret = bag
    run = dags.get_dag("on_spark").test(logical_date=MIDNIGHT, run_conf={"mode": "progressive"})
    states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
    assert set(states.values()) == {"success"}, states
    store = open_store(root)
    pointer = json.loads(store.get(f"store/results/on_spark/{DAY}/pointer.json"))
    assert pointer["folder"].startswith("s3a://")
    rows = []
    version = pointer["folder"].rpartition("/")[2]
    for file in pointer["files"]:
        key = f"store/results/on_spark/{DAY}/{version}/{file['name']}"
        rows += pq.read_table(io.BytesIO(store.get(key))).to_pylist()
    assert {row["item"]: (row["revenue"], row["n"]) for row in rows} == EXPECTED
    commits = store.list(f"store/reports/on_spark/{DAY}/1/commits")
    assert len(commits) == 2
    logged = "".join(capfd.readouterr())
    assert "spark-submit" in logged
    assert secret not in logged
    for file in store.list("store"):
        assert file.key.endswith(".parquet") or secret.encode() not in store.get(file.key)
