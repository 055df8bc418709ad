"""Days on a Spark Connect server that an Airflow connection names: no application is started."""

from __future__ import annotations

import json
import os
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from forerun.airflow import ReportGroup, group_dag
from forerun.airflow.tasks import child_job
from forerun.airflow.tasks.endpoint import endpoint_client
from forerun.airflow.tasks.plan import PlanUnits
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.include.engines import ENGINES
from forerun.include.oncall.day.records import read_day_records
from forerun.include.oncall.night.rows import cost_of
from forerun.include.oncall.savings import read_savings
from forerun.include.reports.values.clock import parse_day
from forerun.include.runs.prepare import read_pointer
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.commits import read_commit
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from tests.airflow.test_repairing import Dag, deliver
from tests.airflow.test_tasks import DAY, built, place, report
from tests.airflow.test_wait import at
from tests.spark.standalone import connect_server

__all__ = ["place"]
SERVER = "night_server"
TOKEN = "hush"


@pytest.fixture
def connection(monkeypatch):
    """Makes the connection of Airflow that the DAGs here name."""

    def make(**given):
        monkeypatch.setenv(f"AIRFLOW_CONN_{SERVER.upper()}", json.dumps(given))

    return make


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with connect_server(tmp_path_factory.mktemp("server")) as (address, _):
        yield address


def of_server(address):
    host, port = address.removeprefix("sc://").split(":")
    return {"conn_type": "spark_connect", "host": host, "port": int(port)}


@pytest.mark.spark
@pytest.mark.slow
def test_a_day_of_early_runs_and_its_repair_are_done_by_the_server(place, server, connection):
    spec = report(place)
    dag = Dag(spec, place, engine="connect", conn_id=SERVER)
    connection(**of_server(server))
    dag.do("open_day", mode="progressive")
    for run in (1, 2, 3):
        deliver(place, f"more-{run}", a=10 * run, c=run)
        for step in ("wait", "plan", "run"):
            dag.do(f"run_{run}.{step}")
    dag.do("check")
    dag.do("publish")
    store, at = open_store(spec.store), Generation(spec.name, DAY, "1")
    commits = [read_commit(store, at, run) for run in (1, 2, 3)]
    assert {commit.metrics.engine for commit in commits} == {"connect"}
    assert published(spec) == {"a": (61, 4), "b": (2, 1), "c": (6, 3)}
    plan = StoredPlan.read(f"{store.root}/{commits[0].plan}").plan
    assert plan.run.estimated_cost < ENGINES["spark"].prices.run_start
    assert not any(family.buckets for family in plan.families)
    # Nobody knows what the server's executors took: that is no saving, and no loss.
    assert read_savings(store, spec.name).days == ()
    assert cost_of(read_day_records(store, spec.name, DAY)).measured == 0

    deliver(place, "late", b=40)
    dag.do("open_day", mode="repair")
    for step in ("run_3.wait", "run_3.plan", "run_3.run", "check"):
        dag.do(step)
    repaired = read_commit(store, Generation(spec.name, DAY, "2"), 4)
    assert repaired.metrics.engine == "connect"
    plan = StoredPlan.read(f"{store.root}/{repaired.plan}").plan
    assert plan.run.estimated_cost < ENGINES["spark"].prices.run_start


@pytest.mark.spark
def test_the_days_of_a_backfill_share_a_client_of_the_server(place, server, connection):
    other = "2026-03-02"
    folder = place / "data" / "sales" / other
    folder.mkdir()
    pq.write_table(pa.table({"item": ["z"], "amount": [7]}), folder / "part.parquet")
    spec = report(place)
    dag = Dag(spec, place, engine="connect", conn_id=SERVER)
    connection(**of_server(server))
    dag.do("open_day", mode="backfill", days=[DAY, other])
    for step in ("run_3.wait", "run_3.plan", "run_3.run", "check", "publish"):
        dag.do(step)
    assert published(spec) == {"a": (1, 1), "b": (2, 1)}
    assert published(spec, other) == {"z": (7, 1)}
    store = open_store(spec.store)
    commit = read_commit(store, Generation(spec.name, other, "1"), 3)
    assert (commit.metrics.engine, commit.metrics.runs_in_application) == ("connect", 2)


class Night(Dag):
    """A DAG run of a group, task by task."""

    def __init__(self, reports, folder, **options):
        super().__init__(reports[0], folder)
        group = ReportGroup(name="night", reports=reports)
        self.dag = group_dag(group, start_date=at(0), **options)

    def task(self, task_id):
        return self.dag.get_task(task_id)


