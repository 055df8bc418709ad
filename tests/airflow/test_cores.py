"""A run that waits for cores of a cluster: deferred, said why, given back whatever happens."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowSkipException, TaskDeferred

from forerun.airflow import group_dag, progressive_dag
from forerun.airflow.tasks import choosing, cores, submit, triggers
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.tasks.triggers import CoresTrigger
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.group import ReportGroup
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.hours import Hours
from forerun.include.state.records import decode
from forerun.include.state.slots import SlotRequest, Slots, Stop
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import StoreDownError
from forerun.include.times.cluster_reports import reports_of
from forerun.include.times.leases import Leases, say_stop
from forerun.planner.contract.seal import seal
from tests.airflow.reports import sales_report
from tests.airflow.test_tasks import DAY, OPENED, PLANNED, built, context

pytestmark = pytest.mark.airflow
TWO = Cluster(name="night", ceiling=(Hours(start="00:00", end="24:00", value=2),), lease="+00:01")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch):
    def set_to(moment):
        for module in (submit, triggers, choosing, cores):
            monkeypatch.setattr(module, "utc_now", lambda: moment)

    set_to(NOON)
    return set_to


@pytest.fixture
def spec(tmp_path):
    return sales_report(data=str(tmp_path / "data"), store=str(tmp_path / "store"))


@pytest.fixture
def leases(spec):
    return Leases(open_store(spec.store), TWO)


@pytest.fixture
def ran(monkeypatch):
    """What is called in place of spark-submit; by default a note."""
    done: list[str] = []
    calls = SimpleNamespace(done=done, work=lambda: done.append("ran"))
    monkeypatch.setattr(SubmitUnits, "make_ready", lambda *_, **__: None)
    monkeypatch.setattr(SubmitUnits, "submit", lambda *_: calls.work())
    monkeypatch.setattr(submit, "_look_at_early", lambda *_, **__: None)
    monkeypatch.setattr(SubmitUnits, "_as_batch", lambda *_: "")
    return calls


def attempt(spec, run=1, mode="auto", cluster=TWO):
    """A try of a run's task, with its context."""
    task = built(spec, f"run_{run}.run", cluster=cluster)
    return task, context({f"run_{run}.plan": PLANNED, "open_day": {**OPENED, "mode": mode}})


def taken(leases):
    found = leases.store.find(leases.keys.slots)
    return [one.name for one in decode(Slots, found.data, "slots").leases] if found else []


def others(leases, name="other", **changes):
    given = {
        "token": name, "report": name, "owner": "team", "day": DAY, "run": 1, "final": False,
        "cores": 2, "latest_start": 1.0, "seconds": 1.0,
        "lease_s": TWO.lease_s, **changes,
    }  # fmt: skip
    return SlotRequest(**given)


def test_it_holds_its_cores_while_it_runs_and_gives_them_back(spec, leases, clock, ran):
    ran.work = lambda: ran.done.extend(taken(leases))
    task, known = attempt(spec)
    task.execute(known)
    assert ran.done == [f"revenue {DAY} run 1"]
    assert taken(leases) == []
    assert not leases.store.list(leases.keys.wanted)


def test_it_gives_them_back_when_it_fails(spec, leases, clock, ran):
    def fail():
        raise AirflowException("spark-submit failed")

    ran.work = fail
    task, known = attempt(spec)
    with pytest.raises(AirflowException, match="spark-submit failed"):
        task.execute(known)
    assert taken(leases) == []


def test_it_waits_deferred_and_says_why_until_its_turn_has_come(spec, leases, clock, ran, capsys):
    leases.take(others(leases))
    task, known = attempt(spec)
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(known)
    assert "0 of the cores are free, it needs 2; held by other" in capsys.readouterr().out
    trigger = deferred.value.trigger
    assert isinstance(trigger, CoresTrigger)
    assert trigger.until == (NOON + timedelta(hours=4)).isoformat()  # the next run
    path, stored = trigger.serialize()
    assert path == "forerun.airflow.tasks.triggers.CoresTrigger"
    again = CoresTrigger(**stored)
    assert again._look() == (False, {"why": leases.look(others(leases, "x"))[1]})
    leases.release(others(leases))
    leases.release(others(leases, "x"))
    assert again._look() == (True, {"why": ""})
    task.resume(known)
    assert ran.done == ["ran"]


def test_an_early_run_without_cores_gives_up_when_the_next_one_begins(spec, leases, clock, ran):
    leases.take(others(leases))
    clock(NOON + timedelta(hours=4))
    task, known = attempt(spec)
    with pytest.raises(AirflowSkipException, match="no cores before the time of the next run"):
        task.execute(known)
    assert [file.key for file in leases.store.list(leases.keys.wanted)] == [
        leases.keys.request("other")
    ]


