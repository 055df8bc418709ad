"""Whole days with chosen times and with triggers through Airflow, on Sail: real tasks, and a clock
that only moves while a task waits."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from forerun.include.days.handle import Day
from forerun.include.days.manifests import read_manifest
from forerun.include.days.run_times import read_times
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.spec import AfterRows, AssetEvent, WhenComplete, encode_report
from forerun.include.reports.values.hours import Hours
from forerun.include.sources.delivery import read_pin
from forerun.include.state.layout import Generation
from forerun.include.state.pointers import read_published
from forerun.include.state.records import decode, encode
from forerun.include.state.run_schedule import RunSchedule
from forerun.include.times.cluster_reports import reports_of
from tests.airflow.conftest import ROOT
from tests.include.days.past_days import (
    MONDAY,
    NIGHT_IS_DEAR,
    also,
    at,
    past_days,
    with_marker,
)

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]


class NightShift:
    """Brings 20 rows an hour when they are due, and lets time pass while tasks wait. ``late`` says
    by how many hours the rows of an hour come later."""

    def __init__(self, days, late) -> None:
        self.days, self.now, self.hears = days, at(0), lambda: None
        self.due = sorted((hour + late.get(hour, 0), hour) for hour in range(1, 25))

    async def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.hears()
        while self.due and at(self.due[0][0]) <= self.now:
            self.days.deliver(MONDAY, self.due.pop(0)[1], 20)
            if not self.due:
                (self.days.folder / "in" / MONDAY.isoformat() / "_SUCCESS").touch()


@pytest.fixture
def run_day(airflow_home, tmp_path, monkeypatch, request):
    """Runs the day of a report and gives its tasks' states, its handle, and the rows of its result
    by key; where ``only`` some tasks run, its handle and the time when they are over. A parameter
    is another run policy than that of :func:`past_days`, or a cluster, on which there is a second
    report ``urgent``."""
    from airflow.dag_processing.dagbag import DagBag

    changes = dict(getattr(request, "param", {}))
    cluster = changes.pop("cluster", None)
    days = past_days(tmp_path, store=str(tmp_path / "store"), deadline="30:00", **changes)
    days.spec = with_marker(days.spec)
    (tmp_path / "report.json").write_bytes(encode_report(days.spec))
    if cluster is not None:
        (tmp_path / "cluster.json").write_bytes(encode(cluster))
        (tmp_path / "report_2.json").write_bytes(encode_report(also(days, "urgent")))
    monkeypatch.setenv("FORERUN_TEST_ROOT", str(tmp_path))
    file = airflow_home / "dags" / "chosen.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "chosen.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors

    def run(late=None, before=lambda day: None, hears=lambda now: None, name="totals", only=""):
        shift = NightShift(days, late or {})
        shift.hears = lambda: hears(shift.now)
        for module_name, module in list(sys.modules.items()):
            if module_name.startswith("forerun.airflow") and hasattr(module, "utc_now"):
                monkeypatch.setattr(module, "utc_now", lambda: shift.now)
        waiting = SimpleNamespace(sleep=shift.sleep, to_thread=asyncio.to_thread)
        monkeypatch.setattr("forerun.airflow.tasks.triggers.asyncio", waiting)
        at_ = Generation(name, MONDAY.isoformat(), "1")
        day = Day(days.store, replace(days.spec, name=name), at_)
        dag = bag.get_dag(name)
        if only:
            done = dag.test(logical_date=at(0), mark_success_pattern=f"(?!({only})$).*")
            assert str(done.state) == "success"
            return day, shift.now
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
    pointer = read_published(day.store, day.at.report, day.at.day).pointer
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


NIGHT = Cluster(
    name="night",
    ceiling=(Hours(start="00:00", end="24:00", value=1.0),),
    timezone="Europe/Berlin",
)


@pytest.mark.parametrize("run_day", [{"cluster": NIGHT}], indirect=True)
def test_a_day_is_chosen_beside_that_of_another_report(run_day):
    """There is one core, and both want the last cheap minutes: the second one has those before, or
    what is left of them behind the first one, as it finds when it looks again."""
    day, _ = run_day(name="totals", only="open_day")
    other, now = run_day(name="urgent", only="open_day|run_1[.]wait")
    first, second = (d.store.get(d.at.schedule(1)) for d in (day, other))
    wants = [decode(RunSchedule, one, "").runs for one in (first, second)]
    assert len(wants[0]) == len(wants[1]) > 2
    starts = [datetime.fromisoformat(runs[0].at) for runs in wants]
    assert at(16) < starts[1] < starts[0] < at(18)
    said = {one.report: one.days[0].runs[0] for one in reports_of(day.store, "night", MONDAY)}
    earlier, later = sorted(said.values(), key=lambda run: run.at)
    assert earlier.at + earlier.seconds <= later.at
    assert "3 runs of others go first" in decode(RunSchedule, second, "").why
    assert starts[1] <= now < starts[0] + timedelta(minutes=30)  # the next look of the wait


TRIGGERED = RunPolicy(
    runs=(
        RunTime(at="17:00", when=AfterRows(source="orders", rows=220)),
        RunTime(at="23:00", when=WhenComplete(source="orders")),
        RunTime(at="24:00"),
    ),
    prices=NIGHT_IS_DEAR,
    cores=1,
    reserve="+00:10",
)


@pytest.mark.parametrize("run_day", [{"policy": TRIGGERED}], indirect=True)
def test_a_day_runs_when_its_triggers_fire(run_day):
    """Rows come four hours early: 220 of them by seven in the morning, all by eight at night."""
    states, day, rows = run_day(late=dict.fromkeys(range(1, 25), -4))
    assert rows == whole_day()
    times = read_times(day)
    assert times.starts == (at(7), at(20), at(24))
    assert [one.weight for one in times.schedule.runs] == [0.2, 0.8, 1.0]
    assert states["run_1.run"] == "success"
    first = read_manifest(day.store, day.at, 1)
    pinned = {one.name: read_pin(day.store, one.pin).rows for one in first.sources}
    assert (pinned["orders"], first.created_at) == (220, at(7).isoformat())


ASSET = AssetEvent(uri="s3://lake/go")
BY_ASSET = replace(TRIGGERED, runs=(RunTime(at="17:00", when=ASSET), RunTime(at="24:00")))


@pytest.mark.parametrize("run_day", [{"policy": BY_ASSET}], indirect=True)
def test_a_day_runs_when_an_asset_has_its_event(run_day):
    """Airflow is told of it seven minutes after the day began."""
    told = []

    def hears(now):
        if now >= at(0) + timedelta(minutes=7) and not told:
            told.append(now)
            add_event(ASSET, {"day": MONDAY.isoformat()})

    _, day, rows = run_day(late=dict.fromkeys(range(1, 25), -4), hears=hears)
    assert rows == whole_day()
    assert read_times(day).starts == (at(0) + timedelta(minutes=7), at(24))


def add_event(asset, extra):
    """An event of an asset, as a task that updates it gives it."""
    from airflow.models.asset import AssetActive, AssetModel
    from airflow.models.asset import AssetEvent as Event
    from airflow.utils.session import create_session

    with create_session() as session:
        known = session.query(AssetModel).filter_by(uri=asset.uri).one_or_none()
        if known is None:
            known = AssetModel(name=asset.name, uri=asset.uri, group="asset")
            session.add(known)
            session.flush()
            session.add(AssetActive(name=known.name, uri=known.uri))
        session.add(Event(asset_id=known.id, extra=extra))


@pytest.mark.parametrize("run_day", [{"policy": TRIGGERED}], indirect=True)
def test_a_day_whose_triggers_do_not_fire_runs_at_the_latest_times(run_day):
    """220 rows are there at eight at night, three hours after the latest time."""
    _, day, rows = run_day(late=dict.fromkeys(range(1, 25), 9))
    assert rows == whole_day()
    assert read_times(day).schedule is None
    created = [read_manifest(day.store, day.at, run).created_at for run in (1, 2)]
    assert created == [at(17).isoformat(), at(23).isoformat()]
