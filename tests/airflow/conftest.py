"""A throw-away Airflow: one home with a migrated database for the whole session."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.impatience import shorter_sleeps

ROOT = Path(__file__).resolve().parents[2]

# Airflow reads its configuration, and writes a new one, when it is first imported: all of this has
# to be in place before any test module is.
HOME = Path(tempfile.mkdtemp(prefix="forerun-airflow-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
ENVIRONMENT = {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(HOME / "dags"),
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
    "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
    "PYTHONPATH": str(ROOT),
    "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
}
os.environ.update(ENVIRONMENT)


@pytest.fixture(scope="session", autouse=True)
def often_looking() -> Iterator[None]:
    """``DAG.test`` looks once a second for tasks that may start."""
    with shorter_sleeps("airflow.sdk.definitions.dag"):
        yield


@pytest.fixture(scope="session")
def airflow_home() -> Path:
    """The home folder, with a migrated database and an empty DAG folder."""
    (HOME / "dags").mkdir(exist_ok=True)
    migrated = subprocess.run(
        [str(Path(sys.prefix) / "bin" / "airflow"), "db", "migrate"],
        check=False,
        capture_output=True,
        text=True,
    )
    if migrated.returncode:
        pytest.fail(f"airflow db migrate: {migrated.stderr[-2000:]}")
    return HOME
