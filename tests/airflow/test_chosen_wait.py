"""The wait for a time that is chosen: it follows the newest schedule, never holds up the end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferred

from forerun.airflow import progressive_dag
from forerun.airflow.tasks import choosing, triggers, wait
from forerun.airflow.tasks.triggers import SlotTrigger
from forerun.include.days.run_times import read_times, store_times
from forerun.include.reports.run_policy import Choose, Retries, RunPolicy
from forerun.include.reports.values.hours import Hours
from forerun.include.times.choosing import Decision, choose_day
from tests.include.days.past_days import (
    MONDAY,
    PastDays,
    at,
    chosen_report,
    opened,
    past_days,
    schedule,
    with_marker,
)


@pytest.fixture
def clock(monkeypatch):
    def set_to(hours):
        for module in (wait, triggers, choosing):
            monkeypatch.setattr(module, "utc_now", lambda: at(hours))

    return set_to


@pytest.fixture
def bare(tmp_path) -> PastDays:
    """A report without a history: nothing can be decided again, so what is stored holds."""
    return PastDays(tmp_path, stored(chosen_report, tmp_path))


def stored(report, folder, **changes):
    return report(folder, store=str(folder / "store"), **changes)


def stored_days(folder, **changes):
    return past_days(folder, store=str(folder / "store"), **changes)


def waiting(days, run, mode="auto"):
    """Execute the wait of a run: None if it starts, else what it waits for."""
    known = {"day": MONDAY.isoformat(), "generation": "1", "mode": mode, "dry_run": False}

    class Events(dict):
        def __getitem__(self, asset):
            return []

    context = {
        "ti": SimpleNamespace(xcom_pull=lambda task_ids: known),
        "inlet_events": Events(),
    }
    task = progressive_dag(days.spec, start_date=at(0)).get_task(f"run_{run}.wait")
    try:
        task.execute(context)
    except TaskDeferred as deferred:
        return deferred.trigger
    return None


def test_it_follows_the_newest_schedule(bare, clock):
    day = opened(bare)
    store_times(day, schedule(day, {1: 10, 2: 17, 4: 24}))
    clock(1)
    trigger = waiting(bare, 1)
    assert isinstance(trigger, SlotTrigger)
    assert trigger.until == at(10).isoformat()
    assert trigger.schedule == f"{day.store.root}/{day.at.schedule(2)}"
    store_times(day, schedule(day, {1: 13, 4: 24}))
    assert waiting(bare, 1).until == at(13).isoformat()
    assert waiting(bare, 2).until == at(12).isoformat()  # its own time: then it is decided again
    clock(12)
    with pytest.raises(AirflowSkipException, match="schedule 2 has no run in this slot"):
        waiting(bare, 2)
    clock(1)
    assert waiting(bare, 4).until == at(24).isoformat()


def test_it_starts_at_its_time_and_is_skipped_when_that_has_gone(bare, clock):
    day = opened(bare)
    store_times(day, schedule(day, {1: 10, 2: 17, 4: 24}))
    clock(10)
    assert waiting(bare, 1) is None
    clock(17)
    with pytest.raises(AirflowSkipException, match="the time of the next run has come already"):
        waiting(bare, 1)
    assert waiting(bare, 2) is None


@pytest.mark.parametrize("rows", [120, 1200])
def test_a_slot_without_a_run_has_one_where_the_day_has_become_large(tmp_path, clock, rows):
    """Batch is enough for a day as past ones were, and not for one of ten times the rows."""
    flat = (Hours(start="00:00", end="24:00", value=1.0),)
    policy = RunPolicy(choose=Choose(at_most=4), prices=flat, cores=1, reserve="+00:10")
    days = stored_days(tmp_path, deadline="24:30", policy=policy)
    day = opened(days)
    clock(0)
    retries = Retries(count=0, pauses_s=0.0)
    times = choose_day(day, Decision(before=1, now=at(0), retries=retries))
    assert times.starts[:3] == (None, None, None)
    assert waiting(days, 1).until == at(6).isoformat()
    days.deliver(MONDAY, 0, rows)
    clock(6)
    if rows == 120:
        with pytest.raises(AirflowSkipException, match="schedule 2 has no run in this slot"):
            waiting(days, 1)
        with pytest.raises(AirflowSkipException, match="schedule 2 has no run in this slot"):
            waiting(days, 1)  # another try of the task: it was decided about already
    else:
        waiting(days, 1)
        assert read_times(day).schedule.forced
    assert read_times(day).number == 2


def test_without_a_schedule_the_report_s_own_times_hold(bare, clock):
    opened(bare)
    clock(1)
    assert [waiting(bare, run).until for run in (1, 2, 3, 4)] == [
        at(hour).isoformat() for hour in (6, 12, 18, 24)
    ]


@pytest.mark.parametrize("data", [b"{", b'{"record": "RunSchedule", "record_version": 3}'])
def test_so_they_do_where_it_cannot_be_read(bare, clock, caplog, data):
    day = opened(bare)
    store_times(day, schedule(day, {1: 10, 2: 17, 4: 24}))
    day.store.put(day.at.schedule(2), data)
    clock(1)
    assert waiting(bare, 1).until == at(6).isoformat()
    assert "the report's own times hold, its schedule is passed over" in caplog.text
    assert waiting(bare, 1).schedule.endswith("/3.json")


def test_no_schedule_holds_up_the_final_run(bare, clock):
    """Due at two, with ten minutes to spare: at 25:50 the final run starts, whatever is written."""
    day = opened(bare)
    store_times(day, schedule(day, {1: 40, 2: 41, 4: 60}))
    clock(1)
    for run in (1, 2):
        with pytest.raises(AirflowSkipException, match="the final run is due before"):
            waiting(bare, run)
    assert waiting(bare, 4).until == at(25 + 5 / 6).isoformat()
    store_times(day, schedule(day, {1: 10, 4: 12}))  # nor is it before its own time
    assert waiting(bare, 4).until == at(24).isoformat()
    clock(26)
    assert waiting(bare, 4) is None


@pytest.mark.parametrize("mode", ["replay", "progressive"])
def test_a_day_that_is_tried_has_its_own_times(bare, clock, mode):
    day = opened(bare)
    store_times(day, schedule(day, {1: 10, 4: 24}))
    clock(1)
    assert waiting(bare, 2, mode).until == at(12).isoformat()


def test_when_a_run_is_due_the_rest_of_the_day_is_decided_again(tmp_path, clock):
    """The source is late: of what should be there at 17:00 there is a part. The run moves."""
    days = past_days(tmp_path, deadline="30:00", store=str(tmp_path / "store"))
    day = opened(days)
    store_times(day, schedule(day, {1: 13, 4: 24}))
    clock(13)
    days.deliver(MONDAY, 0, 20)
    trigger = waiting(days, 1)
    again = read_times(day)
    assert again.number == 2
    assert again.schedule.before == 1
    assert again.instants[-1] == at(24)
    assert trigger is not None
    assert trigger.until == again.starts[0].isoformat() > at(14).isoformat()


def test_a_source_that_is_complete_is_a_reason_to_decide_again(tmp_path, clock):
    days = past_days(tmp_path, store=str(tmp_path / "store"))
    days.spec = with_marker(days.spec)
    day = opened(days)
    store_times(day, schedule(day, {1: 13, 2: 17, 4: 24}))
    clock(8)
    assert waiting(days, 1).watches
    assert read_times(day).number == 1
    days.deliver(MONDAY, 0, 480)
    (days.folder / "in" / MONDAY.isoformat() / "_SUCCESS").touch()
    # All is there and it is cheap: now, in one go.
    assert waiting(days, 1) is None
    times = read_times(day)
    assert times.schedule.complete
    assert [start for start in times.starts if start] == [at(8), at(24)]


def test_a_fault_of_the_schedule_costs_no_run(tmp_path, clock, monkeypatch, capfd):
    days = past_days(tmp_path, store=str(tmp_path / "store"))
    day = opened(days)
    store_times(day, schedule(day, {1: 13, 4: 24}))

    def broken(*_given):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("forerun.include.times.choosing.choose_times", broken)
    clock(13)
    days.deliver(MONDAY, 0, 260)
    assert waiting(days, 1) is None
    assert "no other times are chosen: ZeroDivisionError" in "".join(capfd.readouterr())


class TestTrigger:
    def fired(self, trigger):
        async def first():
            async for event in trigger.run():
                return event.payload
            return None

        return asyncio.run(asyncio.wait_for(first(), 20))

    def test_it_is_what_it_was_after_a_restart(self, bare, clock):
        opened(bare)
        clock(1)
        trigger = waiting(bare, 1)
        path, given = trigger.serialize()
        assert path == "forerun.airflow.tasks.triggers.SlotTrigger"
        assert SlotTrigger(**given).serialize() == (path, given)

    def test_it_wakes_up_for_a_newer_schedule(self, bare, clock):
        day = opened(bare)
        clock(1)
        trigger = waiting(bare, 1)
        assert trigger._look()[0] is False
        store_times(day, schedule(day, {1: 10, 4: 24}))
        assert self.fired(trigger) == {"decided": True, "complete": False}

    def test_it_wakes_up_when_the_sources_are_complete(self, bare, clock):
        bare.spec = with_marker(bare.spec)
        opened(bare)
        clock(1)
        trigger = waiting(bare, 1)
        assert trigger._look()[0] is False
        bare.deliver(MONDAY, 0, 10)
        (bare.folder / "in" / MONDAY.isoformat() / "_SUCCESS").touch()
        assert self.fired(trigger) == {"decided": False, "complete": True}

    def test_and_at_its_time(self, bare, clock):
        opened(bare)
        clock(1)
        trigger = waiting(bare, 1)
        clock(6)
        assert self.fired(trigger) == {"decided": False, "complete": False}
