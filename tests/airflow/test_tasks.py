"""The tasks of a run without Airflow around them: what they refuse, and how they say it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
)

from forerun.airflow import progressive_dag
from forerun.airflow.day import explained
from forerun.airflow.tasks.plan import PlanUnits
from forerun.airflow.tasks.publish import CheckResult, PublishReport
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.tasks.units import alone
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import SpecError, decode_report
from forerun.include.state.given_up import GivenUp, record_given_up
from forerun.include.state.layout import Generation, spec_key
from forerun.include.state.records import GenerationRecord, Manifest, OpenedBy, RunCommit, decode
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import StoreDeniedError, StoreDownError
from tests.airflow.reports import sales_report

DAY = "2026-03-01"
OPENED = {"day": DAY, "generation": "1", "mode": "auto", "dry_run": False}


def context(xcoms, run_type="manual", params=None):
    def pull(task_ids):
        return xcoms.get(task_ids)

    ti = SimpleNamespace(xcom_pull=pull, id=uuid4(), try_number=1, dag_id="d")
    run = SimpleNamespace(
        dag_id="d",
        run_id="r",
        run_type=run_type,
        logical_date=datetime(2026, 3, 1, tzinfo=UTC),
        run_after=None,
    )
    return {"ti": ti, "dag_run": run, "params": params or {}}


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "data" / "sales" / DAY
    folder.mkdir(parents=True)
    table = pa.table({"item": ["a", "b"], "amount": pa.array([1, 2], pa.int64())})
    pq.write_table(table, folder / "part.parquet")
    return tmp_path


def report(place, **changes):
    return sales_report(data=str(place / "data"), store=str(place / "store"), **changes)


def planning(spec, run=3):
    return built(spec, f"run_{run}.plan")


def built(spec, task_id, **options):
    """A task of the report's DAG."""
    dag = progressive_dag(spec, start_date=datetime(2026, 1, 1, tzinfo=UTC), **options)
    return dag.get_task(task_id)


def opening(spec, **more):
    return built(spec, "open_day").execute(context({}, **more))


def test_each_try_of_opening_a_day_opens_a_generation(place):
    assert opening(report(place)) == {**OPENED, "mode": "single"}
    assert opening(report(place))["generation"] == "2"


def test_an_opened_day_says_who_opened_it_and_what_the_report_was(place):
    spec = report(place)
    opening(spec)
    store, at = open_store(spec.store), Generation("revenue", DAY, "1")
    record = decode(GenerationRecord, store.get(at.record), at.record)
    assert record.opened_by == OpenedBy(
        dag_id="d", run_id="r", mode="single", group="", retries=Retries(count=2, pauses_s=60.0)
    )
    assert record.opened_by.prefix == ""
    assert decode_report(store.get(spec_key("revenue", record.spec))) == spec


def test_a_dry_run_opens_nothing(place):
    assert opening(report(place), params={"dry_run": True})["generation"] == "1"
    assert not (place / "store").exists()


def test_a_backfill_and_a_report_date(place):
    opened = opening(report(place), run_type="backfill", params={"report_date": "2099-01-01"})
    assert (opened["day"], opened["mode"]) == (DAY, "single"), "its days are its own"
    opened = opening(report(place), params={"report_date": "2099-01-01"})
    assert opened["mode"] == "auto"


@pytest.mark.parametrize("params", [{"report_date": "yesterday"}, {"mode": "fast"}])
def test_bad_answers_in_the_form(place, params):
    with pytest.raises(AirflowFailException, match="hint:"):
        opening(report(place), params=params)


def test_planning_returns_what_the_run_needs(place):
    spec = report(place)
    opening(spec)
    task = planning(spec)
    planned = task.execute(context({"open_day": OPENED, "run_3.wait": {"revenue": []}}))
    assert planned["submit"] is True
    (plan,) = planned["plans"].values()
    assert plan.startswith(f"file://{place}/store/reports/revenue/{DAY}/1/plans/run-3-")
    assert planned["tiny"] is True
    # An hour before the deadline at six: nothing suggests that the final run takes longer.
    assert planned["latest_safe_start"] == "2026-03-02T05:00:00+00:00"


