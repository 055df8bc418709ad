"""A throw-away Airflow: one home with a migrated database for the whole session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def airflow_environment(home: Path, dags: Path) -> dict[str, str]:
    """What every Airflow process of the tests needs, in this process and in children."""
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
        "PYTHONPATH": f"{ROOT}:{ROOT / 'plugins'}",
        "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
    }


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a migrated database; this process uses it from now on."""
    home = tmp_path_factory.mktemp("airflow")
    dags = home / "dags"
    dags.mkdir()
    os.environ.update(airflow_environment(home, dags))
    subprocess.run(
        [str(Path(sys.prefix) / "bin" / "airflow"), "db", "migrate"],
        check=True,
        capture_output=True,
    )
    return home
