"""The tasks of a run without Airflow around them: what they refuse, and how they say it."""

from __future__ import annotations

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

from forerun_airflow.day import explained
from forerun_airflow.publish import CheckResult, PublishReport
from forerun_airflow.submit import SubmitRun
from forerun_airflow.tasks import OpenDay, PlanRun
from include.report import SpecError
from include.state.store import StoreDeniedError, StoreDownError
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
    return PlanRun(task_id="plan", spec=spec, run=run, day_task="open_day")


def opening(spec, **more):
    return OpenDay(task_id="open_day", spec=spec).execute(context({}, **more))


def test_each_try_of_opening_a_day_opens_a_generation(place):
    assert opening(report(place)) == {**OPENED, "mode": "single"}
    assert opening(report(place))["generation"] == "2"


def test_a_backfill_and_a_report_date(place):
    opened = opening(report(place), run_type="backfill", params={"report_date": "2099-01-01"})
    assert (opened["day"], opened["mode"]) == ("2099-01-01", "single")
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
    planned = task.execute(context({"open_day": OPENED}))
    assert planned["submit"] is True
    assert planned["plan"].startswith(f"file://{place}/store/reports/revenue/{DAY}/1/plans/run-3-")
    assert task.plan_uri == planned["plan"]
    assert all(isinstance(value, str) for pair in planned["conf"] for value in pair)
    # An hour before the deadline at six: nothing suggests that the final run takes longer.
    assert planned["latest_safe_start"] == "2026-03-02T05:00:00+00:00"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sql": "SELECT item FROM nowhere"}, "nowhere"),
        ({"sql": "SELECT colour FROM sales"}, "colour"),
        ({"sql": "SELEC item FROM sales"}, "SELEC"),
    ],
)
def test_bad_sql_fails_for_good_and_says_where(place, changes, words):
    spec = report(place, **changes)
    opening(spec)
    with pytest.raises(AirflowFailException, match=words) as caught:
        planning(spec).execute(context({"open_day": OPENED}))
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
        PublishReport(task_id="publish", spec=spec, day_task="open_day", wait_task="w", run=3),
    ):
        with pytest.raises(AirflowFailException, match="has not made a result"):
            task.execute(context({"open_day": OPENED}))
    assert not (place / "store" / "results").exists()


def test_a_dry_run_is_neither_checked_nor_submitted(place):
    spec = report(place)
    opening(spec)
    dry = {**OPENED, "dry_run": True}
    planned = planning(spec, run=1).execute(context({"open_day": dry}))
    assert planned["submit"] is False
    with pytest.raises(AirflowSkipException, match="dry run"):
        submitting().execute(context({"run_1.plan": planned}))
    with pytest.raises(AirflowSkipException, match="dry run"):
        CheckResult(task_id="check", spec=spec, day_task="open_day", run=3).execute(
            context({"open_day": dry})
        )


def submitting(**more):
    fixed = {"spec": sales_report(), "day_task": "open_day", "plan_task": "run_1.plan", "run": 1}
    return SubmitRun(task_id="run", **fixed, **more)


def test_a_missing_spark_connection_is_not_a_yarn_cluster():
    planned = {"submit": True, "plan": "file:///x", "conf": [], "why": ""}
    with pytest.raises(AirflowFailException, match="no Airflow connection no_such_spark"):
        submitting(conn_id="no_such_spark").execute(context({"run_1.plan": planned}))


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