def test_an_early_run_beyond_its_owner_s_budget_is_skipped_and_says_why(spec, leases, clock, ran):
    none = replace(TWO, budgets={spec.owner: 0.0})
    task, known = attempt(spec, cluster=none)
    with pytest.raises(AirflowSkipException, match="early runs of forerun have 0 core hours"):
        task.execute(known)
    assert not leases.store.list(leases.keys.wanted)
    final, known = attempt(spec, run=3, cluster=none)
    final.execute(known)
    assert ran.done == ["ran"]


def test_a_run_that_waits_is_woken_when_its_owner_s_budget_is_used_up(spec, leases, clock, ran):
    small = replace(TWO, budgets={spec.owner: 0.5})
    leases.take(others(leases))
    task, known = attempt(spec, cluster=small)
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(known)
    trigger = deferred.value.trigger
    assert not trigger._look()[0]
    leases.release(others(leases))
    costly = others(leases, "costly", owner=spec.owner, run_s=3600.0)
    Leases(leases.store, replace(small, budgets={spec.owner: 9.0})).take(costly)
    assert trigger._look()[0]


def test_a_stop_is_said_and_a_final_run_at_its_latest_start_goes_on(spec, leases, clock, ran):
    said = Stop(stopped=True, by="ann", at="noon", why="the disk is full")
    say_stop(leases.store, "night", said)
    task, known = attempt(spec)
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(known)
    _, event = deferred.value.trigger._look()
    assert event == {"why": "ann has stopped the cluster at noon: the disk is full"}
    final, known = attempt(spec, run=3)  # its latest start is months ago by the store's clock
    final.execute(known)
    assert ran.done == ["ran"]


def test_a_record_of_a_newer_version_holds_early_runs_only(spec, leases, clock, ran, capsys):
    leases.store.put(leases.keys.slots, seal({"record": "Slots", "record_version": 3}))
    task, known = attempt(spec)
    with pytest.raises(TaskDeferred):
        task.execute(known)
    assert "update this one" in capsys.readouterr().out
    clock(NOON + timedelta(hours=17))  # an hour before the deadline
    final, known = attempt(spec, run=3)
    final.execute(known)
    assert ran.done == ["ran"]
    assert "begins without a lease, for its deadline" in capsys.readouterr().out


def test_an_application_whose_cores_are_lost_is_ended(spec, leases, clock, ran, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(SubmitUnits, "end_application", lambda _: ended.set())
    monkeypatch.setattr(cores, "_RENEWALS", 600)  # every tenth of a second

    def work():
        leases.store.put(leases.keys.slots, b"")
        leases.store.delete(leases.keys.slots)  # as if they had been given to others
        assert ended.wait(20)

    ran.work = work
    task, known = attempt(spec)
    task.execute(known)


def test_a_killed_task_gives_its_cores_back(spec, leases, clock, ran):
    task, known = attempt(spec)
    ran.work = lambda: (task.give_back_cores(), ran.done.extend(taken(leases)))
    task.execute(known)
    assert ran.done == []


def test_opening_a_day_keeps_the_cluster(spec, leases):
    built(spec, "open_day", cluster=TWO).execute(context({}))
    assert leases.cluster() == TWO
    (report,) = reports_of(leases.store, "night", NOON.date())
    assert (report.report, report.cores, report.newest) == (spec.name, 2, DAY)
    built(spec, "open_day").execute(context({}))
    assert reports_of(leases.store, "night", NOON.date()) == ()


def test_a_day_is_opened_where_its_report_cannot_say_what_it_wants(spec, leases, monkeypatch):
    def fails(*_):
        raise StoreDownError("no answer")

    monkeypatch.setattr("forerun.include.times.cluster_reports.put_wanted", fails)
    assert built(spec, "open_day", cluster=TWO).execute(context({}))["generation"] == "1"


def test_a_ceiling_below_one_run_is_refused_where_the_dag_is_written(spec):
    one = Cluster(name="night", ceiling=(Hours(start="00:00", end="24:00", value=1),))
    with pytest.raises(SpecError, match="needs 2 cores, and cluster night never has more than 1"):
        progressive_dag(spec, start_date=NOON, cluster=one)
    group = ReportGroup(name="all", reports=(spec,))
    with pytest.raises(SpecError, match="never has more than 1"):
        group_dag(group, start_date=NOON, cluster=one)


def test_a_group_asks_once_for_all_its_reports(spec):
    first = others(None, "a", cores=3, latest_start=50.0)
    final = others(None, "b", cores=1, latest_start=90.0, final=True, seconds=2.0)
    asked = cores.joined("all", [first, final])
    assert (asked.report, asked.cores, asked.latest_start) == ("all", 3, 50.0)
    assert (asked.final, asked.seconds) == (True, 3.0)