@pytest.mark.spark
def test_the_reports_of_a_group_share_a_client_of_the_server(place, server, connection):
    reports = (report(place, name="a"), report(place, name="b"))
    night = Night(reports, place, engine="connect", conn_id=SERVER)
    connection(**of_server(server))
    for spec in reports:
        night.do(f"{spec.name}.open_day", mode="batch")
    for step in ("wait", "plan", "run"):
        night.do(f"at_3.{step}")
    store = open_store(reports[0].store)
    for spec in reports:
        for step in ("run_3.wait", "run_3.plan", "check", "publish"):
            night.do(f"{spec.name}.{step}")
        assert published(spec) == {"a": (1, 1), "b": (2, 1)}
        commit = read_commit(store, Generation(spec.name, DAY, "1"), 3)
        assert (commit.metrics.engine, commit.metrics.runs_in_application) == ("connect", 2)


def published(spec, day=DAY):
    pointer = read_pointer(open_store(spec.store), spec.name, parse_day(day))
    rows = pq.read_table(pointer.folder.removeprefix("file://")).to_pylist()
    return {row["item"]: (row["revenue"], row["n"]) for row in rows}


@pytest.mark.spark
def test_a_server_that_is_down_fails_the_run_and_says_so(place, connection):
    connection(conn_type="spark_connect", host="127.0.0.1", port=9)
    dag = Dag(report(place), place, engine="connect", conn_id=SERVER)
    dag.do("open_day", mode="batch")
    for step in ("wait", "plan"):
        dag.do(f"run_3.{step}")
    with pytest.raises(AirflowException, match="no Spark Connect server answers"):
        dag.do("run_3.run")


@pytest.mark.parametrize(
    ("given", "said"),
    [(None, "there is no Airflow connection"),
     ({"conn_type": "spark", "host": "local[2]"}, "is of type spark, and engine connect needs")],
)  # fmt: skip
def test_a_connection_to_no_such_server_says_what_to_make(connection, given, said):
    if given:
        connection(**given)
    with pytest.raises(AirflowFailException, match=said) as refused:
        endpoint_client(SERVER)
    assert "hint:" in str(refused.value)


def test_nothing_is_submitted_to_a_server(place, connection):
    connection(conn_type="spark_connect", host="host")
    task = built(report(place), "run_3.run", conn_id=SERVER)
    with pytest.raises(AirflowFailException, match='give the DAG engine="connect"'):
        task.make_ready(str(place / "store"), tiny=True)


def test_every_task_of_a_group_knows_the_engine(place):
    reports = (report(place, name="a"), report(place, name="b"))
    dag = group_dag(ReportGroup(name="night", reports=reports), start_date=at(0), engine="connect")
    knowing = (PlanUnits, SubmitUnits)
    found = [task.engine for task in dag.tasks if isinstance(task, knowing)]
    assert found == ["connect"] * (3 * 2 + 2 * 2)


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Takes a text for the job of runs."""

    def take(text):
        (tmp_path / "job.py").write_text(text)
        monkeypatch.setattr(child_job, "JOB", tmp_path / "job.py")

    return take


def test_a_token_is_in_no_command_line(connection, job):
    connection(
        conn_type="spark_connect", host="sc://host", port=1, login="me;x", password=TOKEN,
        extra={"use_ssl": True},
    )  # fmt: skip
    job("import os, sys; print(sys.argv[1:], os.environ['SPARK_CONNECT_AUTHENTICATE_TOKEN'])")
    said = []
    endpoint_client(SERVER).run(["--plan", "x"], said.append)
    assert said == [
        f"['--plan', 'x', '--master', 'sc://host:1/;user_id=me%3Bx;use_ssl=true'] {TOKEN}"
    ]
    assert TOKEN not in os.environ.values()


def test_a_task_that_is_killed_ends_its_job(connection, job):
    connection(conn_type="spark_connect", host="host")
    job("import time; print('at work', flush=True); time.sleep(600)")
    client, said = endpoint_client(SERVER), []
    begun = time.monotonic()

    def say(line):
        said.append(line)
        threading.Thread(target=client.end).start()

    with pytest.raises(AirflowException, match="ended by signal 15"):
        client.run([], say)
    assert said == ["at work"]
    assert time.monotonic() - begun < 60
