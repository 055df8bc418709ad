"""A night of four reports with one run's worth of cores, on real tasks and leases: two of them are
a group, the source of one is late, a process is killed while it holds the cores, and all are
published in time.

Each DAG run is a process (``DAG.test``), so there is neither a scheduler nor a JVM: those
are in the night of twelve (tests/e2e/test_night_in_airflow.py), which costs ten times as much."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.machine.child_process import start, stop
from forerun.include.machine.wall_clock import utc_now
from forerun.include.state.expire import store_clock
from forerun.include.state.layout import ClusterKeys
from forerun.include.state.pointers import read_published
from forerun.include.stores.opening import open_store
from forerun.include.times.leases import Leases, read_cluster
from tests.airflow.conftest import ROOT

pytestmark = pytest.mark.airflow
PAIR, ALONE = ("first", "second"), ("killed", "late")
NAMES = (*PAIR, *ALONE)
PATIENCE = 240.0


@pytest.fixture
def shift(airflow_home, tmp_path, monkeypatch):
    """The processes of the night, which began today."""
    monkeypatch.setenv("FORERUN_TEST_ROOT", str(tmp_path))
    monkeypatch.setenv("FORERUN_STORE", str(tmp_path / "store"))
    file = shutil.copy(ROOT / "tests/airflow/dag_files/small_night.py", airflow_home / "dags")
    now = utc_now()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    hours, minutes = divmod(int((now - midnight).total_seconds() + PATIENCE) // 60, 60)
    monkeypatch.setenv("FORERUN_TEST_DUE", f"+{hours:02}:{minutes:02}")
    today, due = now.date(), midnight + timedelta(hours=hours, minutes=minutes)
    for name in NAMES:
        deliver(tmp_path, name, today, complete=name != "late")
    command = [sys.executable, "-m", "tests.airflow.night_shift", str(file), today.isoformat()]
    log = tmp_path / "log"
    child = start("the night", [*command, "pair", *ALONE], log=log, env=os.environ, cwd=ROOT)
    yield child.process, today, due
    stop([child])
    Path(file).unlink()


def deliver(root, name, day, *, complete):
    folder = root / name / "sales" / day.isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"item": ["a", "a"], "amount": pa.array([10, 5], pa.int64())})
    pq.write_table(table, folder / "part.parquet")
    if complete:
        (folder / "_SUCCESS").touch()


def test_all_are_published_in_time_and_no_core_is_leaked(shift, tmp_path):
    process, today, due = shift
    store, day = open_store(str(tmp_path / "store")), today.isoformat()
    seen, deadline = 0, time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < deadline
        if store.find(ClusterKeys("night").declared):
            leases = Leases(store, read_cluster(store, "night"))
            look = leases.overview(store_clock(store))
            assert look.slots.busy(look.now) <= 2
            seen += len(look.slots.leases)
        if read_published(store, "first", day).pointer:
            (tmp_path / "late" / "sales" / day / "_SUCCESS").touch()
        time.sleep(0.2)
    assert process.returncode == 0, (tmp_path / "log").read_text()[-3000:]
    tries = Counter((tmp_path / "tries").read_text().split())
    assert tries == {"pair": 1, "killed": 2, "late": 1}, "one application for the two of the group"
    assert seen, "cores were held"
    published = {}
    for name in NAMES:
        pointer = read_published(store, name, day).pointer
        published[name] = pointer.published_at
        (file,) = pointer.files
        rows = pq.read_table(Path(pointer.folder.removeprefix("file://")) / file.name).to_pylist()
        assert rows == [{"item": "a", "revenue": 15, "n": 2}]
    assert published["late"] > published["first"]
    assert datetime.fromisoformat(max(published.values())) <= due
    look = leases.overview(store_clock(store))
    assert (look.slots.live(look.now), look.waiting) == ((), ())