@pytest.mark.parametrize(
    ("answer", "incomplete"),
    [
        ([], []),
        ([["sales", "no _SUCCESS"]], [("sales", "no _SUCCESS")]),
        # Somebody marked the wait as done.
        (None, [("sales", "nobody has looked whether it is complete: run_3.wait has no answer")]),
    ],
)
def test_a_final_run_is_planned_with_what_its_wait_has_let_go_on(place, answer, incomplete):
    spec = report(place)
    opening(spec)
    said = None if answer is None else {"revenue": answer}
    planning(spec).execute(context({"open_day": OPENED, "run_3.wait": said}))
    at = Generation("revenue", DAY, "1")
    manifest = decode(Manifest, open_store(spec.store).get(at.manifest(3)), "manifest")
    assert manifest.incomplete == tuple(incomplete)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sql": "SELECT item FROM nowhere"}, "nowhere"),
        ({"sql": "SELECT colour FROM sales"}, "colour"),
        ({"sql": "SELEC item FROM sales"}, "SELEC"),
    ],
)
def test_bad_sql_fails_for_good_and_says_where(place, changes, words):
    """Also where nothing has looked at it before: the DAG file of such a report does not load."""
    spec = report(place, **changes)
    opening(report(place))
    plan = PlanUnits(
        task_id="plan",
        step=alone(spec, 3, "open_day"),
        wait_task="run_3.wait",
    )
    with pytest.raises(AirflowFailException, match=words) as caught:
        plan.execute(context({"open_day": OPENED}))
    assert caught.value.__cause__ is None


def test_a_source_without_files(place):
    spec = report(place)
    opening(spec)
    with pytest.raises(AirflowFailException, match="source sales has no files"):
        planning(spec).execute(context({"open_day": {**OPENED, "day": "2026-03-02"}}))


def test_publishing_before_the_final_run(place):
    spec = report(place)
    opening(spec)
    for task in (
        CheckResult(task_id="check", spec=spec, day_task="open_day", run=3),
        PublishReport(task_id="publish", spec=spec, day_task="open_day", run=3),
    ):
        with pytest.raises(AirflowFailException, match="has not made a result"):
            task.execute(context({"open_day": OPENED}))
    assert not (place / "store" / "results").exists()


def test_a_dry_run_is_neither_checked_nor_submitted(place):
    spec = report(place)
    opening(spec)
    dry = {**OPENED, "dry_run": True}
    planned = planning(spec, run=1).execute(context({"open_day": dry}))
    assert (planned["submit"], planned["plans"]) == (False, {})
    assert not list((place / "store").rglob("plans"))
    with pytest.raises(AirflowSkipException, match="dry run"):
        submitting().execute(context({"run_1.plan": planned}))
    with pytest.raises(AirflowSkipException, match="dry run"):
        CheckResult(task_id="check", spec=spec, day_task="open_day", run=3).execute(
            context({"open_day": dry})
        )


KEY = f"revenue {DAY}"
PLANNED = {"submit": True, "plans": {KEY: "file:///x"}, "tiny": True, "why": ""}


def submitting(spec=None, **more):
    step = alone(spec or sales_report(), 1, "open_day")
    return SubmitUnits(task_id="run", step=step, plan_task="run_1.plan", **more)


def test_a_missing_spark_connection_is_not_a_yarn_cluster():
    with pytest.raises(AirflowFailException, match="no Airflow connection no_such_spark"):
        submitting(conn_id="no_such_spark").execute(
            context({"run_1.plan": PLANNED, "open_day": OPENED})
        )


