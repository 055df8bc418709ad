"""The wait of a run that has a trigger: it ends when that fires, and at its latest time."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferred

from forerun.airflow import progressive_dag
from forerun.airflow.tasks import choosing, starting, triggers, wait
from forerun.airflow.tasks.triggers import EarlyStartTrigger, TimeTrigger
from forerun.include.days.run_times import read_times
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.spec import AfterRows, AssetEvent, Every, PriceAtMost
from tests.include.days.past_days import MONDAY, NIGHT_IS_DEAR, PastDays, at, opened, report_of

ROWS = AfterRows(source="orders", rows=100)
ASSET = AssetEvent(uri="s3://lake/orders")


@pytest.fixture
def clock(monkeypatch):
    def set_to(hours):
        for module in (wait, triggers, choosing, starting):
            monkeypatch.setattr(module, "utc_now", lambda: at(hours))

    set_to(1)
    return set_to


@pytest.fixture
def days(tmp_path):
    """Makes an opened day whose first run, at 12:00 at the latest, has this trigger."""

    def make(when):
        runs = (RunTime(at="12:00", when=when), RunTime(at="16:00"), RunTime(at="24:00"))
        policy = RunPolicy(runs=runs, prices=NIGHT_IS_DEAR)
        found = PastDays(tmp_path, report_of(tmp_path, policy=policy, store=f"{tmp_path}/store"))
        opened(found)
        return found

    return make


def waiting(days, run=1, mode="auto", events=()):
    """Execute the wait of a run: None if it starts, else what it waits for."""
    known = {"day": MONDAY.isoformat(), "generation": "1", "mode": mode, "dry_run": False}
    task = progressive_dag(days.spec, start_date=at(0)).get_task(f"run_{run}.wait")
    inlets = {inlet.uri for inlet in task.inlets}

    class Events(dict):
        def __getitem__(self, asset):
            assert asset.uri in inlets, "Airflow tells of inlets only"
            return list(events)

    context = {
        "ti": SimpleNamespace(xcom_pull=lambda task_ids: known),
        "inlet_events": Events(),
    }
    try:
        task.execute(context)
    except TaskDeferred as deferred:
        return deferred.trigger
    return None


def test_it_starts_when_the_rows_are_there_and_says_so_in_the_schedule(days, clock, capfd):
    found = days(ROWS)
    trigger = waiting(found)
    assert isinstance(trigger, EarlyStartTrigger)
    assert trigger.until == at(12).isoformat()
    found.deliver(MONDAY, 1, 100)
    clock(7)
    assert waiting(found) is None
    times = read_times(opened(found))
    assert times.starts == (at(7), at(16), at(24))
    assert times.schedule.runs[0].weight == 0.2
    assert "run 1 starts early: 100 new rows of orders" in "".join(capfd.readouterr())
    (found.folder / "in" / MONDAY.isoformat() / "1.parquet").unlink()
    assert waiting(found) is None, "tried again it starts, whatever is there by then"
    assert waiting(found, 2).until == at(16).isoformat()


def test_it_starts_at_its_latest_time_and_is_skipped_when_that_of_the_next_has_come(days, clock):
    found = days(ROWS)
    clock(12)
    assert waiting(found) is None
    assert read_times(opened(found)).schedule is None
    clock(16)
    with pytest.raises(AirflowSkipException, match="the time of the next run has come already"):
        waiting(found)


@pytest.mark.parametrize("mode", ["replay", "progressive"])
def test_a_day_that_is_tried_has_its_own_times(days, clock, mode):
    found = days(ROWS)
    found.deliver(MONDAY, 1, 100)
    assert isinstance(waiting(found, mode=mode), TimeTrigger)


def test_a_source_that_cannot_be_read_is_a_warning_and_the_latest_time_holds(days, clock, capfd):
    found = days(ROWS)
    found.deliver(MONDAY, 1, 100)
    (found.folder / "in" / MONDAY.isoformat() / "1.parquet").write_bytes(b"half a file")
    trigger = waiting(found)
    assert trigger.until == at(12).isoformat()
    assert "run 1 keeps its latest time for now" in "".join(capfd.readouterr())
    assert trigger._look() == (False, {"why": ""})
    clock(12)
    assert waiting(found) is None


def test_a_fault_of_the_schedule_costs_no_run(days, clock, monkeypatch):
    def broken(*_given):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("forerun.include.times.early_start.store_times", broken)
    found = days(ROWS)
    found.deliver(MONDAY, 1, 100)
    assert waiting(found) is None
    assert read_times(opened(found)).schedule is None


@pytest.mark.parametrize(
    ("when", "hour"), [(Every(interval="+02:00"), 2), (PriceAtMost(price=0.2), 6)]
)
def test_what_the_clock_decides_needs_no_looks(days, clock, when, hour):
    found = days(when)
    trigger = waiting(found)
    assert isinstance(trigger, TimeTrigger)
    assert trigger.until == at(hour).isoformat()
    clock(hour)
    assert waiting(found) is None
    assert read_times(opened(found)).starts[0] == at(hour)


def test_an_event_of_an_asset_is_asked_for_by_the_task(days, clock):
    found = days(ASSET)
    trigger = waiting(found)
    assert isinstance(trigger, TimeTrigger)
    assert trigger.until == (at(1) + timedelta(minutes=1)).isoformat()
    other, this = (SimpleNamespace(extra={"day": day}) for day in ("2026-03-01", "2026-03-02"))
    assert waiting(found, events=[other]) is not None
    assert waiting(found, events=[this]) is None


class TestTrigger:
    def test_it_is_what_it_was_after_a_restart(self, days, clock):
        trigger = waiting(days(ROWS))
        path, given = trigger.serialize()
        assert path == "forerun.airflow.tasks.triggers.EarlyStartTrigger"
        assert EarlyStartTrigger(**given).serialize() == (path, given)

    def test_it_fires_when_the_rows_have_come(self, days, clock):
        found = days(ROWS)
        trigger = waiting(found)
        assert trigger._look() == (False, {"why": ""})
        found.deliver(MONDAY, 1, 100)

        async def first():
            async for event in trigger.run():
                return event.payload
            return None

        fired = asyncio.run(asyncio.wait_for(first(), 20))
        assert fired == {"why": "100 new rows of orders"}
