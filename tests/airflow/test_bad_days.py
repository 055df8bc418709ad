"""Bad days through Airflow: its own task runner, retries and triggers; the job on the small engine
in the task's process."""

from __future__ import annotations

import json
import os
import shutil
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException

from forerun.airflow.tasks.application import SubmitApplication
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import StoreDownError
from forerun.planner.contract.seal import seal, unseal
from forerun.spark_jobs import run as job
from tests.airflow.conftest import ROOT
from tests.airflow.test_days import DAY, MIDNIGHT, Days, rerun

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]
ARRIVALS = {1: {"apple": 10, "pear": 3}, 2: {"apple": 5, "plum": 7}, 3: {"pear": -3}}
EXPECTED = {"apple": (15, 2), "pear": (0, 2), "plum": (7, 1)}


class BadDays(Days):
    """Days on which something happens before a task is executed, once."""

    def prepare(self, dag_id, happens):
        """Bring the day's files when their run is due, and let things happen."""
        dag = self.bag.get_dag(dag_id)
        for task in dag.tasks:
            task.pre_execute = self._before(dag, task.task_id, happens)

    def run(self, dag_id, **happens):
        self.prepare(dag_id, {name.replace("__", "."): what for name, what in happens.items()})
        return self.test(dag_id)

    def _before(self, dag, task_id, happens):
        over = []

        def before(_context):
            run = task_id.removesuffix(".wait").removeprefix("run_")
            if run.isdigit():
                self.deliver(dag.get_task("open_day").spec.name, int(run))
            if not over:  # neither at another try, nor when a wait wakes up
                over.append(True)
                for name in ("every", task_id):
                    happens.get(name, lambda: None)()

        return before

    def deliver(self, name, run):
        folder = self.root / name / "sales" / DAY
        folder.mkdir(parents=True, exist_ok=True)
        rows = ARRIVALS[run]
        table = pa.table({"item": list(rows), "amount": pa.array(rows.values(), pa.int64())})
        if not (file := folder / f"run-{run}.parquet").exists():
            pq.write_table(table, file)
        if run == max(ARRIVALS):
            (folder / "_SUCCESS").touch()

    def as_before_an_upgrade(self, name, besides=()):
        """The plans of the day are in the form of a version that is no more."""
        store = open_store(str(self.root / "store"))
        for file in store.list(f"reports/{name}"):
            if "/plans/" in file.key and file.key not in besides:
                raw, _ = unseal(store.get(file.key), "a plan")
                store.put(file.key, seal({**raw, "version": 0}))

    def plans(self, name, run):
        """The plans that were made for a run, oldest first."""
        store = open_store(str(self.root / "store"))
        found = [f for f in store.list(f"reports/{name}") if f"/plans/run-{run}-" in f.key]
        return [
            unseal(store.get(f.key), "a plan")[0] for f in sorted(found, key=lambda f: f.modified)
        ]

    def delete(self, name, what):
        store = open_store(str(self.root / "store"))
        found = [file.key for file in store.list(f"reports/{name}") if what in file.key]
        for key in found:
            store.delete(key)
        assert found


@pytest.fixture(scope="module")
def days(airflow_home, tmp_path_factory):
    from airflow.dag_processing.dagbag import DagBag

    root = tmp_path_factory.mktemp("bad")
    os.environ["FORERUN_TEST_ROOT"] = str(root)
    file = airflow_home / "dags" / "bad.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "bad.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SubmitApplication, "make_ready", lambda *_, **__: None)
        patched.setattr(SubmitApplication, "submit", submit)
        yield BadDays(root, bag)
    file.unlink()
    del os.environ["FORERUN_TEST_ROOT"]


def submit(_task, _context, plans, *options):
    named = [part for plan in plans for part in ("--plan", plan)]
    attempt = ["--attempt", uuid.uuid4().hex[:8], "--engine", "sail"]
    if job.main([*named, *options, *attempt]):
        raise AirflowException("the application failed")


def test_a_store_that_is_away_whenever_a_task_begins(days, monkeypatch):
    """Every task but those that wait is tried again; nothing is done twice or lost."""
    away = {"calls": 0}

    def failing(name):
        method = getattr(FileStore, name)

        def call(store, *args):
            if away["calls"]:
                away["calls"] -= 1
                raise StoreDownError("the store's disk is away", hint="Wait.")
            return method(store, *args)

        return call

    for name in ("find", "get", "list", "stat", "folders", "put_if_absent"):
        monkeypatch.setattr(FileStore, name, failing(name))
    states = days.run("away", every=lambda: away.update(calls=1))
    assert states["dag"] == "success"
    assert days.result("away") == EXPECTED
    assert list(days.commits("away"))[-1] == 3


