"""A real Airflow on PostgreSQL, and a night of twelve reports that share two runs' worth of cores,
three by themselves and nine in three groups: a source is late, a run is killed, and every deadline
is met that can be."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.machine.local_postgres import local_postgres, programs
from forerun.include.machine.wall_clock import utc_now
from forerun.include.state.expire import store_clock
from forerun.include.state.layout import ClusterKeys
from forerun.include.state.pointers import read_published
from forerun.include.stores.opening import open_store
from forerun.include.times.leases import Leases, read_cluster
from forerun.night.picture import course_picture
from forerun.planner.schedule.night_course import run_night
from tests.e2e.planned_night import (
    ALONE,
    CEILING,
    COMPLETE_S,
    GROUPS,
    LATE_S,
    NAMES,
    planned_night,
)
from tests.e2e.standalone import PATIENCE, ROOT, StandaloneAirflow

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(programs() is None, reason="there is no PostgreSQL"),
]
OPENING_S = 150
"""Airflow has that long to start and to open the days before the night begins."""


@pytest.fixture
def planned():
    begin = (utc_now() + timedelta(seconds=OPENING_S)).replace(microsecond=0)
    if begin.date() != (begin + timedelta(minutes=20)).date():
        pytest.skip("the night would go past midnight")
    return planned_night(begin)


@pytest.fixture
def server(tmp_path, planned):
    planned.write(tmp_path / "night.json")
    dag_file = ROOT / "tests" / "airflow" / "dag_files" / "night.py"
    with local_postgres(tmp_path / "postgresql.log") as database:
        settings = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.url}
        started = StandaloneAirflow(tmp_path, dag_file, settings)
        yield started
        started.end()


def test_every_deadline_that_can_be_met_is_and_no_core_is_leaked(server, planned):
    simulated = run_night(planned.plan.plans, planned.night.cluster, planned.turnouts())
    feasible = {one.name for one in simulated.reports} - {one.name for one in simulated.missed}
    assert feasible == {*NAMES}
    day = planned.begin.date().isoformat()
    for name in NAMES:
        deliver(server, planned, name, 1, 10)
    dags = (*GROUPS, *ALONE)
    runs = {name: server.trigger(name, report_date=day, mode="progressive") for name in dags}
    held = watch(server, planned, runs)
    store = open_store(server.store)
    last = {one.report.name: len(one.runs) for one in planned.plan.plans}
    finals = {name: held[f"{name} {day} run {last[name]}"] for name in ALONE}
    # Airflow's scheduler may take a task that goes on after waiting for one that was lost, where it
    # reads late that the waiting process has ended, and try it again beside the try that works.
    assert all(finals[name] for name in ALONE)
    assert all(any(one.startswith(f"{name} ") for one in held) for name in GROUPS), sorted(held)
    first, *others = sorted(finals["killed"].values())
    assert others, "the try that was killed held cores, and another one after it"
    course = planned.course(store, {"killed": [first]})
    draw(server, planned, course)
    assert {one.name: one.missing for one in course.reports if one.name in feasible} == (
        dict.fromkeys(feasible, 0.0)
    )
    for name in NAMES:
        pointer = read_published(store, name, day).pointer
        folder = Path(pointer.folder.removeprefix("file://"))
        rows = [
            row for one in pointer.files for row in pq.read_table(folder / one.name).to_pylist()
        ]
        assert rows == [{"item": "a", "revenue": 15, "n": 2}]
    leases = Leases(store, read_cluster(store, "night"))
    look = leases.overview(store_clock(store))
    assert (look.slots.live(look.now), look.waiting) == ((), ())


def deliver(server, planned, name, number, amount, complete=False):
    folder = Path(server.home) / name / "sales" / planned.begin.date().isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"item": ["a"], "amount": pa.array([amount], pa.int64())})
    pq.write_table(table, folder / f"part-{number}.parquet")
    if complete:
        (folder / "_SUCCESS").touch()


def watch(server, planned, runs):
    """Bring what is still to come until all reports are out. Return of each run, by the token of
    each of its tries, the instants between which it was seen to hold cores. What is held is never
    more than the ceiling."""
    store, held, left = open_store(server.store), defaultdict(dict), dict(runs)
    coming = [(COMPLETE_S + (LATE_S if name == "late" else 0), name) for name in NAMES]
    deadline = time.monotonic() + 4 * PATIENCE
    while left:
        assert time.monotonic() < deadline, left
        server.look()
        now = utc_now().timestamp()
        for due in [one for one in coming if one[0] <= now - planned.begin.timestamp()]:
            coming.remove(due)
            deliver(server, planned, due[1], 2, 5, complete=True)
        if store.find(ClusterKeys("night").declared):
            leases = Leases(store, read_cluster(store, "night"))
            look = leases.overview(store_clock(store))
            assert look.slots.busy(look.now) <= CEILING
            for one in look.slots.live(look.now):
                since, _ = held[one.name].get(one.token, (now, now))
                held[one.name][one.token] = (since, now)
        for name, path in list(left.items()):
            state = server.ask(path)["state"]
            assert state != "failed", name
            if state == "success":
                del left[name]
        time.sleep(0.5)
    return held


def draw(server, planned, course):
    """Leave the picture of what happened beside what was planned."""
    path = Path(os.environ.get("FORERUN_TEST_PICTURE", server.home / "night.svg"))
    path.write_text(course_picture(planned.night, course, "as it went"))
    drawn = path.read_text()
    assert drawn.count('<rect class="lost"') == 2, "the killed try, and the legend"
    assert all(f">{name}</text>" in drawn for name in NAMES)
