from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowSkipException,
    TaskDeferred,
)

from forerun.airflow import day as day_module
from forerun.airflow import progressive_dag
from forerun.airflow.day import choose_mode, report_date, trigger_of
from forerun.airflow.retries import retries_of
from forerun.airflow.tasks import triggers, wait
from forerun.airflow.tasks.triggers import SourcesTrigger, TimeTrigger
from forerun.include.days.handle import Day
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import (
    AssetEvent,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    encode_report,
)
from forerun.include.reports.values.clock import parse_day
from forerun.include.sources.completeness import find_missing
from forerun.include.state.layout import Generation, history_key
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import encode
from forerun.include.stores.opening import open_store
from forerun.include.times.safe_start import read_safe_start
from forerun.planner.errors import RequestError
from tests.airflow.reports import sales_report, sales_source

DAY = "2026-03-01"


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """The store of reports that name none: an empty folder."""
    monkeypatch.setenv("FORERUN_STORE", str(tmp_path / "store"))
    return open_store(str(tmp_path / "store"))


def at(hour, minute=0, day=1):
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def context(mode="auto", dry_run=False, events=None):
    opened = {"day": DAY, "generation": "1", "mode": mode, "dry_run": dry_run}

    class Events(dict):
        def __getitem__(self, asset):
            return (events or {}).get(asset.uri, [])

    return {
        "ti": SimpleNamespace(xcom_pull=lambda task_ids: opened),
        "inlet_events": Events(),
    }


@pytest.fixture
def clock(monkeypatch):
    def set_to(moment):
        monkeypatch.setattr(wait, "utc_now", lambda: moment)
        monkeypatch.setattr(triggers, "utc_now", lambda: moment)

    return set_to


def waiting(run, spec=None, **options):
    dag = progressive_dag(spec or sales_report(), start_date=at(0), **options)
    return dag.get_task(f"run_{run}.wait")


def marked(tmp_path, **changes):
    """A report whose one source is complete when its marker is there."""
    return sales_report(
        sources=(sales_source(str(tmp_path), complete_when=MarkerFile()),), **changes
    )


def mark(tmp_path):
    folder = tmp_path / "sales" / DAY
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_SUCCESS").touch()


def test_an_early_run_whose_time_has_come_starts_at_once(clock):
    clock(at(10, 5))
    assert waiting(1).execute(context()) == {"revenue": []}


def test_a_run_waits_for_its_time(clock):
    clock(at(9))
    with pytest.raises(TaskDeferred) as deferred:
        waiting(1).execute(context())
    assert isinstance(deferred.value.trigger, TimeTrigger)
    assert deferred.value.trigger.until == at(10).isoformat()
    assert deferred.value.method_name == "resume"


def test_woken_too_early_it_waits_again(clock):
    clock(at(9, 59))
    with pytest.raises(TaskDeferred):
        waiting(1).resume(context(), event=at(10))
    clock(at(10))
    assert waiting(1).resume(context(), event=at(10)) == {"revenue": []}


def test_an_early_run_is_skipped_when_the_next_one_is_due(clock):
    clock(at(16))
    with pytest.raises(AirflowSkipException):
        waiting(1).execute(context())
    assert waiting(2).execute(context()) == {"revenue": []}
    assert waiting(1).execute(context(mode="progressive")) == {"revenue": []}


@pytest.mark.parametrize("mode", ["single", "batch"])
def test_early_runs_are_skipped_when_the_day_goes_straight_to_the_end(clock, mode):
    clock(at(10))
    with pytest.raises(AirflowSkipException):
        waiting(1).execute(context(mode=mode))


def test_a_dry_run_plans_the_first_run_without_waiting(clock):
    clock(at(1))
    assert waiting(1).execute(context(dry_run=True)) == {"revenue": []}
    with pytest.raises(AirflowSkipException):
        waiting(3).execute(context(dry_run=True))


def test_the_final_run_waits_for_the_sources(clock, tmp_path):
    clock(at(0, 5, day=2))
    with pytest.raises(TaskDeferred) as deferred:
        waiting(3, marked(tmp_path)).execute(context())
    assert isinstance(deferred.value.trigger, SourcesTrigger)
    assert deferred.value.trigger.until == at(5, day=2).isoformat()
    mark(tmp_path)
    assert waiting(3, marked(tmp_path)).resume(context(), event={"missing": ["x"]}) == {
        "revenue": []
    }


