"""Options of Airflow beside a report: handed on to DAG and tasks, refused where they would break
the day; and how often tasks are tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from airflow.sdk import DAG, CronTriggerTimetable
from airflow.sdk.exceptions import AirflowFailException
from airflow.serialization.serialized_objects import DagSerialization

from forerun.airflow import ProgressiveTaskGroup, deadline_alerts, progressive_dag
from forerun.airflow.day import report_date
from forerun.airflow.retries import RETRIES, RETRY_DELAY, retries_of
from forerun.airflow.tasks import submit
from forerun.airflow.tasks.units import units_of
from forerun.airflow.watching.alerting import EarlyRunTicket
from forerun.include.reports.period import Monthly, PeriodsFrom, Weekly
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import DueOn, SpecError
from tests.airflow.reports import sales_report
from tests.airflow.test_dags import _python

START = datetime(2026, 1, 1, tzinfo=UTC)


def alarm(context):
    """A callback."""


def dag_of(**options):
    dag = progressive_dag(sales_report(), start_date=START, **options)
    DagSerialization.serialize_dag(dag)
    return dag


def test_what_the_dag_takes_is_the_dag_s():
    access = {"analysts": {"DAGs": {"can_read"}}}
    dag = dag_of(
        max_active_runs=1, catchup=True, on_failure_callback=alarm, access_control=access,
        end_date=datetime(2027, 1, 1, tzinfo=UTC), max_active_tasks=4, is_paused_upon_creation=True,
        dagrun_timeout=timedelta(hours=40), description="Mine", owner_links={"forerun": "https://o"},
    )  # fmt: skip
    assert (dag.max_active_runs, dag.catchup, dag.max_active_tasks) == (1, True, 4)
    assert (dag.on_failure_callback, dag.access_control) == (alarm, access)
    assert (dag.description, dag.is_paused_upon_creation) == ("Mine", True)
    assert dag.dagrun_timeout == timedelta(hours=40)
    # The same callback is one of tasks, too: there it is given by default_args.
    assert not any(alarm in task.on_failure_callback for task in dag.tasks)


def test_what_tasks_take_is_every_task_s():
    dag = dag_of(
        pool="reports", queue="q", priority_weight=7, retries=4, owner="team",
        default_args={"on_failure_callback": alarm, "retry_delay": 60},
        execution_timeout=timedelta(hours=1),
    )  # fmt: skip
    for task in dag.tasks:
        assert (task.pool, task.queue, task.priority_weight) == ("reports", "q", 7)
        assert (task.retries, task.retry_delay) == (4, timedelta(minutes=1))
        assert (task.owner, task.on_failure_callback[0]) == ("team", alarm)
        # Beside the author's own: a ticket for an early run, the error of any other that matters.
        early, watch = task.task_id.startswith(("run_1.", "run_2.")), task.task_id == "watch"
        (*ours,) = (getattr(one, "__name__", "ticket") for one in task.on_failure_callback[1:])
        assert ours == ([] if watch else ["ticket"] if early else ["failed"]), task.task_id
        assert not early or isinstance(task.on_failure_callback[1], EarlyRunTicket)
        # A wait lasts as long as the day does, and so does the watch.
        waits = task.task_id.endswith(("wait", "watch"))
        assert task.execution_timeout == (None if waits else timedelta(hours=1)), task.task_id
    assert {task.owner for task in dag_of().tasks} == {"forerun"}


def test_what_the_report_has_is_added_to_what_is_given():
    dag = dag_of(tags=["a"], params={"mine": 1}, doc_md="About it.", default_args=None)
    assert set(dag.tags) == {"forerun", "a"}
    assert dag.params.dump() == {
        "mine": 1,
        "report_date": None,
        "mode": "auto",
        "days": None,
        "dry_run": False,
    }
    assert dag.doc_md.startswith("About it.\n\n")
    assert "spec " in dag.doc_md


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"depends_on_past": True}, "yesterday would hold up every day"),
        ({"default_args": {"depends_on_past": True}}, "yesterday would hold up every day"),
        ({"wait_for_downstream": True}, "yesterday"),
        ({"trigger_rule": "all_success"}, "must not hold up the runs after it"),
        ({"default_args": {"trigger_rule": "all_done"}}, "publishing must wait for the checks"),
        ({"fail_fast": True}, "would end the day"),
        ({"do_xcom_push": False}, "tell each other by XCom"),
        ({"outlets": []}, "add a task of your own"),
        ({"inlets": []}, "sources of the report"),
        ({"dagrun_timeout": timedelta(hours=29)}, "before the deadline .* 1 day, 6:00:00"),
        ({"params": {"mode": "x"}}, "field of every report's trigger form"),
        ({"tags": "sales"}, r"\['sales'\]"),
        ({"mode": "fast"}, "auto, replay, progressive, batch"),
        ({"max_active_run": 1}, "Do you mean max_active_runs"),
        ({"wibble": 1}, "nobody takes the option wibble"),
    ],
)
def test_what_would_break_the_day_is_refused_with_the_reason(options, words):
    with pytest.raises(SpecError, match=words):
        dag_of(**options)


def test_a_timeout_is_after_every_deadline_of_the_calendar():
    spec = sales_report(calendar=(DueOn(at="81:00", weekdays=("fri",)),))
    with pytest.raises(SpecError, match="3 days, 9:00:00 after its start"):
        progressive_dag(spec, start_date=START, dagrun_timeout=timedelta(hours=40))
    doc = progressive_dag(spec, start_date=START, dagrun_timeout=timedelta(hours=90)).doc_md
    assert "Due at 30:00; 81:00 on fri (UTC)" in doc


def test_what_changes_nothing_is_not_refused():
    assert dag_of(depends_on_past=False, fail_fast=False, do_xcom_push=True)


def test_a_group_takes_them_too_and_looks_at_the_dag_it_is_in():
    with DAG("mine", start_date=START, schedule=None, default_args={"retries": 7}) as dag:
        ProgressiveTaskGroup(
            sales_report(), group_id="g", pool="reports", tooltip="it", default_args={"queue": "q"}
        )
    tasks = [task for task in dag.tasks if task.task_id.startswith("g.")]
    assert {(task.pool, task.queue, task.retries) for task in tasks} == {("reports", "q", 7)}
    assert dag.task_group.children["g"].tooltip == "it"
    with (
        DAG("past", start_date=START, schedule=None, default_args={"depends_on_past": True}),
        pytest.raises(SpecError, match="yesterday"),
    ):
        ProgressiveTaskGroup(sales_report())
    with (
        DAG("other", start_date=START, schedule=None),
        pytest.raises(SpecError, match="nobody takes the option catchup"),
    ):
        ProgressiveTaskGroup(sales_report(), catchup=True)


class TestRetries:
    def test_every_task_is_tried_again_soon(self):
        for task in dag_of().tasks:
            assert (task.retries, task.retry_delay) == (RETRIES, RETRY_DELAY), task.task_id

    def test_what_the_author_says_holds_also_if_it_is_nothing(self):
        given = (
            ({"retries": 0}, (0, RETRY_DELAY)),
            ({"default_args": {"retries": 0, "retry_delay": 5}}, (0, timedelta(seconds=5))),
            ({"retry_delay": timedelta(minutes=9)}, (RETRIES, timedelta(minutes=9))),
        )
        for options, expected in given:
            assert {(t.retries, t.retry_delay) for t in dag_of(**options).tasks} == {expected}

    @pytest.mark.airflow
    def test_what_the_deployment_says_holds(self, airflow_home):
        code = (
            "from tests.airflow.test_options import dag_of\n"
            "print({(t.retries, t.retry_delay.total_seconds()) for t in dag_of().tasks})"
        )
        set_for_all = {
            "AIRFLOW__CORE__DEFAULT_TASK_RETRIES": "5",
            "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "77",
        }
        assert _python(code, **set_for_all) == "{(5, 77.0)}"

    def test_the_pauses_are_the_longest_that_airflow_may_make(self):
        def pauses(**options):
            return retries_of(dag_of(**options).get_task("run_3.wait"), "run_3.run")

        assert pauses() == Retries(count=2, pauses_s=60.0)
        assert pauses(retries=3, retry_delay=100) == Retries(count=3, pauses_s=300.0)
        doubling = {"retries": 3, "retry_delay": 100, "retry_exponential_backoff": 2}
        assert pauses(**doubling).pauses_s == 2 * (100 + 200 + 400)
        assert (
            pauses(**doubling, max_retry_delay=timedelta(seconds=300)).pauses_s == 200 + 300 + 300
        )

    def test_an_early_run_is_not_tried_again_into_the_time_of_the_next(self, monkeypatch):
        task = dag_of().get_task("run_1.run")
        opened = {"day": "2026-03-01", "generation": "1", "mode": "auto", "dry_run": False}

        def tried(number, hour, mode="auto", task=task):
            moment = datetime(2026, 3, 1, hour, tzinfo=UTC)
            monkeypatch.setattr(submit, "utc_now", lambda: moment)
            answers = {**opened, "mode": mode}
            ti = SimpleNamespace(try_number=number, xcom_pull=lambda task_ids: answers)
            known = {"ti": ti}
            task._refuse_late_try(known, units_of(task.step, known))

        tried(1, 17)  # late, but the first: whether it starts at all, the wait has decided
        tried(2, 15)
        tried(2, 17, mode="progressive")
        tried(2, 17, task=dag_of().get_task("run_3.run"))
        with pytest.raises(AirflowFailException, match="the time of the next run has come"):
            tried(2, 16)


@pytest.mark.parametrize(
    "schedule",
    ["@weekly", "@monthly", "@hourly", "0 0 * * 1", "0 0 1 * *", "*/5 * * * *", "0 0,12 * * *",
     "0 0 * 1 *", timedelta(days=7), timedelta(hours=1)],
)  # fmt: skip
def test_a_schedule_that_is_not_daily_is_refused(schedule):
    with pytest.raises(SpecError, match="is not daily") as raised:
        dag_of(schedule=schedule)
    assert "CronTriggerTimetable" in raised.value.hint


@pytest.mark.parametrize(
    "schedule",
    ["report", "daily", "@daily", None, "0 2 * * *", "30 0 * * 1-5", "0 0 * * mon,wed",
     timedelta(days=1),
     CronTriggerTimetable("0 0 * * 1", timezone="UTC")],
)  # fmt: skip
def test_a_daily_schedule_is_taken(schedule):
    assert dag_of(schedule=schedule).dag_id == "revenue"


@pytest.mark.parametrize(
    ("period", "schedule", "cron"),
    [
        (Weekly(), "report", "0 0 * * 1"),
        (Weekly(starts="sun"), "report", "0 0 * * 0"),
        (Monthly(), "report", "0 0 1 * *"),
        (Monthly(months=3), "report", "0 0 1 */3 *"),
        (Monthly(months=12), "report", "0 0 1 1 *"),
        (Weekly(), "30 1 * * MON", "30 1 * * MON"),
        (Weekly(starts="sun"), "@weekly", "@weekly"),
        (Weekly(starts="sun"), "0 0 * * 7", "0 0 * * 7"),
        (Monthly(), "@monthly", "@monthly"),
    ],
)
def test_a_report_with_a_period_runs_when_it_begins(period, schedule, cron):
    dag = progressive_dag(
        sales_report(period=period, timezone="Europe/Berlin"), start_date=START, schedule=schedule
    )
    DagSerialization.serialize_dag(dag)
    made = dag.schedule
    assert (made.expression if schedule == "report" else made) == cron
    if schedule == "report":
        assert str(made.timezone) == "Europe/Berlin"


def test_periods_of_any_calendar_run_on_the_days_on_which_they_begin():
    spec = sales_report(period=PeriodsFrom(dates=("2026-02-01", "2026-03-01", "2026-03-29")))
    dag = progressive_dag(spec, start_date=START)
    DagSerialization.serialize_dag(dag)
    assert [str(at.date()) for at in dag.schedule.event_dates] == ["2026-02-01", "2026-03-01"]


@pytest.mark.parametrize(
    ("period", "schedule"),
    [
        (Weekly(), "daily"), (Weekly(), "@weekly"), (Weekly(), "0 0 * * 2"),
        (Weekly(), "0 0 * * *"),
        (Monthly(), "@weekly"), (Monthly(months=3), "@monthly"), (Monthly(), "0 0 2 * *"),
        (Monthly(), "* 0 1 * *"), (Weekly(), timedelta(days=7)), (Weekly(), "0 0"),
        (PeriodsFrom(dates=("2026-02-01", "2026-03-01")), "@monthly"),
    ],
)  # fmt: skip
def test_a_schedule_that_does_not_fit_the_period_is_refused(period, schedule):
    with pytest.raises(SpecError, match="does not begin each period") as raised:
        progressive_dag(sales_report(period=period), start_date=START, schedule=schedule)
    assert "Leave schedule out" in raised.value.hint


def test_a_deadline_alert_counts_from_the_start_of_the_period():
    (alert,) = deadline_alerts(sales_report(period=Monthly()), notify="tests.airflow.pager.send")
    # The shortest month, and an hour ahead; the rest is waited for.
    assert alert.interval == timedelta(days=27, hours=29)


def test_the_date_of_a_dag_run_is_the_last_day_of_its_period():
    spec = sales_report(period=Weekly())

    def dated(moment, named=None, kind="scheduled"):
        run = SimpleNamespace(run_type=kind, logical_date=moment, run_after=moment)
        return str(report_date({"dag_run": run, "params": {"report_date": named}}, spec))

    assert dated(datetime(2026, 3, 2, tzinfo=UTC)) == "2026-03-08"
    assert dated(datetime(2026, 3, 8, 23, tzinfo=UTC)) == "2026-03-08"
    assert dated(datetime(2026, 3, 9, tzinfo=UTC)) == "2026-03-15"
    assert dated(datetime(2026, 3, 9, tzinfo=UTC), "2026-02-25") == "2026-03-01"
