"""What can be told a day, when, and what the page says that it brings."""

from __future__ import annotations

import pytest

from forerun.include.days.instructions import Instruction, instruct
from forerun.include.oncall.airflow_condition import AirflowCondition
from forerun.include.oncall.day.actions import DagRunState, Situation, actions_of
from forerun.include.state.records import CheckRecord
from tests.include.oncall.dag_days import at, dag_day

FINAL = ("run_2.wait", "run_2.plan", "run_2.run", "check", "publish")
PAUSED = AirflowCondition(now=at(11), paused=frozenset({"sums"})).halt_of("sums")
LATE = ("orders: no _SUCCESS",)


@pytest.fixture
def case(tmp_path):
    found = dag_day(tmp_path)
    found.begin()
    return found


def airflow(state="running", halt=None, **tasks):
    """A DAG run of which nothing has begun but what is named, ``run_1_plan`` for ``run_1.plan``."""
    known = dict.fromkeys((*(f"run_1.{t}" for t in ("wait", "plan", "run")), *FINAL), "")
    said = {name.replace("_", ".", 2).replace(".", "_", 1): s for name, s in tasks.items()}
    return DagRunState(state=state, tasks=known | said, halt=halt)


def told(case, now, dag_run=None, missing=(), lost=False):
    records = case.read()
    situation = Situation(
        records=records,
        missing=missing,
        dag_run=None if lost else dag_run or airflow(),
        now=now,
    )
    return {action.kind: action for action in actions_of(situation)}


def tell(case, kind):
    wanted = Instruction(kind=kind, by="anna", at=at(11).isoformat(), form=kind)
    instruct(case.store, case.handle.at, wanted)


def test_a_day_of_which_nothing_is_planned(case):
    found = told(case, at(11))
    assert not found["batch"].refused
    assert found["batch"].clears == ()
    text = " ".join(found["batch"].does)
    assert "Early runs that have not begun are skipped: 1 (12:00)." in text
    assert "The final run starts at once, with the report's own text" in text
    assert "cannot be forecast: nothing is planned yet" in text
    assert "as planned, and does all that is left" in " ".join(found["skip-early"].does)
    assert found["replan"].refused.startswith("Run 1 is planned when its time comes, at 12:00")


def test_a_plan_gives_the_price_and_the_forecast(case):
    case.plan(1, at(12))
    found = told(case, at(12, 5), airflow(run_1_run="failed"))
    text = " ".join(found["batch"].does)
    plan = case.read().plan
    assert f"by estimate {plan.batch_run_cost / 1e6:,.1f} CPU s where the newest plan has" in text
    assert "Forecast: published at 12:0" in text
    assert "before the deadline" in text
    late = " ".join(told(case, at(31))["batch"].does)
    assert "AFTER the deadline" in late
    skipping = " ".join(told(case, at(12, 5))["skip-early"].does)
    assert "Forecast: published at 16:0" in skipping


def test_what_is_missing_is_said_before_batch_leaves_it_out(case):
    text = " ".join(told(case, at(17), missing=LATE)["batch"].does)
    assert "published as not complete: orders: no _SUCCESS" in text


def test_a_final_run_that_has_ended_badly_begins_again_and_one_at_work_does_not(case):
    case.make(1, at(12))
    case.plan(2, at(16))
    ended = airflow(run_2_wait="success", run_2_plan="success", run_2_run="failed")
    found = told(case, at(17), ended)
    assert found["batch"].clears == FINAL
    assert found["replan"].clears == FINAL[1:]
    assert "The final run is planned again" in found["replan"].does[0]
    assert found["skip-early"].refused == "No early run is left."
    for state in ("running", "queued", "scheduled"):
        busy = told(case, at(17), airflow(run_2_wait="success", run_2_run=state))
        assert "run_2.run is at work" in busy["batch"].refused
        assert "run_2.run is at work" in busy["replan"].refused


def test_a_dag_run_that_has_ended_is_begun_again_for_batch(case):
    found = told(case, at(17), airflow("failed"))
    assert found["batch"].clears == FINAL
    assert told(case, at(11), airflow("failed"))["skip-early"].refused.endswith("ended: failed.")


def test_an_early_run_is_planned_again_while_it_has_time(case):
    case.plan(1, at(12))
    failed = airflow(run_1_wait="success", run_1_plan="success", run_1_run="failed")
    assert told(case, at(13), failed)["replan"].clears == ("run_1.plan", "run_1.run")
    late = told(case, at(16), failed)["replan"]
    assert late.refused == "The time of the final run has come, which does it."
    tell(case, "skip-early")
    assert "anna" in told(case, at(13), failed)["replan"].refused