def test_a_table_that_is_deleted_is_named_and_planned_around_in_the_same_try(days, capfd):
    states = days.run("lost", run_3__run=lambda: days.delete("lost", "/artifacts/"))
    assert states["dag"] == "success"
    assert days.result("lost") == EXPECTED
    assert days.pointer("lost")["generation"] == 1
    logged = "".join(capfd.readouterr())
    assert logged.count(f"planning lost {DAY} again: ") == 1
    assert "is named by the commit, but is gone" in logged
    first, again = days.plans("lost", 3)
    assert {one["id"] for one in first["families"]}
    assert not {one["id"] for one in again["families"]} & {one["id"] for one in first["families"]}


def test_an_early_run_whose_table_is_lost_leaves_its_work_to_the_next(days):
    states = days.run("lost_early", run_2__run=lambda: days.delete("lost_early", "/artifacts/"))
    assert (states["run_2.run"], states["dag"]) == ("skipped", "success")
    assert days.result("lost_early") == EXPECTED


def test_tasks_that_are_cleared_when_all_is_done_change_nothing(days):
    assert days.run("again")["dag"] == "success"
    before = days.pointer("again")
    states = rerun(days, "again", MIDNIGHT, {"run_1.plan", "run_3.plan", "run_3.run", "publish"})
    assert (states["run_3.run"], states["publish"]) == ("skipped", "success")
    assert days.pointer("again") == before
    assert days.folder("again").name == "1"


def test_a_cleared_run_of_a_committed_day_submits_nothing_and_says_so(days, capfd):
    states = rerun(days, "again", MIDNIGHT, {"run_3.run"})
    assert states["run_3.run"] == "skipped"
    said = "".join(capfd.readouterr())
    assert "run 3 is committed already, by attempt " in said
    assert "stage 1/" not in said


def test_a_clock_that_jumps_back_and_far_ahead(days, monkeypatch):
    clock = {"now": MIDNIGHT + timedelta(hours=20)}
    for name, module in list(sys.modules.items()):
        if name.startswith("forerun.airflow") and hasattr(module, "utc_now"):
            monkeypatch.setattr(module, "utc_now", lambda: clock["now"])
    jumps = {"run_1__run": timedelta(hours=-30), "run_2__plan": timedelta(hours=2)}
    jumps |= {"run_2__run": timedelta(days=40), "check": timedelta(days=-41)}
    happens = {at: lambda by=by: clock.update(now=clock["now"] + by) for at, by in jumps.items()}
    happens["run_2__wait"] = lambda: clock.update(now=MIDNIGHT + timedelta(hours=17))
    states = days.run("jumping", **happens)
    assert states["dag"] == "success"
    assert days.result("jumping") == EXPECTED
    assert clock["now"] < datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=1)


def test_a_plan_of_another_version_is_made_again(days, capfd):
    """An upgrade between planning and running, of an early run and of the final one."""

    def older():
        followed = {commit["plan"] for commit in days.commits("planned").values()}
        days.as_before_an_upgrade("planned", besides=followed)

    states = days.run("planned", run_1__run=older, run_3__run=older)
    assert states["dag"] == "success"
    assert days.result("planned") == EXPECTED
    assert f"planning planned {DAY} again: the plan has contract version 0" in "".join(
        capfd.readouterr()
    )


def test_early_runs_by_plans_of_another_version_are_said_and_a_cleared_day_does_without(
    days, capfd
):
    older = lambda: days.as_before_an_upgrade("committed")  # noqa: E731
    states = days.run("committed", run_3__plan=older)
    assert (states["run_3.plan"], states["publish"]) == ("failed", "upstream_failed")
    assert "the plan has contract version 0" in "".join(capfd.readouterr())
    days.prepare("committed", {})
    assert rerun(days, "committed", MIDNIGHT)["dag"] == "success"
    assert days.result("committed") == EXPECTED


def test_a_report_that_is_edited_in_the_middle_of_its_day(days):
    dag = days.bag.get_dag("edited")
    sql = "SELECT item, max(amount) AS revenue, count(*) AS n FROM sales GROUP BY item"

    def edited(seat):
        return replace(seat, spec=seat.spec.with_sql(sql))

    def edit():
        for task in dag.tasks:
            if hasattr(task, "step"):
                task.step = replace(task.step, seats=tuple(map(edited, task.step.seats)))
            else:
                task.spec = task.spec.with_sql(sql)

    assert days.run("edited", run_2__wait=edit)["dag"] == "success"
    assert days.result("edited") == {"apple": (10, 2), "pear": (3, 2), "plum": (7, 1)}


def test_a_second_dag_with_the_report_of_another_changes_nothing(days, capfd):
    before = days.pointer("edited")
    assert before
    states = days.run("second")
    assert (states["open_day"], states["dag"]) == ("failed", "failed")
    assert "the name edited belongs to DAG edited in this store" in "".join(capfd.readouterr())
    assert days.pointer("edited") == before
    claim = json.loads((days.root / "store" / "reports" / "edited" / "claim.json").read_text())
    assert claim["holder"] == "DAG edited"
