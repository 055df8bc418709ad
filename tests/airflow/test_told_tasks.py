"""The tasks of a day do what people have told it, and those that wait wake up for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferred

from forerun.airflow import progressive_dag
from forerun.airflow.tasks import submit, triggers, wait
from forerun.airflow.tasks.triggers import SourcesTrigger, TimeTrigger
from forerun.include.days.instructions import Instruction, instruct
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.planner.contract import decode_plan
from tests.airflow.reports import sales_report
from tests.airflow.test_group_tasks import at as group_at
from tests.airflow.test_group_tasks import context as group_context
from tests.airflow.test_group_tasks import dag_of, mark
from tests.airflow.test_wait import DAY, at, context, marked
from tests.include.oncall.dag_days import DATE, dag_day
from tests.include.oncall.dag_days import at as day_at


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("FORERUN_STORE", str(tmp_path / "store"))
    return open_store(str(tmp_path / "store"))


@pytest.fixture
def clock(monkeypatch):
    def set_to(moment):
        for module in (wait, triggers):
            monkeypatch.setattr(module, "utc_now", lambda: moment)

    return set_to


def tell(store, kind, report="revenue", day=DAY):
    wanted = Instruction(kind=kind, by="anna", at="2026-03-01T09:30:00+00:00", form=kind)
    assert instruct(store, Generation(report, day, "1"), wanted)


def task(task_id, spec=None):
    return progressive_dag(spec or sales_report(), start_date=at(0)).get_task(task_id)


@pytest.mark.parametrize("kind", ["batch", "skip-early"])
def test_an_early_run_that_was_not_begun_is_skipped_and_the_log_says_who_wanted_it(
    clock, store, kind
):
    tell(store, kind)
    for hour, mode in ((9, "auto"), (10, "auto"), (10, "progressive")):
        clock(at(hour))
        with pytest.raises(AirflowSkipException, match="anna has said so at 2026-03-01T09:30"):
            task("run_1.wait").execute(context(mode))


def test_an_early_run_that_has_waited_is_not_planned_after_it_was_told_to_be_skipped(store):
    tell(store, "skip-early")
    with pytest.raises(AirflowSkipException, match="anna"):
        task("run_1.plan").execute(context())


def test_the_final_run_starts_at_once_and_says_what_is_missing(clock, store, tmp_path):
    spec = marked(tmp_path)
    clock(at(11))
    with pytest.raises(TaskDeferred):
        task("run_3.wait", spec).execute(context())
    tell(store, "batch")
    missing = f"no _SUCCESS in {tmp_path}/sales/{DAY}"
    assert task("run_3.wait", spec).resume(context()) == {"revenue": [("sales", missing)]}


def test_the_final_run_keeps_its_time_where_only_early_runs_are_skipped(clock, store, tmp_path):
    tell(store, "skip-early")
    clock(at(11))
    with pytest.raises(TaskDeferred) as deferred:
        task("run_3.wait", marked(tmp_path)).execute(context())
    assert deferred.value.trigger.until == at(0, day=2).isoformat()


@pytest.mark.parametrize(("hour", "day"), [(9, 1), (1, 2)])
def test_what_waits_wakes_up_when_it_is_told_something(clock, store, tmp_path, hour, day):
    """Before its time and while sources are late; not for what it was told before."""
    run = 1 if day == 1 else 3
    kind = TimeTrigger if day == 1 else SourcesTrigger
    tell(store, "replan")
    clock(at(hour, day=day))
    with pytest.raises(TaskDeferred) as deferred:
        task(f"run_{run}.wait", marked(tmp_path)).execute(context())
    path, arguments = deferred.value.trigger.serialize()
    assert path == f"forerun.airflow.tasks.triggers.{kind.__name__}"

    async def tell_while_it_waits():
        waiting = asyncio.ensure_future(anext(kind(**arguments | {"poll": 0.05}).run()))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        tell(store, "batch")
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(tell_while_it_waits()).payload


def test_a_wait_goes_on_while_the_store_is_away_and_ends_at_its_time(clock, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "who")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "what")
    monkeypatch.setenv("FORERUN_S3_TIMEOUT", "1")
    clock(at(10))
    trigger = TimeTrigger(until=at(10).isoformat(), unless="s3://no-such/store/reports/a/1.json")

    async def first():
        return await asyncio.wait_for(anext(trigger.run()), 30)

    assert asyncio.run(first()).payload == {"told": False}


def test_a_group_goes_on_without_the_report_that_was_told_to_leave_out(clock, store, tmp_path):
    group = dag_of(tmp_path)
    tell(store, "skip-early", "one")
    clock(group_at(10))
    assert group.get_task("at_1.wait").execute(group_context()) == {"two": []}
    tell(store, "skip-early", "two")
    with pytest.raises(AirflowSkipException, match=r"early runs are skipped: .*anna"):
        group.get_task("at_1.wait").execute(group_context())
    # The final runs are due all the same, but for one that runs batch by itself.
    clock(group_at(0, 1, day=2))
    for name in ("one", "two"):
        mark(tmp_path, name)
    assert group.get_task("at_3.wait").execute(group_context()) == {"one": [], "two": []}
    tell(store, "batch", "one")
    assert group.get_task("at_3.wait").execute(group_context()) == {"two": []}


def test_a_day_that_was_told_so_is_planned_as_batch_whatever_it_has_kept(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.make(1, day_at(12))
    case.deliver("2", (3, 4))
    dag = progressive_dag(replace(case.spec, store=case.store_uri), start_date=at(0))
    opened = {"day": DATE, "generation": "1", "mode": "progressive", "dry_run": False}
    answers = {"open_day": opened, "run_2.wait": {"totals": []}}
    for method in ("incremental", "batch"):
        if method == "batch":
            tell(case.store, "batch", "totals", DATE)
        ti = SimpleNamespace(xcom_pull=lambda task_ids: answers[task_ids])
        planned = dag.get_task("run_2.plan").execute({"ti": ti})
        (uri,) = planned["plans"].values()
        key = uri.removeprefix(f"{case.store.root}/")
        assert decode_plan(case.store.get(key)).method == method


def test_the_last_try_of_a_final_run_is_batch_while_that_is_in_time(tmp_path, monkeypatch):
    case = dag_day(tmp_path)
    case.begin()
    case.make(1, day_at(12))
    case.deliver("2", (3, 4))
    kept = case.plan(2, day_at(16), method="progressive").plan_uri
    monkeypatch.setattr(submit, "utc_now", lambda: day_at(17))
    submitted = []
    monkeypatch.setattr(submit.SubmitUnits, "make_ready", lambda *_, **__: None)
    monkeypatch.setattr(
        submit.SubmitUnits, "submit", lambda _self, _context, plans, *_: submitted.extend(plans)
    )
    dag = progressive_dag(replace(case.spec, store=case.store_uri), start_date=at(0))
    planned = {"submit": True, "plans": {f"totals {DATE}": kept}, "tiny": True, "why": ""}
    opened = {"day": DATE, "generation": "1", "mode": "auto", "dry_run": False}
    answers = {"open_day": opened, "run_2.plan": planned}
    for tried in (1, 2, 3):
        ti = SimpleNamespace(
            xcom_pull=lambda task_ids: answers[task_ids], try_number=tried, max_tries=2, dag_id="d"
        )
        dag.get_task("run_2.run").execute({"ti": ti})
    methods = [
        decode_plan(case.store.get(uri.removeprefix(f"{case.store.root}/"))).method
        for uri in submitted
    ]
    assert methods == ["incremental", "incremental", "batch"]
