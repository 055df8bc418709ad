"""A day whose early runs a small engine does, in a process of the worker: nothing is submitted for
them, no cores are taken, and a second try is Spark's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from airflow.sdk.exceptions import AirflowException

from forerun.airflow.tasks import child_job
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.values.hours import Hours
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.commits import read_commit
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.planner.contract import FamilyInput
from tests.airflow.test_repairing import Dag, deliver, published
from tests.airflow.test_tasks import DAY, place, report

__all__ = ["place"]
SHARED = Cluster(name="shared", ceiling=(Hours(start="00:00", end="24:00", value=8),))


def early(place, **changes):
    spec = report(place)
    return replace(spec, policy=replace(spec.policy, early_engine="sail", **changes))


def begun(spec, place, **options):
    dag = Dag(spec, place, **options)
    dag.do("open_day", mode="progressive")
    for step in ("wait", "plan"):
        dag.do(f"run_1.{step}")
    return dag


def commit_of(spec, run):
    return read_commit(open_store(spec.store), Generation(spec.name, DAY, "1"), run)


@pytest.mark.spark
def test_early_runs_are_done_by_the_worker_and_the_final_one_is_submitted(place):
    spec = early(place)
    dag = begun(spec, place)
    assert dag.xcoms["run_1.plan", "return_value"]["engines"] == {f"revenue {DAY}": "sail"}
    dag.do("run_1.run")
    for run in (2, 3):
        deliver(place, f"more-{run}", a=10 * run, c=run)
        for step in ("wait", "plan", "run"):
            dag.do(f"run_{run}.{step}")
    assert [commit_of(spec, run).metrics.engine for run in (1, 2, 3)] == ["sail", "sail", "spark"]
    plan = StoredPlan.read(f"{spec.store}/{commit_of(spec, 3).plan}").plan
    read = [item for stage in plan.run.stages for item in stage.inputs]
    assert any(isinstance(item, FamilyInput) for item in read)
    for step in ("check", "publish"):
        dag.do(step)
    assert published(spec).run == 3


@pytest.fixture
def failing(place, monkeypatch):
    """The job of a worker fails."""
    (place / "job.py").write_text("import sys; print('error: out of memory'); sys.exit(3)")
    monkeypatch.setattr(child_job, "JOB", place / "job.py")


def test_what_the_worker_is_to_do_takes_no_cores(place, failing, monkeypatch):
    taken = []
    monkeypatch.setattr(SubmitUnits, "take_cores", lambda _self, *given: taken.append(given))
    dag = begun(early(place), place, cluster=SHARED)
    with pytest.raises(AirflowException, match="out of memory"):
        dag.do("run_1.run")
    assert not taken


def test_a_second_try_is_planned_and_done_by_the_own_engine_of_the_dag(place, failing, monkeypatch):
    dag = begun(early(place), place, cluster=SHARED)
    with pytest.raises(AirflowException):
        dag.do("run_1.run")
    taken, ready, submitted = [], [], []
    monkeypatch.setattr(SubmitUnits, "take_cores", lambda _self, *given: taken.append(given))
    monkeypatch.setattr(SubmitUnits, "make_ready", lambda _self, _, **more: ready.append(more))
    monkeypatch.setattr(SubmitUnits, "submit", lambda _self, _, plans: submitted.extend(plans))
    dag.tried = 2
    dag.do("run_1.run")
    assert taken
    assert [one["early_engine"] for one in ready] == [""]
    (planned,) = dag.xcoms["run_1.plan", "return_value"]["plans"].values()
    first, second = (StoredPlan.read(uri).plan for uri in (planned, *submitted))
    assert not any(family.buckets for family in first.families)
    assert second.run.estimated_cost > 3 * first.run.estimated_cost
