"""A DAG run in mode ``backfill``: several days in one application, each published by itself."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from forerun.airflow import ProgressiveTaskGroup
from forerun.airflow.assets import days_published
from forerun.airflow.day import OpenedDay
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.tasks.units import units_of
from forerun.include.days.results import read_pointer
from forerun.include.oncall.day.records import read_day_records
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.expectations import expect
from forerun.include.reports.sources.complete_when import AssetEvent
from forerun.include.reports.values.hours import Hours
from forerun.include.state.commits import read_commit
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.simulation.running import open_runner
from tests.airflow.test_repairing import STEPS, Dag
from tests.airflow.test_tasks import DAY, built, context, place, report
from tests.airflow.test_wait import at

__all__ = ["place"]
DAYS = [DAY, "2026-03-02", "2026-03-03"]


class Range(Dag):
    """A DAG run over several days; their application is one of the small engine."""

    def __init__(self, spec, folder):
        super().__init__(spec, folder)
        self.submitted = []

    def begin(self, *days, **params):
        return self.do("open_day", mode="backfill", days=list(days), **params)

    def compute(self, monkeypatch, *, only=None, fails=False, tries=(1,)):
        def submit(_task, _context, plans, *options):
            self.submitted.append([*plans, *options])
            with open_runner("sail", self.folder, "local[1]") as runner:
                lifted = options[1] if options else ""
                runner.run(plans[:only], "run", tiny=True, lifted=lifted)
            if fails:
                raise AirflowException("spark-submit failed")

        monkeypatch.setattr(SubmitUnits, "_check_connection", lambda _self: "local[2]")
        monkeypatch.setattr(SubmitUnits, "submit", submit)
        for number in tries:
            self.tried = number
            with pytest.raises(AirflowException) if number < tries[-1] else nullcontext():
                self.do("run_3.run")


@pytest.fixture
def spec(place):
    for n, day in enumerate(DAYS[1:], 2):
        deliver(place, day, item=["a"], amount=[10 * n])
    return report(place)


def deliver(place: Path, day: str, **columns: list[object]) -> None:
    folder = place / "data" / "sales" / day
    folder.mkdir(parents=True, exist_ok=True)
    rows = pa.table({"item": columns["item"], "amount": pa.array(columns["amount"], pa.int64())})
    pq.write_table(rows, folder / "part.parquet")


def published(spec, day):
    return read_pointer(open_store(spec.store), spec.name, date.fromisoformat(day))


def test_days_share_an_application_and_each_is_published(spec, place, monkeypatch, caplog):
    caplog.set_level("INFO", logger="forerun.events")
    dag = Range(spec, place)
    opened = dag.begin(*reversed(DAYS))
    assert [list(day) for day in opened["days"]] == [[day, "1"] for day in DAYS]
    with pytest.raises(AirflowSkipException, match="a backfill is done by the tasks"):
        dag.do("run_1.wait")
    assert dag.do(STEPS[0]) == {"revenue": []}
    planned = dag.do(STEPS[1])
    assert (len(planned["plans"]), planned["submit"]) == (3, True)
    told = [json.loads(r.message) for r in caplog.records if r.name == "forerun.events"]
    assert [(one["event"], one["day"]) for one in told] == [("planned", day) for day in DAYS]
    dag.compute(monkeypatch)
    (query,) = planned["queries"]
    assert "/plans/lifted-" in query, "one query for all of them is cheaper"
    assert dag.submitted == [[*planned["plans"].values(), "--lifted", query]]
    store = open_store(spec.store)
    for day in DAYS:
        commit = read_commit(store, Generation(spec.name, day, "1"), 3)
        assert commit is not None
        assert commit.metrics.days_in_query == 3
    dag.do("check")
    told = dag.do("publish")
    assert [published(spec, day).rows for day in DAYS] == [2, 1, 1]
    assert told["day"] == DAYS[-1]
    (event,) = dag.events.values()
    assert [one["version"] for one in event["extra"]["days"]] == [
        published(spec, day).version for day in DAYS
    ]
    records = read_day_records(open_store(spec.store), spec.name, DAYS[1])
    assert records.at.generation == "1", "its page knows the day, which a DAG run has opened"
    # Cleared as a whole, it finds nothing left; cleared from the plan on, nothing to submit.
    assert dag.do(STEPS[1])["submit"] is False
    with pytest.raises(AirflowFailException, match="all of these days are published"):
        dag.begin(*DAYS)


def test_another_try_submits_what_is_not_committed(spec, place, monkeypatch):
    dag = Range(spec, place)
    dag.begin(*DAYS[:2])
    dag.do(STEPS[0])
    planned = dag.do(STEPS[1])
    plans = list(planned["plans"].values())
    with open_runner("sail", place, "local[1]") as runner:
        runner.run(plans[:1], "run", tiny=True)
    dag.compute(monkeypatch)
    left = [*plans[1:], "--lifted", *planned["queries"]]
    assert dag.submitted == [left]
    dag.do("run_3.run")
    assert dag.submitted == [left], "the task alone was cleared: nothing is left to submit"
    assert dag.begin(*DAYS[:2])["generation"] == "1", "cleared, it goes on where it was"


def test_days_that_are_over_ask_for_cores_once_and_press_nobody(spec, place):
    dag = Range(spec, place)
    answers = {"open_day": dag.begin(*DAYS)}
    cluster = Cluster(name="night", ceiling=(Hours(start="00:00", end="24:00", value=8),))
    task = built(spec, "run_3.run", cluster=cluster)
    units = units_of(task.step, context(answers))
    wanted = task._wanted(context(answers), units, None, cluster).request
    assert (wanted.report, wanted.day, wanted.final) == (spec.name, DAY, True)
    assert wanted.cores == spec.policy.cores
    assert wanted.latest_start is None


def test_where_the_last_try_fails_the_days_that_are_computed_are_published(
    spec, place, monkeypatch
):
    dag = Range(spec, place)
    dag.begin(*DAYS)
    for step in STEPS[:2]:
        dag.do(step)
    dag.compute(monkeypatch, only=1, fails=True, tries=(1, 3))
    dag.do("check")
    with pytest.raises(AirflowFailException, match=f"1 of 3 days are not published\n{DAYS[2]}"):
        dag.do("publish")
    assert [published(spec, day).rows for day in DAYS[:2]] == [2, 1]


def test_days_that_cannot_be_planned_or_published_hold_up_no_other(place, monkeypatch):
    deliver(place, DAYS[1], item=["a"], amount=[1])
    (place / "data" / "sales" / DAYS[2]).mkdir()  # it holds no files
    spec = report(
        place,
        expectations=(expect("expect_table_row_count_to_equal", value=1),),
    )
    dag = Range(spec, place)
    dag.begin(*DAYS)
    for step in STEPS[:2]:
        dag.do(step)
    dag.compute(monkeypatch)
    dag.do("check")
    with pytest.raises(AirflowFailException, match="2 of 3 days are not published") as refused:
        dag.do("publish")
    assert all(f"\n{day}: " in str(refused.value) for day in (DAY, DAYS[2]))
    assert (published(spec, DAY), published(spec, DAYS[1]).rows) == (None, 1)


def test_what_cannot_be_done_says_why_and_opens_nothing(spec, place):
    for days, said in (((), "a backfill of no days"), ((DAY, "2099-03-09"), "2099-03-09 is not")):
        with pytest.raises(AirflowFailException, match=said):
            Range(spec, place).begin(*days)
    with DAG("larger", start_date=at(0), schedule=None) as larger:
        ProgressiveTaskGroup(spec)
    opening = larger.get_task(f"{spec.name}.open_day")
    with pytest.raises(AirflowFailException, match="forerun backfill"):
        opening.execute(context({}, params={"mode": "backfill", "days": DAYS}))
    assert not (place / "store" / "reports").exists()


def test_a_dry_run_says_the_plans_and_leaves_nothing(spec, place, capfd):
    dag = Range(spec, place)
    dag.begin(*DAYS, dry_run=True)
    dag.do(STEPS[0])
    assert dag.do(STEPS[1])["submit"] is False
    said = "".join(capfd.readouterr())
    assert all(f"{day}: plan" in said for day in DAYS)
    assert not (place / "store" / "reports").exists()


def test_every_day_of_a_backfill_is_an_event_for_who_waits(spec, place):
    (source,) = spec.sources
    rule = AssetEvent(uri="forerun://report/first")
    waiting = replace(spec, sources=(replace(source, complete_when=rule),))

    class Events(dict):
        def __missing__(self, _asset):
            days = [{"day": DAYS[0], "incomplete": []}, {"day": DAYS[1], "incomplete": ["x"]}]
            return [SimpleNamespace(extra=days[-1] | {"days": days})]

    found = days_published(waiting, 3, Events())
    assert found == {rule.uri: {DAYS[0]: (), DAYS[1]: ("x",)}}


def test_what_tasks_tell_each_other_is_read_as_before():
    old = {"day": DAY, "generation": "1", "mode": "auto", "dry_run": False}
    assert OpenedDay(**old).each() == (OpenedDay(**old),)