def test_what_is_under_way_is_not_told_again(case):
    tell(case, "skip-early")
    found = told(case, at(11))
    assert "That is under way: anna" in found["skip-early"].refused
    assert not found["batch"].refused
    tell(case, "batch")
    assert "That is under way: anna" in told(case, at(11))["batch"].refused
    ended = told(case, at(17), airflow(run_2_wait="success", run_2_run="failed"))
    assert not ended["batch"].refused, "it has failed since: it may be wanted again"


def test_a_day_that_is_over_cannot_be_told_anything(case):
    case.make(1, at(12))
    case.make(2, at(16))
    committed = told(case, at(16, 5))
    assert all(one.refused.startswith("The final run is committed") for one in committed.values())
    case.publish(at(17))
    published = told(case, at(18))
    assert all("The day is published, version" in one.refused for one in published.values())
    assert "clear its whole DAG run" in published["batch"].refused


def test_a_day_that_an_early_run_found_bad_wants_its_data_put_right(case):
    case.make(1, at(12), checks=(CheckRecord(target="orders", key="k", critical=1),))
    (refused,) = {one.refused for one in told(case, at(13)).values()}
    assert refused.startswith("A critical expectation does not hold of what an early run has read.")


def test_a_day_that_is_blocked_can_be_published_all_the_same_and_nothing_else(case):
    case.make(2, at(16), checks=(CheckRecord(target="result", key="k", critical=1),))
    (action,) = told(case, at(17), airflow(check="failed", publish="upstream_failed")).values()
    assert (action.kind, action.title) == ("publish-anyway", "Publish all the same")
    assert action.clears == ("check", "publish")
    assert action.does[0].startswith("Not published so far: run 2, result: ")
    assert told(case, at(17), airflow(check="running"))["publish-anyway"].refused
    tell(case, "publish-anyway")
    after = told(case, at(17), airflow(check="queued"))
    assert all(one.refused.startswith("The final run is committed") for one in after.values())


def test_a_dag_run_that_airflow_does_not_know_carries_nothing_out(case):
    found = told(case, at(11), lost=True)
    assert all("no DAG run r1 of DAG sums" in one.refused for one in found.values())


def test_a_paused_dag_is_said_first(case):
    found = told(case, at(11), airflow(halt=PAUSED))
    assert found["batch"].does[0] == (
        "DAG sums is paused: none of its tasks begins. Nothing of this happens before that is "
        "over. Unpause it in Airflow, or run: airflow dags unpause sums"
    )
    assert found["skip-early"].does[0] == found["batch"].does[0]


@pytest.mark.parametrize(("state", "said"), [("scheduled", "cannot begin"), ("running", "at work")])
def test_a_paused_dag_lets_only_those_tasks_end_that_run(case, state, said):
    refused = told(case, at(17), airflow(halt=PAUSED, run_2_plan=state))["batch"].refused
    assert said in refused
    assert ("Let it end" in refused) == (state == "running")
    assert ("airflow dags unpause sums" in refused) == (state == "scheduled")


def test_what_is_at_work_ends_first(case):
    case.plan(1, at(12))
    text = " ".join(told(case, at(12, 5), airflow(run_1_run="running"))["batch"].does)
    assert "starts as soon as run_1.run has ended" in text


def test_a_report_of_a_group_runs_batch_after_the_group_s_last_time_point(tmp_path):
    case = dag_day(tmp_path)
    case.begin(group="night")
    assert "works at its time points" in told(case, at(13))["batch"].refused
    assert not told(case, at(11))["skip-early"].refused
    assert not told(case, at(17))["batch"].refused


def test_an_early_run_of_a_group_is_planned_again_with_its_time_point(tmp_path):
    case = dag_day(tmp_path)
    case.begin(group="night")
    case.plan(1, at(12))
    tasks = dict.fromkeys(("at_1.wait", "at_1.plan", "at_1.run"), "success")
    failed = DagRunState(state="running", tasks={**tasks, "at_1.run": "failed"})
    found = told(case, at(13), failed)["replan"]
    assert found.clears == ("at_1.plan", "at_1.run")
    assert "what they have committed stays" in " ".join(found.does)
    busy = DagRunState(state="running", tasks={**tasks, "at_1.run": "running"})
    assert "at_1.run is at work" in told(case, at(13), busy)["replan"].refused