@pytest.mark.parametrize(
    "connection",
    [
        '{"conn_type": "spark", "host": "k8s://https://host", "port": 6443}',
        '{"conn_type": "spark", "host": "k8s://https://host", "extra": {"namespace": "n"}}',
        '{"conn_type": "k8s", "host": "https://host"}',
        "k8s://https%3A%2F%2Fhost:6443?deploy-mode=cluster",
    ],
)
def test_a_master_on_kubernetes_is_refused_by_the_name_of_what_is_missing(monkeypatch, connection):
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES", connection)
    with pytest.raises(AirflowFailException, match="apache-airflow-providers-cncf-kubernetes"):
        submitting(conn_id="kubernetes").execute(
            context({"run_1.plan": PLANNED, "open_day": OPENED})
        )


def test_python_drivers_that_standalone_does_not_run(monkeypatch):
    """Spark refuses them after a start of its JVM, in words that name no connection."""
    extra = {"deploy-mode": "cluster"}
    connection = {"conn_type": "spark", "host": "spark://h", "port": 7077, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_STANDALONE", json.dumps(connection))
    with pytest.raises(AirflowFailException, match="standalone runs no Python driver") as caught:
        submitting(conn_id="standalone").execute(
            context({"run_1.plan": PLANNED, "open_day": OPENED})
        )
    assert "hint: leave deploy-mode out" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.bucket.sales.secret.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.ssl.keyStorePassword",
    ],
)
def test_secrets_are_kept_off_the_command_line(name):
    with pytest.raises(SpecError, match="command line that is logged") as caught:
        submitting(spark_conf={name: "hidden-value"})
    assert "hidden-value" not in str(caught.value)


def test_ordinary_configuration_is_taken():
    conf = {"spark.executor.memory": "2g", "spark.kubernetes.driver.secrets.keys": "/etc/keys"}
    assert submitting(spark_conf=conf).conf == conf


def test_a_run_that_was_not_planned():
    with pytest.raises(AirflowFailException, match=r"see run_1\.plan"):
        submitting().execute(context({}))


def test_only_a_store_that_is_down_is_worth_a_retry():
    with pytest.raises(AirflowException) as caught, explained():
        raise StoreDownError("no answer", hint="wait")
    assert not isinstance(caught.value, AirflowFailException)
    with pytest.raises(AirflowFailException, match=r"\[store-denied\] no"), explained():
        raise StoreDeniedError("no")


def test_a_run_that_has_given_up_is_skipped_and_says_why(place, monkeypatch):
    at = Generation("revenue", DAY, "1")
    store = open_store((place / "store").as_uri())
    done = RunCommit(run=1, base=0, attempt="a1", plan=at.plan(1, "x"), committed_at="")
    record_given_up(store, at, GivenUp(why="run 1 has given up: too dear", done=done))
    monkeypatch.setattr(SubmitUnits, "_check_connection", lambda _self: "local[2]")
    monkeypatch.setattr(SubmitUnits, "submit", lambda *_: None)
    planned = {**PLANNED, "plans": {KEY: f"{store.root}/{at.plan(1, 'x')}"}}
    with pytest.raises(AirflowSkipException, match="run 1 has given up: too dear"):
        submitting(report(place)).execute(context({"run_1.plan": planned, "open_day": OPENED}))


def test_a_store_error_while_looking_why_a_run_failed_hides_not_that_it_may_be_tried_again(
    place, monkeypatch
):
    """The plan's store refuses to be read; Spark's failure is what counts."""
    plan = place / "store" / "reports" / "revenue" / DAY / "1" / "plans" / "run-1-x.json"

    def away(_uri):
        raise StoreDownError("the store is away", hint="Wait.")

    monkeypatch.setattr("forerun.include.runs.stored_plan.open_store", away)
    task = submitting()
    monkeypatch.setattr(SubmitUnits, "_check_connection", lambda _self: "local[2]")

    def fail(_self, _context, _plans, *_options):
        raise AirflowException("spark-submit failed")

    monkeypatch.setattr(SubmitUnits, "submit", fail)
    planned = {**PLANNED, "plans": {KEY: plan.as_uri()}}
    with pytest.raises(AirflowException, match="spark-submit failed") as caught:
        task.execute(context({"run_1.plan": planned, "open_day": OPENED}))
    assert not isinstance(caught.value, AirflowFailException)