def test_a_marker_of_one_hour_does_not_start_the_final_run(clock, tmp_path):
    clock(at(0, 5, day=2))
    hours = tmp_path / "sales" / DAY
    for hour in range(24):
        (hours / f"hour={hour:02d}").mkdir(parents=True)
    (hours / "hour=00" / "_SUCCESS").touch()
    hourly = sales_report(
        sources=[sales_source(str(tmp_path), complete_when=HourlyMarkers())], timezone="UTC"
    )
    for spec in (marked(tmp_path), hourly):
        with pytest.raises(TaskDeferred):
            waiting(3, spec).execute(context())
    for hour in range(1, 24):
        (hours / f"hour={hour:02d}" / "_SUCCESS").touch()
    assert waiting(3, hourly).execute(context()) == {"revenue": []}
    with pytest.raises(TaskDeferred):
        waiting(3, marked(tmp_path)).execute(context())


def test_a_complete_day_still_waits_for_the_time_of_the_final_run(clock, tmp_path):
    mark(tmp_path)
    clock(at(22))
    with pytest.raises(TaskDeferred) as deferred:
        waiting(3, marked(tmp_path)).execute(context())
    assert isinstance(deferred.value.trigger, TimeTrigger)


def test_at_the_latest_safe_start_the_report_decides(clock, tmp_path):
    clock(at(5, day=2))
    with pytest.raises(TaskDeferred):
        waiting(3, marked(tmp_path)).execute(context())
    with pytest.raises(AirflowFailException, match="no _SUCCESS in"):
        waiting(3, marked(tmp_path, on_incomplete="fail")).execute(context())
    warned = marked(tmp_path, on_incomplete="publish_with_warning")
    missing = f"no _SUCCESS in {tmp_path}/sales/{DAY}"
    assert waiting(3, warned).execute(context()) == {"revenue": [("sales", missing)]}


def test_long_final_runs_in_the_ledger_move_the_latest_safe_start(clock, tmp_path, store):
    """Two tries of 75 minutes, 5 between and 1 around them: at 03:24 instead of 05:00. How often it
    is tried, and with which pause, is what the task of the final run has."""
    entry = LedgerEntry(
        report="revenue", day="2026-02-28", generation="1", run=3, weight=1.0,
        estimated_cost=10**9, batch_cost=10**9, executor_cpu_s=0.0, process_cpu_s=0.0,
        wall_s=4500.0, arrived=(), state_bytes=0, committed_at="",
    )  # fmt: skip
    store.put(history_key(Generation("revenue", "2026-02-28", "1"), 3), encode(entry))
    failing = marked(tmp_path, on_incomplete="fail")
    once = {"retries": 1, "retry_delay": timedelta(minutes=5)}
    clock(at(3, 23, day=2))
    with pytest.raises(TaskDeferred) as deferred:
        waiting(3, failing, **once).execute(context())
    assert deferred.value.trigger.until == at(3, 24, day=2).isoformat()
    clock(at(3, 24, day=2))
    with pytest.raises(AirflowFailException, match="latest safe start 2026-03-02 03:24"):
        waiting(3, failing, **once).execute(context())
    # By default three tries with half a minute between them; none again: an hour is kept free, and
    # the one try takes more.
    clock(at(2, 13, day=2))
    for options, safe in (
        ({}, at(2, 13, day=2)),
        ({"retries": 0}, at(4, 44, day=2)),
        ({"default_args": {"retries": 1, "retry_delay": 600}}, at(3, 19, day=2)),
    ):
        task = waiting(3, failing, **options)
        assert (
            read_safe_start(
                Day(store, failing, Generation("revenue", DAY, "1")),
                retries_of(task, task.step.seats[0].final_task),
            ).at
            == safe
        )
    changed = waiting(3, failing)
    changed.dag.get_task("run_3.run").retries = 0
    assert retries_of(changed, "run_3.run") == Retries(count=0, pauses_s=0.0)


def test_a_store_that_is_down_does_not_end_the_wait(clock, tmp_path, monkeypatch):
    for name, value in {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9",
        "AWS_ACCESS_KEY_ID": "who",
        "AWS_SECRET_ACCESS_KEY": "never-in-a-log",
        "FORERUN_S3_TIMEOUT": "2",
    }.items():
        monkeypatch.setenv(name, value)
    clock(at(0, 5, day=2))
    away = marked(tmp_path, store="s3://no-such-bucket/store")
    with pytest.raises(TaskDeferred) as deferred:
        waiting(3, away).execute(context())
    assert isinstance(deferred.value.trigger, DateTimeTrigger)
    assert deferred.value.trigger.moment > at(0, 5, day=2)
    assert deferred.value.method_name == "resume"


