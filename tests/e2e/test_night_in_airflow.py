"""A real Airflow and reports that share two runs' worth of cores: a source is late, a run is
killed, and every deadline is met."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from include.days.leases import Leases, read_cluster
from include.machine.wall_clock import utc_now
from include.state.expire import store_clock
from include.state.opening import open_store
from include.state.pointers import read_published
from tests.e2e.standalone import PATIENCE, ROOT, StandaloneAirflow

pytestmark = [pytest.mark.airflow, pytest.mark.slow]
NAMES = ("first", "killed", "late", "last")
CORES = 4


@pytest.fixture
def begin() -> datetime:
    """When the early runs are: Airflow has that long to start and to open the days."""
    return (utc_now() + timedelta(seconds=75)).replace(microsecond=0)


@pytest.fixture
def server(tmp_path, begin):
    if begin.date() != (begin + timedelta(minutes=10)).date():
        pytest.skip("the night would go past midnight")
    dag_file = ROOT / "tests" / "airflow" / "dag_files" / "night.py"
    settings = {"FORERUN_TEST_BEGIN": begin.isoformat()}
    started = StandaloneAirflow(tmp_path, dag_file, settings)
    yield started
    started.end()


def deliver(server, begin, name, number, amount, complete=False):
    folder = Path(server.home) / name / "sales" / begin.date().isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"item": ["a"], "amount": pa.array([amount], pa.int64())})
    pq.write_table(table, folder / f"part-{number}.parquet")
    if complete:
        (folder / "_SUCCESS").touch()


def test_every_deadline_is_met_and_no_core_is_leaked(server, begin):
    day = begin.date().isoformat()
    for name in NAMES:
        deliver(server, begin, name, 1, 10)
    runs = {name: server.trigger(name, report_date=day, mode="progressive") for name in NAMES}
    held = watch(server, begin, runs)
    store = open_store(server.store)
    for place, name in enumerate(NAMES):
        pointer = read_published(store, name, day).pointer
        assert pointer is not None
        due = begin + timedelta(seconds=330 + 30 * place)
        assert datetime.fromisoformat(pointer.published_at) <= due, name
        folder = Path(pointer.folder.removeprefix("file://"))
        rows = [
            row for one in pointer.files for row in pq.read_table(folder / one.name).to_pylist()
        ]
        assert rows == [{"item": "a", "revenue": 15, "n": 2}]
    finals = [name for name in held if name.endswith("run 2")]
    assert sorted(finals) == sorted(f"{name} {day} run 2" for name in NAMES)
    assert len(held[f"killed {day} run 2"]) == 2, "its second try asked for cores of its own"
    leases = Leases(store, read_cluster(store, "night"))
    look = leases.overview(store_clock(store))
    assert (look.slots.live(look.now), look.waiting) == ((), ())


def watch(server, begin, runs):
    """Bring what is still to come until all reports are out; return the tokens that have held
    cores, by their runs. What is held is never more than the ceiling."""
    store, held, left = open_store(server.store), defaultdict(set), dict(runs)
    coming = [(40 if name != "late" else 120, name) for name in NAMES]
    deadline = time.monotonic() + 2 * PATIENCE
    while left:
        assert time.monotonic() < deadline, left
        since = (utc_now() - begin).total_seconds()
        for due in [one for one in coming if one[0] <= since]:
            coming.remove(due)
            deliver(server, begin, due[1], 2, 5, complete=True)
        if store.folders("clusters"):
            leases = Leases(store, read_cluster(store, "night"))
            look = leases.overview(store_clock(store))
            assert look.slots.busy(look.now) <= CORES
            for one in look.slots.leases:
                held[one.name].add(one.token)
        for name, path in list(left.items()):
            state = server.ask(path)["state"]
            assert state != "failed", name
            if state == "success":
                del left[name]
        time.sleep(0.5)
    return held
