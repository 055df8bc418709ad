"""The section [forerun] of Airflow's configuration, and the URIs of assets, as it reads them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from airflow.sdk import Asset

from tests.airflow.conftest import ENVIRONMENT

pytestmark = pytest.mark.airflow

_STORE = "from forerun.include.stores.opening import default_store as d; print(d())"
_LIMIT = "from forerun.include.machine.settings import s3_settings as s; print(s().timeout)"
_DRIVER = (
    "from forerun.include.machine.jvm import driver_environment as e; print(e()['FORERUN_STORE'])"
)


def said(code: str, *, airflow: bool = True, **variables: str) -> str:
    """What code prints in a new process, of Airflow or not."""
    first = "import airflow.configuration; " if airflow else ""
    return subprocess.run(
        [sys.executable, "-c", first + code],
        env={**ENVIRONMENT, **variables}, cwd="/", capture_output=True, text=True, check=True,
    ).stdout.splitlines()[-1]  # fmt: skip


def test_a_variable_comes_before_the_section_and_that_before_the_default() -> None:
    section = {"AIRFLOW__FORERUN__STORE": "/of/airflow", "AIRFLOW__FORERUN__S3_TIMEOUT": "7"}
    assert said(_STORE, **section) == "/of/airflow"
    assert said(_LIMIT, **section) == "7.0"
    assert said(_DRIVER, **section) == "/of/airflow", "a driver has no Airflow"
    assert said(_STORE, **section, FORERUN_STORE="/of/us") == "/of/us"
    assert said(_LIMIT, **section, FORERUN_S3_TIMEOUT="9") == "9.0"
    assert said(_STORE, airflow=False, **section, FORERUN_HOME="/h") == "file:///h/store"
    assert said(_STORE, FORERUN_HOME="/h") == "file:///h/store"


@pytest.mark.parametrize(
    "written", ["forerun://report/sales/early", "FORERUN://Report/sales/early/"]
)
def test_the_uri_of_an_asset_is_written_in_one_way(written: str) -> None:
    assert Asset(name="a", uri=written).uri == "forerun://report/sales/early"


@pytest.mark.parametrize(
    "wrong",
    ["forerun://sales", "forerun://report/sales/late", "forerun://report/", "forerun://report/a?b=1"],
)  # fmt: skip
def test_a_uri_that_no_report_updates_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="is no asset of a report"):
        Asset(name="a", uri=wrong)