def test_an_expected_count_of_files(clock, tmp_path):
    clock(at(0, 5, day=2))
    folder = tmp_path / "sales" / DAY
    folder.mkdir(parents=True)
    rule = ExpectedCount(files=2)
    spec = sales_report(sources=(sales_source(str(tmp_path), complete_when=rule),))
    for name in ("a.parquet", "_b.parquet", "c.txt"):
        (folder / name).touch()
    with pytest.raises(TaskDeferred):
        waiting(3, spec).execute(context())
    (folder / "d.parquet").touch()
    assert waiting(3, spec).execute(context()) == {"revenue": []}


def test_an_expected_count_of_rows(clock, tmp_path):
    """Rows are those of the footers, of all data files together; nothing else counts."""
    clock(at(0, 5, day=2))
    folder = tmp_path / "sales" / DAY
    rule = ExpectedCount(rows=1500)
    spec = sales_report(sources=(sales_source(str(tmp_path), complete_when=rule),))

    def deliver(name, rows):
        folder.mkdir(parents=True, exist_ok=True)
        data = {"item": ["a"] * rows, "amount": [1] * rows}
        pq.write_table(pa.table(data), folder / name)

    def reason():
        return tuple(one.text for one in find_missing(spec, parse_day(DAY), at(0, 5, day=2)))

    assert reason() == ("sales: 0 of 1,500 rows",)
    deliver("a.parquet", 1000)
    deliver("_b.parquet", 1000)
    assert reason() == ("sales: 1,000 of 1,500 rows",)
    with pytest.raises(TaskDeferred) as deferred:
        waiting(3, spec).execute(context())
    assert isinstance(deferred.value.trigger, SourcesTrigger)
    deliver("c.parquet", 499)
    assert reason() == ("sales: 1,499 of 1,500 rows",)
    deliver("d.parquet", 1)
    assert reason() == ()
    assert waiting(3, spec).execute(context()) == {"revenue": []}


def test_a_file_that_is_still_being_written_is_not_there_yet(clock, tmp_path):
    clock(at(0, 5, day=2))
    folder = tmp_path / "sales" / DAY
    folder.mkdir(parents=True)
    rule = ExpectedCount(rows=2)
    spec = sales_report(sources=(sales_source(str(tmp_path), complete_when=rule),))
    rows = pa.table({"item": ["a", "b"], "amount": [1, 2]})
    pq.write_table(rows, folder / "a.parquet")
    whole = (folder / "a.parquet").read_bytes()
    (folder / "a.parquet").write_bytes(whole[:50])
    with pytest.raises(TaskDeferred):
        waiting(3, spec).execute(context())
    (folder / "a.parquet").write_bytes(whole)
    assert waiting(3, spec).execute(context()) == {"revenue": []}


def test_an_asset_event_counts_for_its_own_day_only(clock, tmp_path):
    clock(at(0, 5, day=2))
    spec = sales_report(sources=(sales_source("/d", complete_when=AssetEvent(uri="s3://b/s")),))
    other = [SimpleNamespace(extra={"day": "2026-02-28"})]
    with pytest.raises(TaskDeferred) as deferred:
        waiting(3, spec).execute(context(events={"s3://b/s": other}))
    assert deferred.value.trigger.until == at(0, 6, day=2).isoformat()
    mine = [*other, SimpleNamespace(extra={"day": DAY})]
    assert waiting(3, spec).execute(context(events={"s3://b/s": mine})) == {"revenue": []}


LACKING = SimpleNamespace(extra={"day": DAY, "incomplete": [["sales", "no _SUCCESS"]]})
WHOLE = SimpleNamespace(extra={"day": DAY, "incomplete": []})


