"""The watch over a day, by a simulated clock: when it wakes somebody, whom, and when it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferred

from forerun.airflow import deadline_alerts, progressive_dag
from forerun.airflow.watching import alerting, deadlines
from forerun.airflow.watching import watch as watching
from forerun.airflow.watching.alerting import EarlyRunTicket
from forerun.include.oncall import alerts
from forerun.include.reports.spec import DueOn, SpecError
from tests.include.oncall.dag_days import DATE, at, dag_day

MODULES = (watching, deadlines, alerting)


class Clock:
    """Stands still until it is told to go on; to sleep is to let it go on."""

    def __init__(self, monkeypatch):
        self.now = at(0)
        for module in MODULES:
            monkeypatch.setattr(module, "utc_now", lambda: self.now)
        for module in (watching, deadlines):
            monkeypatch.setattr(module.asyncio, "sleep", self.sleep)

    async def sleep(self, seconds):
        assert seconds > 0
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def case(tmp_path, monkeypatch):
    found = dag_day(tmp_path)
    monkeypatch.setenv("FORERUN_STORE", found.store_uri)
    monkeypatch.setenv("FORERUN_TEST_ROOT", str(tmp_path))
    found.begin()
    return found


@pytest.fixture
def sent(tmp_path):
    def read():
        return {path.stem: path.read_text() for path in sorted((tmp_path / "alerts").glob("*"))}

    return read


def task(case, task_id="watch", **options):
    options = {"notify": "tests.airflow.pager.send", **options}
    return progressive_dag(case.spec, start_date=at(0), **options).get_task(task_id)


def context(watch=None, **opened):
    known = {"day": DATE, "generation": "1", "mode": "auto", "dry_run": False, **opened}
    events = {asset: SimpleNamespace(extra=None) for asset in (watch.outlets if watch else ())}
    ti = SimpleNamespace(xcom_pull=lambda task_ids: known, task_id="run_1.run")
    return {"ti": ti, "outlet_events": events}


def until_it_fires(watch, said):
    with pytest.raises(TaskDeferred) as deferred:
        watch.execute(said)
    path, arguments = deferred.value.trigger.serialize()
    assert path == "forerun.airflow.watching.watch.WatchTrigger"
    trigger = watching.WatchTrigger(**arguments)

    async def first():
        return await anext(trigger.run())

    asyncio.run(first())
    return watch.resume(said)


def test_a_day_that_nobody_plans_is_warned_of_before_its_deadline(clock, case, sent):
    case.make(1, at(12))
    clock.now = at(12, 5)
    watch = task(case)
    said = context(watch)
    alert = until_it_fires(watch, said)
    assert at(29, 5) <= clock.now <= at(29, 6), "five minutes after the latest safe start"
    assert alert["minutes_left"] in (54, 55)
    (event,) = said["outlet_events"].values()
    assert event.extra == alert
    (text,) = sent().values()
    assert "nothing has planned the final run" in text
    assert f"/forerun/days/totals/{DATE}" in text


def test_a_day_that_is_published_wakes_nobody(clock, case, sent):
    case.make(1, at(12))
    clock.now = at(16, 1)
    watch = task(case)
    with pytest.raises(TaskDeferred):
        watch.execute(context(watch))
    case.make(2, at(16))
    case.publish(at(17))
    with pytest.raises(AirflowSkipException, match="published in time"):
        watch.resume(context(watch))
    assert sent() == {}


def test_publishing_early_ends_the_watch_within_a_minute(clock, case, monkeypatch):
    case.make(1, at(12))
    clock.now = at(12, 30)
    watch = task(case)
    said = context(watch)
    slept, sleep = [], clock.sleep

    async def sleep_and_publish(seconds):
        slept.append(seconds)
        if len(slept) == 7:
            case.make(2, clock.now)
            case.publish(clock.now)
        await sleep(seconds)

    monkeypatch.setattr(watching.asyncio, "sleep", sleep_and_publish)
    with pytest.raises(AirflowSkipException, match="published in time"):
        until_it_fires(watch, said)
    assert len(slept) == 7
    assert max(slept) == watching.POLL_S == 30.0


def test_what_there_is_no_deadline_for_is_not_watched(clock, case):
    clock.now = at(31)
    watch = task(case)
    with pytest.raises(AirflowSkipException, match="no day was opened"):
        watch.execute(context(watch, dry_run=True))
    case.begin(at(31), run_id="a replay")
    with pytest.raises(AirflowSkipException, match="opened after its deadline"):
        watch.execute(context(watch, generation="2"))
    clock.now = at(11)
    case.begin(at(11), run_id="cleared")
    with pytest.raises(AirflowSkipException, match="opened anew"):
        watch.execute(context(watch, generation="2"))


def test_a_warning_that_reaches_nobody_fails_the_task_which_is_tried_again(clock, case):
    case.make(1, at(12))
    clock.now = at(29, 30)
    watch = task(case, notify="tests.airflow.pager.is_away")
    with pytest.raises(OSError, match="nobody answers"):
        watch.execute(context(watch))
    assert watch.retries == 2


def test_the_watch_looks_seldom_before_the_final_run_and_often_after(case):
    case.make(1, at(12))
    pauses = {
        when: alerts.next_look(alerts.watch(case.read(), when), when, 60.0)
        for when in (at(12, 5), at(15, 54), at(15, 58), at(20))
    }
    assert list(pauses.values()) == [300.0, 300.0, 60.0, 60.0]


def test_a_store_that_is_away_does_not_end_the_watch(clock, case, monkeypatch):
    watch = task(case)
    monkeypatch.setenv("FORERUN_S3_TIMEOUT", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "who")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "what")
    monkeypatch.setenv("FORERUN_STORE", "s3://nowhere/store")
    with pytest.raises(TaskDeferred):
        watch.execute(context(watch))


def test_an_early_run_that_fails_is_a_ticket_and_wakes_nobody(clock, case, sent):
    clock.now = at(13)
    submit = task(case, "run_1.run")
    (ticket,) = submit.on_failure_callback
    ticket(context())
    assert list(sent()) == ["totals-ticket"]
    assert (
        "run_1.run of early run 1 has failed; a later run does its work"
        in (sent()["totals-ticket"])
    )
    final = task(case, "run_2.run").on_failure_callback
    assert not any(isinstance(one, EarlyRunTicket) for one in final)


def at_deadline(run_type="scheduled", logical_date="2026-03-01T00:00:00Z", **changes):
    (alert,) = deadline_alerts(changes.pop("spec"), notify="tests.airflow.pager.send")
    run = {"run_type": run_type, "logical_date": logical_date}
    asyncio.run(deadlines.at_deadline(**alert.callback.kwargs, context={"dag_run": run}))
    return alert


def test_the_deadline_itself_is_told_at_its_instant(clock, case, sent):
    clock.now = at(29)
    alert = at_deadline(spec=case.spec)
    assert alert.interval == timedelta(hours=29), "Airflow asks an hour before"
    assert clock.now == at(30)
    (text,) = sent().values()
    assert text.startswith(f"MISSED: totals of {DATE}, due 2026-03-02 06:00 UTC, 0 min left")


def test_the_deadline_of_a_day_is_that_of_the_calendar(clock, case, sent):
    sunday = DueOn(at="33:00", weekdays=("sun",))
    clock.now = at(29)
    alert = at_deadline(spec=replace(case.spec, calendar=(sunday,)))
    assert alert.interval == timedelta(hours=29), "one hour before the earliest of all days"
    assert clock.now == at(33)


@pytest.mark.parametrize("changes", [{"run_type": "backfill"}, {"logical_date": None}])
def test_a_backfill_and_a_run_by_hand_miss_no_deadline(clock, case, sent, changes):
    at_deadline(spec=case.spec, **changes)
    assert sent() == {}


def test_a_day_that_is_published_misses_no_deadline(clock, case, sent):
    case.make(2, at(16))
    case.publish(at(17))
    clock.now = at(29)
    at_deadline(spec=case.spec)
    assert sent() == {}


def test_a_deadline_wants_somebody_to_tell(case):
    with pytest.raises(SpecError, match="dotted path"):
        deadline_alerts(case.spec, notify="call anna")
