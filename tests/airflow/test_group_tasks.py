"""The tasks of a time point, without a scheduler: when it starts, for whom, and how often."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    TaskDeferred,
)

from forerun.airflow import ReportGroup, group_dag
from forerun.airflow.tasks import submit, triggers, wait
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.tasks.triggers import Waiting
from forerun.include.reports.spec import MarkerFile, SpecError
from forerun.include.stores.store import StoreDownError
from tests.airflow.reports import sales_report, sales_source

DAY = "2026-03-01"


def at(hour: int, minute: int = 0, day: int = 1) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("FORERUN_STORE", str(tmp_path / "store"))


@pytest.fixture
def clock(monkeypatch):
    def set_to(moment):
        for module in (wait, submit, triggers):
            monkeypatch.setattr(module, "utc_now", lambda: moment)

    return set_to


@pytest.fixture
def dag(tmp_path):
    return dag_of(tmp_path)


def dag_of(tmp_path, **changes: Any):
    """Two reports due at midnight, each with a source of its own that a marker completes."""
    reports = [
        sales_report(
            name=name,
            sources=(sales_source(str(tmp_path / name), complete_when=MarkerFile()),),
            **changes,
        )
        for name in ("one", "two")
    ]
    return group_dag(ReportGroup(name="night", reports=tuple(reports)), start_date=at(0))


def mark(tmp_path, name):
    folder = tmp_path / name / "sales" / DAY
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_SUCCESS").touch()


def context(mode="auto", dry_run=False, missing=(), tries=1, **others):
    opened = {"day": DAY, "generation": "1", "mode": mode, "dry_run": dry_run}
    known = {f"{name}.open_day": opened for name in ("one", "two") if name not in missing}
    said = {**known, **others}

    def pull(task_ids: str) -> object:
        return said.get(task_ids)

    ti = SimpleNamespace(xcom_pull=pull, try_number=tries, dag_id="night")
    return {"ti": ti, "inlet_events": {}}


def deferred_until(task, said) -> datetime:
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(said)
    assert isinstance(deferred.value.trigger, Waiting)
    assert deferred.value.method_name == "resume"
    return datetime.fromisoformat(deferred.value.trigger.until)


def test_a_time_point_waits_for_its_time(clock, dag):
    clock(at(9))
    assert deferred_until(dag.get_task("at_1.wait"), context()) == at(10)
    clock(at(10))
    assert dag.get_task("at_1.wait").resume(context()) == {"one": [], "two": []}


def test_an_early_one_is_skipped_where_nobody_wants_it(clock, dag):
    early = dag.get_task("at_1.wait")
    clock(at(16))
    with pytest.raises(AirflowSkipException, match="the time of the next run has come already"):
        early.execute(context())
    for mode in ("single", "batch"):
        with pytest.raises(AirflowSkipException, match="straight to the final run"):
            early.execute(context(mode))
    for mode in ("replay", "progressive"):
        assert early.execute(context(mode)) == {"one": [], "two": []}


def test_a_dry_run_plans_the_first_time_point_without_waiting(clock, dag):
    clock(at(1))
    dry = dag.get_task("at_1.wait").execute(context(dry_run=True))
    assert dry == {"one": [], "two": []}
    with pytest.raises(AirflowSkipException, match="dry run"):
        dag.get_task("at_3.wait").execute(context(dry_run=True))


def test_final_runs_wait_for_each_other_for_a_while(clock, dag, tmp_path):
    final = dag.get_task("at_3.wait")
    mark(tmp_path, "one")
    clock(at(0, 1, day=2))
    assert deferred_until(final, context()) == at(0, 10, day=2)
    mark(tmp_path, "two")
    assert final.execute(context()) == {"one": [], "two": []}


def test_who_is_late_is_left_to_itself_when_patience_ends(clock, dag, tmp_path):
    mark(tmp_path, "two")
    clock(at(0, 10, day=2))
    assert dag.get_task("at_3.wait").execute(context()) == {"two": []}


def test_nobody_waits_for_others_beyond_its_own_safe_start(clock, tmp_path):
    mark(tmp_path, "two")
    clock(at(0, 1, day=2))
    dag = dag_of(tmp_path, deadline="25:00")  # an hour after the final run, which is the reserve
    assert dag.get_task("at_3.wait").execute(context()) == {"two": []}


def test_a_report_whose_day_is_not_open_holds_up_no_other(clock, dag, tmp_path):
    mark(tmp_path, "two")
    clock(at(0, 1, day=2))
    final = dag.get_task("at_3.wait")
    assert final.execute(context(missing=("one",))) == {"two": []}
    with pytest.raises(AirflowSkipException, match="the day of no report"):
        final.execute(context(missing=("one", "two")))


def test_early_runs_that_failed_are_not_tried_again_into_the_next_time_point(
    clock, dag, monkeypatch
):
    submitted: list[list[str]] = []
    monkeypatch.setattr(SubmitUnits, "make_ready", lambda *_, **__: None)
    monkeypatch.setattr(SubmitUnits, "submit", lambda _self, _context, p: submitted.append(p))
    planned = {"plans": {f"one {DAY}": "file:///p"}, "tiny": True, "submit": True, "why": ""}
    task = dag.get_task("at_1.run")
    clock(at(16))
    task.execute(context(**{"at_1.plan": planned}))
    with pytest.raises(AirflowFailException, match="not tried again"):
        task.execute(context(tries=2, **{"at_1.plan": planned}))
    clock(at(15, 59))
    task.execute(context(tries=2, **{"at_1.plan": planned}))
    clock(at(16))
    task.execute(context("replay", tries=2, **{"at_1.plan": planned}))
    assert submitted == [["file:///p"]] * 3


def down(*names):
    """Asking for a run of these reports finds the store down; the others are broken for good."""

    def ask(day, _run, **_how):
        if day.at.report in names:
            raise StoreDownError("no answer", hint="wait")
        raise SpecError("broken", hint="mend it")

    return ask


def test_a_store_that_is_down_for_all_is_worth_a_retry(dag, monkeypatch):
    task = dag.get_task("at_1.plan")
    monkeypatch.setattr("forerun.include.runs.prepare.ask_for_run", down("one", "two"))
    with pytest.raises(AirflowException, match="no answer") as caught:
        task.execute(context())
    assert not isinstance(caught.value, AirflowFailException)


def test_the_trouble_of_one_report_is_left_to_itself(dag, monkeypatch):
    monkeypatch.setattr("forerun.include.runs.prepare.ask_for_run", down("one"))
    planned = dag.get_task("at_1.plan").execute(context())
    assert (planned["plans"], planned["submit"]) == ({}, False)


def test_what_was_not_planned_is_not_submitted(dag):
    with pytest.raises(AirflowFailException, match="was not planned"):
        dag.get_task("at_1.run").execute(context())
    idle = {"plans": {}, "tiny": True, "submit": False, "why": "nothing to do"}
    with pytest.raises(AirflowSkipException, match="nothing to do"):
        dag.get_task("at_1.run").execute(context(**{"at_1.plan": idle}))


def test_the_tasks_and_their_order(dag):
    leaves = {leaf.task_id for leaf in dag.leaves if not leaf.is_teardown}
    assert leaves == {"one.publish", "two.publish"}
    assert dag.get_task("at_1.wait").upstream_task_ids == {"one.open_day", "two.open_day"}
    assert dag.get_task("at_2.wait").upstream_task_ids == {"at_1.run"}
    assert dag.get_task("one.run_3.wait").upstream_task_ids == {"at_3.run"}
    assert dag.get_task("one.publish").upstream_task_ids == {"one.check"}
    rules = {task.task_id: task.trigger_rule.value for task in dag.tasks}
    assert {rules[f"at_{point}.wait"] for point in (1, 2, 3)} == {"all_done"}
    assert rules["one.run_3.wait"] == "all_done"


def test_options_that_would_break_the_night_are_refused(tmp_path):
    group = ReportGroup(name="night", reports=(sales_report(),))
    with pytest.raises(SpecError, match="trigger_rule"):
        group_dag(group, start_date=at(0), trigger_rule="one_success")
    with pytest.raises(SpecError, match="before_run"):
        group_dag(group, start_date=at(0), before_run=print)


def test_airflow_can_show_a_group_in_its_grid(dag):
    """Its UI orders task groups by who depends on whom, and fails where that is a circle."""
    from airflow.serialization.serialized_objects import DagSerialization

    shown = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag)).task_group
    order = [node.node_id for node in shown.topological_sort()]
    assert order[0] == "open_days"
    assert {"one", "two"} < set(order)
