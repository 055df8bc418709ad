"""Runs of a backfill take a pool of their own in a real Airflow, and the doctor says why not."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from forerun.airflow_policy import task_instance_mutation_hook
from forerun.cli import app as cli
from forerun.cli import doctor
from forerun.demo.place import open_place
from tests.airflow.conftest import ENVIRONMENT

REPORTS = """
from datetime import UTC, datetime
from forerun.airflow import ReportGroup, group_dag, progressive_dag
from tests.airflow.reports import sales_report

START = datetime(2026, 1, 1, tzinfo=UTC)
given = {"start_date": START, "pool": "tonight", "backfill_pool": "past"}
alone = progressive_dag(sales_report(), dag_id="alone", **given)
together = group_dag(ReportGroup(name="together", reports=(sales_report(),)), **given)
"""
# What the API server does when somebody asks for these DAG runs, and clears one.
MAKE_RUNS = """
import json, sys
from datetime import UTC, datetime
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from airflow.models.dagbag import DBDagBag
from airflow.models.pool import Pool
from airflow.models.taskinstance import clear_task_instances
from airflow.utils.session import create_session
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from forerun.doctors.airflow import examine_airflow

def pools(run):
    session.flush()
    return {ti.task_id: ti.pool for ti in run.get_task_instances(session=session)}

MANUAL, BACKFILL = DagRunType.MANUAL, DagRunType.BACKFILL_JOB
asked = {"backfill__x": BACKFILL, "forerun-backfill-x": MANUAL, "manual__x": MANUAL,
         "form": MANUAL, "scheduled__x": DagRunType.SCHEDULED}
form = {"mode": "backfill", "days": ["2026-01-01", "2026-01-02"]}
said = {}
with create_session() as session:
    DagBundlesManager().sync_bundles_to_db(session=session)
    session.commit()
    bag = BundleDagBag(dag_folder=sys.argv[1], bundle_path=sys.argv[1], bundle_name="dags-folder")
    sync_bag_to_db(bag, "dags-folder", None)
    for dag_id in ("alone", "together"):
        dag = DBDagBag().get_latest_version_of_dag(dag_id, session=session)
        for day, (run_id, kind) in enumerate(asked.items(), 1):
            at = datetime(2026, 3, day, tzinfo=UTC)
            run = dag.create_dagrun(
                run_id=run_id, logical_date=at, data_interval=(at, at), run_after=at,
                run_type=kind, triggered_by=DagRunTriggeredByType.TEST, state="running",
                conf=form if (dag_id, run_id) == ("alone", "form") else None, session=session)
            said[f"{dag_id} {run_id}"] = pools(run)
        run.run_type = BACKFILL
        clear_task_instances(run.get_task_instances(session=session), session)
        said[f"{dag_id} cleared"] = pools(run)
def of_pools():
    return [one for one in examine_airflow() if one.name == "backfill-pool"]
missing = [one.todo for one in of_pools()]
Pool.create_or_update_pool("past", 2, "", False)
print(json.dumps([said, missing, [one.state for one in of_pools()]]))
"""


@pytest.mark.airflow
def test_runs_of_a_backfill_take_their_pool_and_nothing_else_does(
    airflow_home, tmp_path, monkeypatch, capsys
):
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "reports.py").write_text(REPORTS)
    database = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow_home}/airflow.db"}
    with_policy = {**ENVIRONMENT, **database, "AIRFLOW_HOME": str(tmp_path)}
    with_policy["AIRFLOW__CORE__DAGS_FOLDER"] = folder = str(tmp_path / "dags")
    program = [sys.executable, "-c", MAKE_RUNS, folder]
    done = subprocess.run(program, env=with_policy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, missing, after = json.loads(done.stdout.splitlines()[-1])
    assert len(said) == 12
    for run, taken in said.items():
        theirs = {task for task, pool in taken.items() if pool == "past"}
        backfilled = "backfill" in run or "cleared" in run or run == "alone form"
        assert theirs == {task for task in taken if backfilled and task.endswith(".run")}, run
        assert set(taken.values()) - {"past"} == {"tonight"}
    assert missing == ["Create it: `airflow pools set past 2 backfills`."] * 2
    assert after == ["ok"]

    # With this mark Airflow asks no policy.
    monkeypatch.setattr("airflow.settings.task_instance_mutation_hook.is_noop", True, raising=False)
    monkeypatch.setattr(doctor, "examine", lambda _: ())
    capsys.readouterr()
    assert cli.run(["doctor", "--airflow", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)["findings"]
    findings = [one for one in said if one["name"] == "backfill-pool"]
    assert [one["found"].split(" ")[0] for one in findings] == ["alone", "together"]
    assert all("airflow.policy" in one["todo"] for one in findings)


@pytest.mark.airflow
def test_airflow_has_the_policy_in_make_up(tmp_path, monkeypatch):
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    program = """
from types import SimpleNamespace
from airflow.settings import task_instance_mutation_hook
ti = SimpleNamespace(task=SimpleNamespace(backfill_pool="past"), run_id="backfill__x", pool="a")
task_instance_mutation_hook(task_instance=ti, dag_run=None)
print(ti.pool)
"""
    command = [sys.executable, "-c", program]
    with open_place("file") as place:
        done = subprocess.run(command, env=place.env, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["past"], done.stderr


@pytest.mark.parametrize(
    ("run_id", "run_type", "pool"),
    [
        ("backfill__x", None, "past"),
        ("my-own-name", "backfill", "past"),
        ("manual__x", None, "tonight"),
        (None, None, "tonight"),
    ],
)
def test_it_answers_also_before_the_dag_run_is_known(run_id, run_type, pool):
    task = SimpleNamespace(backfill_pool="past")
    for known, expected in ((task, pool), (SimpleNamespace(), "tonight"), (None, "tonight")):
        ti = SimpleNamespace(task=known, run_id=run_id, pool="tonight")
        dag_run = run_type and SimpleNamespace(run_type=run_type, conf=None)
        task_instance_mutation_hook(ti, dag_run=dag_run)
        assert ti.pool == expected
