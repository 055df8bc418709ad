"""An Airflow that is too old is refused with what to do; alerts have names where they can."""

from __future__ import annotations

from datetime import timedelta

import pytest
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineReference

from forerun.airflow.versions import deadline_alert, require_airflow


@pytest.mark.parametrize("version", ["2.11.0", "3.0.6", "3.1.8"])
def test_an_airflow_that_is_too_old_is_refused(version: str) -> None:
    with pytest.raises(ImportError, match=rf"3\.2 or newer, and this is {version}: run `pip"):
        require_airflow(version)


@pytest.mark.parametrize("version", ["3.2.2", "3.3.2", "3.10.0b1", "4.0.0"])
def test_newer_ones_are_taken(version: str) -> None:
    require_airflow(version)


def test_an_alert_has_the_name_of_its_report() -> None:
    alert = deadline_alert(
        name="sales due",
        reference=DeadlineReference.DAGRUN_LOGICAL_DATE,
        interval=timedelta(hours=1),
        callback=AsyncCallback("asyncio.sleep"),
    )
    assert alert.name == "sales due"
