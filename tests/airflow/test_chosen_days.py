"""Whole days with chosen times through Airflow, on Sail: real tasks, and a clock that only moves
while a task waits."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from include.days.handle import Day
from include.days.run_times import read_times
from include.state.layout import Generation
from include.state.pointers import read_published
from include.state.records import decode
from include.state.run_schedule import RunSchedule
from tests.airflow.conftest import ROOT
from tests.include.days.past_days import MONDAY, at, past_days, with_marker

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]


class NightShift:
    """Brings 20 rows an hour when they are due, and lets time pass while tasks wait. ``late`` says
    by how many hours the rows of an hour come later."""

    def __init__(self, days, late) -> None:
        self.days, self.now = days, at(0)
        self.due = sorted((hour + late.get(hour, 0), hour) for hour in range(1, 25))

    async def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        while self.due and at(self.due[0][0]) <= self.now:
            self.days.deliver(MONDAY, self.due.pop(0)[1], 20)
            if not self.due:
                (self.days.folder / "in" / MONDAY.isoformat() / "_SUCCESS").touch()


@pytest.fixture
def run_day(airflow_home, tmp_path, monkeypatch):
    """Runs the day and gives its tasks' states, its handle, and the rows of its result by key."""
    from airflow.dag_processing.dagbag import DagBag

    days = past_days(tmp_path, store=str(tmp_path / "store"), deadline="30:00")
    days.spec = with_marker(days.spec)
    monkeypatch.setenv("FORERUN_TEST_ROOT", str(tmp_path))
    file = airflow_home / "dags" / "chosen.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "chosen.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors

    def run(late=None, before=lambda day: None):
        shift = NightShift(days, late or {})
        for name, module in list(sys.modules.items()):
            if name.startswith("forerun_airflow") and hasattr(module, "utc_now"):
                monkeypatch.setattr(module, "utc_now", lambda: shift.now)
        waiting = SimpleNamespace(sleep=shift.sleep, to_thread=asyncio.to_thread)
        monkeypatch.setattr("forerun_airflow.triggers.asyncio", waiting)
        day = Day(days.store, days.spec, Generation("totals", MONDAY.isoformat(), "1"))
        dag = bag.get_dag("totals")
        dag.get_task("run_1.wait").pre_execute = lambda _context: before(day)
        done = dag.test(logical_date=at(0))
        states = {ti.task_id: str(ti.state) for ti in done.get_task_instances()}
        assert str(done.state) == "success", states
        return states, day, published(day)

    yield run
    file.unlink()
    os.environ.pop("FORERUN_TEST_ROOT", None)


def published(day):
    """Sum and key of the published rows."""
    pointer = read_published(day.store, "totals", day.at.day).pointer
    assert pointer is not None
    assert pointer.complete
    folder = pointer.folder.removeprefix("file://")
    rows = [r for f in pointer.files for r in pq.read_table(f"{folder}/{f.name}").to_pylist()]
    return {row["k"]: row["v"] for row in rows}


def whole_day():
    """What batch gives over 24 files of 20 rows."""
    found = Counter()
    for k in range(20):
        found[k % 7] += 24 * k
    return dict(found)


def committed(day):
    return [commit.run for commit in day.chain()]


def test_a_day_runs_at_the_times_that_are_chosen(run_day):
    states, day, rows = run_day()
    assert rows == whole_day()
    times = read_times(day)
    used = [run for run, start in enumerate(times.starts, 1) if start is not None]
    assert committed(day) == used
    assert 1 < len(used) <= 4
    assert times.number >= len(used)  # when the day was opened, and before each early run
    for run in range(1, 4):
        assert states[f"run_{run}.run"] == ("success" if run in used else "skipped")
    by_price = {one.run: one.weight for one in times.schedule.runs}
    assert by_price[1] == 0.2


def test_a_day_whose_source_is_late_moves(run_day):
    """What should come from two in the afternoon on comes three hours later."""
    states, day, rows = run_day(late=dict.fromkeys(range(14, 25), 3))
    assert rows == whole_day()
    first, last = (day.at.schedule(number) for number in (1, read_times(day).number))
    assert first != last
    there = [decode(RunSchedule, day.store.get(key), key).runs[-2].arrived for key in (first, last)]
    assert dict(there[1])["orders"] < dict(there[0])["orders"] - 0.1
    assert states["publish"] == "success"


def test_a_day_whose_schedule_is_damaged_runs_at_its_own_times(run_day, caplog):
    def damage(day):
        day.store.put(day.at.schedule(1), b"{")

    _, day, rows = run_day(before=damage)
    assert rows == whole_day()
    assert "the report's own times hold, its schedule is passed over" in caplog.text
    assert committed(day)[-1] == 4
