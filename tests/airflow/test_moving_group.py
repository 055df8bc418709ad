"""A group whose reports have a trigger, chosen times and written ones, tonight, through Airflow."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.state.layout import Generation
from forerun.include.state.records import decode
from forerun.include.state.run_schedule import RunSchedule
from forerun.include.stores.opening import open_store
from tests.airflow.conftest import ROOT
from tests.airflow.test_days import Days

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]
NAMES = ("fires", "chooses", "written")


@pytest.fixture
def night(airflow_home, tmp_path, monkeypatch):
    from airflow.dag_processing.dagbag import DagBag

    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for name in NAMES:
        folder = tmp_path / name / "sales" / f"{now:%Y-%m-%d}"
        folder.mkdir(parents=True)
        rows = {"item": ["a", "b"], "amount": pa.array([1, 2], pa.int64())}
        pq.write_table(pa.table(rows), folder / "part.parquet")
        (folder / "_SUCCESS").touch()
    final = int((now - midnight).total_seconds() // 60) + 4
    times = [f"{minute // 60:02}:{minute % 60:02}" for minute in (final - 1, final)]
    monkeypatch.setenv("FORERUN_TEST_ROOT", str(tmp_path))
    monkeypatch.setenv("FORERUN_TEST_TIMES", " ".join(times))
    file = airflow_home / "dags" / "moving_group.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "moving_group.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors
    yield Days(tmp_path, bag), midnight, midnight + timedelta(minutes=final - 1)
    file.unlink()


def test_the_group_starts_with_the_trigger_and_publishes_all(night):
    days, midnight, latest = night
    day = f"{midnight:%Y-%m-%d}"
    states = days.test("moving", logical_date=midnight)
    assert states["dag"] == "success", states
    assert (states["at_1.plan"], states["at_2.run"]) == ("success", "success")
    store = open_store(str(days.root / "store"))
    for name in NAMES:
        assert states[f"{name}.run_2.run"] == "skipped", "its group has done it"
        assert days.result(name, day) == {"a": (1, 1), "b": (2, 1)}
    for name, why in (("fires", "new rows"), ("written", "its group starts: fires")):
        files = store.list(Generation(name, day, "1").schedules)
        known = decode(RunSchedule, store.get(files[0].key), name)
        assert datetime.fromisoformat(known.runs[0].at) < latest
        assert why in known.why
