"""A real Airflow and a day whose source stays away: who is told, when, and what becomes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.machine.wall_clock import utc_now
from tests.e2e.standalone import PATIENCE, ROOT, StandaloneAirflow

pytestmark = [pytest.mark.airflow, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneAirflow]:
    dag_file = ROOT / "tests" / "airflow" / "dag_files" / "due.py"
    due = utc_now() + timedelta(minutes=3)
    midnight = utc_now().replace(hour=0, minute=0)
    hours, minutes = divmod(int((due - midnight).total_seconds()) // 60, 60)
    settings = {"FORERUN_TEST_DUE": f"{hours:02d}:{minutes:02d}"}
    started = StandaloneAirflow(tmp_path_factory.mktemp("due"), dag_file, settings)
    yield started
    started.end()


def text_of(server: StandaloneAirflow, name: str) -> str:
    """What the pager was sent, as soon as it was."""
    path = Path(server.home) / "alerts" / f"{name}.txt"
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{name} was never sent"
        time.sleep(0.5)
    time.sleep(0.2)
    return path.read_text()


def test_who_is_on_call_is_told_before_the_deadline_and_at_it(server):
    today = utc_now().date().isoformat()
    soon = server.trigger("soon", logical_date=f"{today}T00:00:00Z")
    late = server.trigger("late", report_date=today)
    server.wait_for(f"{late}/taskInstances/watch", "success")
    warning = text_of(server, "late-warning")
    assert warning.startswith(f"WARNING: late of {today}, due ")
    assert "the latest safe start has passed; waits for sales: no _SUCCESS" in warning
    assert f"{server.url}/forerun/days/late/{today}" in warning
    assert server.ask(late)["state"] == "running", "the day goes on"
    assets = server.ask("/api/v2/assets/events")["asset_events"]
    (event,) = [one for one in assets if one["extra"].get("kind") == "warning"]
    assert event["source_task_id"] == "watch"
    missed = text_of(server, "soon-missed")
    assert missed.startswith(f"MISSED: soon of {today}, due ")
    folder = server.home / "data" / "sales" / today
    folder.mkdir(parents=True)
    table = pa.table({"item": ["a"], "amount": pa.array([1], pa.int64())})
    pq.write_table(table, folder / "part.parquet")
    (folder / "_SUCCESS").touch()
    for run in (late, soon):
        assert server.wait_for(run, "success", "failed") == "success"