@pytest.mark.parametrize(
    ("events", "refused"),
    [
        ([LACKING], True),
        ([WHOLE, LACKING], True),  # the newest says how it is now
        ([LACKING, WHOLE], False),
        ([SimpleNamespace(extra={"day": DAY, "incomplete": "half of it"})], True),
        ([SimpleNamespace(extra={"day": DAY, "early": True})], True),
        ([WHOLE], False),
    ],
)
def test_a_day_that_was_published_incomplete_is_refused_or_accepted_and_said(
    clock, tmp_path, events, refused
):
    clock(at(0, 5, day=2))
    uri = "forerun://report/a"

    def report(rule):
        return sales_report(sources=(sales_source("/d", complete_when=rule),))

    asked = context(events={uri: events})
    if refused:
        with pytest.raises(TaskDeferred):
            waiting(3, report(AssetEvent(uri=uri))).execute(asked)
    else:
        assert waiting(3, report(AssetEvent(uri=uri))).execute(asked) == {"revenue": []}
    accepting = waiting(3, report(AssetEvent(uri=uri, incomplete="accept"))).execute(asked)
    assert [source for source, _ in accepting["revenue"]] == (["sales"] if refused else [])
    assert all(f"asset {uri} was not complete on {DAY}" in what for _, what in accepting["revenue"])


def test_without_an_opened_day_it_fails():
    broken = {"ti": SimpleNamespace(xcom_pull=lambda task_ids: None)}
    with pytest.raises(AirflowFailException, match="open_day"):
        waiting(1).execute(broken)


def _first_event(trigger):
    async def first():
        return await asyncio.wait_for(anext(trigger.run()), 10)

    return asyncio.run(first())


def test_the_trigger_fires_when_the_sources_are_complete(clock, tmp_path):
    clock(at(1, day=2))
    spec = encode_report(marked(tmp_path)).decode()
    trigger = SourcesTrigger(report=spec, day=DAY, until=at(5, day=2).isoformat(), poll=0.05)
    path, arguments = trigger.serialize()
    assert path == "forerun.airflow.tasks.triggers.SourcesTrigger"

    async def arrive_while_waiting():
        waiting_for = asyncio.ensure_future(anext(SourcesTrigger(**arguments).run()))
        await asyncio.sleep(0.2)
        assert not waiting_for.done()
        mark(tmp_path)
        return await asyncio.wait_for(waiting_for, 10)

    assert asyncio.run(arrive_while_waiting()).payload == {"missing": []}


def test_the_trigger_fires_at_the_latest_safe_start(clock, tmp_path):
    clock(at(5, day=2))
    spec = encode_report(marked(tmp_path)).decode()
    event = _first_event(SourcesTrigger(report=spec, day=DAY, until=at(5, day=2).isoformat()))
    assert len(event.payload["missing"]) == 1


def _run(logical_date=None, run_after=None, **more):
    values = {"logical_date": logical_date, "run_after": run_after, "dag_id": "d", "run_id": "r"}
    return SimpleNamespace(run_type="manual", **{**values, "clear_number": 0, **more})


def test_the_report_date_is_that_of_the_report_s_zone():
    tokyo = sales_report(timezone="Asia/Tokyo")
    midnight = datetime(2026, 2, 28, 15, tzinfo=UTC)
    assert report_date({"dag_run": _run(midnight)}, tokyo).isoformat() == DAY
    assert report_date({"dag_run": _run(None, midnight)}, tokyo).isoformat() == DAY
    named = {"dag_run": _run(midnight), "params": {"report_date": "2026-01-01"}}
    assert report_date(named, tokyo).isoformat() == "2026-01-01"


def test_modes():
    spec, day = sales_report(), parse_day(DAY)
    assert choose_mode("auto", "scheduled", spec, day, at(1)) == "auto"
    assert choose_mode("auto", "manual", spec, day, at(0, day=2)) == "single"
    assert choose_mode("auto", "backfill", spec, day, at(1)) == "single"
    assert choose_mode("progressive", "backfill", spec, day, at(1)) == "progressive"
    assert choose_mode("batch", "scheduled", spec, day, at(1)) == "batch"
    with pytest.raises(RequestError, match="unknown"):
        choose_mode("fast", "scheduled", spec, day, at(1))


def test_a_clear_gives_another_trigger():
    first, second = (
        trigger_of({"dag_run": _run(), "ti": SimpleNamespace(id=uuid4())}) for _ in range(2)
    )
    assert first != second
    assert first.startswith("d/r/")


def test_the_store_is_the_spec_s_or_the_environment_s(monkeypatch):
    monkeypatch.setenv("FORERUN_STORE", "s3://env/store")
    assert day_module.store_uri(sales_report()) == "s3://env/store"
    assert day_module.store_uri(sales_report(store="/spec")) == "/spec"
    monkeypatch.delenv("FORERUN_STORE")
    monkeypatch.setenv("FORERUN_HOME", "/home/of/it")
    assert day_module.store_uri(sales_report()) == "file:///home/of/it/store"
