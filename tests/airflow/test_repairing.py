"""A DAG run in mode ``repair``: it computes, says which rows differ, and publishes when told to."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun.airflow import ProgressiveTaskGroup
from forerun.airflow.day import OpenedDay
from forerun.cli.app import run as run_command
from forerun.include.days.instructions import Instruction, instruct
from forerun.include.days.results import read_pointer
from forerun.include.oncall.day.records import read_day_records
from forerun.include.oncall.repairs import prepare_action, publish_action, read_repair
from forerun.include.reports.run_policy import RunTime
from forerun.include.stores.opening import open_store
from forerun.past import telling
from forerun.simulation.running import open_runner
from tests.airflow.test_tasks import DAY, built, context, place, report
from tests.airflow.test_wait import at

__all__ = ["place"]
RUN = 4
"""The run of a repair of a report with three runs."""
STEPS = ("run_3.wait", "run_3.plan", "check", "publish")


class Dag:
    """A DAG run of the report, task by task; the application of a run on the small engine."""

    def __init__(self, spec, folder, **options):
        self.spec, self.folder, self.options = spec, folder, options
        self.tried = 1
        self.xcoms = {}
        self.events = {}

    def task(self, task_id):
        return built(self.spec, task_id, **self.options)

    def do(self, task_id, **params):
        given = context({}, params=params) | {"inlet_events": {}}

        def pull(task_ids, key="return_value"):
            return self.xcoms.get((task_ids, key))

        given["ti"] = SimpleNamespace(
            **{**vars(given["ti"]), "xcom_pull": pull, "try_number": self.tried, "max_tries": 2},
            xcom_push=lambda key, value: self.xcoms.update({(task_id, key): value}),
        )
        task = self.task(task_id)
        given["outlet_events"] = {asset: SimpleNamespace() for asset in task.outlets}
        found = self.xcoms[task_id, "return_value"] = task.execute(given)
        self.events = {asset.name: vars(one) for asset, one in given["outlet_events"].items()}
        return found

    def compute(self):
        planned = self.xcoms["run_3.plan", "return_value"]
        assert planned["submit"], planned
        with open_runner("sail", self.folder, "local[1]") as runner:
            runner.run(list(planned["plans"].values()), "run", tiny=True)


def deliver(place, name, **rows):
    table = pa.table({"item": list(rows), "amount": pa.array(rows.values(), pa.int64())})
    pq.write_table(table, place / "data" / "sales" / DAY / f"{name}.parquet")


@pytest.fixture
def spec(place):
    """A day that is published, and a file that comes late."""
    known = report(place)
    dag = Dag(known, place)
    dag.do("open_day", mode="batch")
    for step in STEPS[:2]:
        dag.do(step)
    dag.compute()
    for step in STEPS[2:]:
        dag.do(step)
    deliver(place, "late", b=40, c=9)
    return known


def begin(spec, place, **params):
    dag = Dag(spec, place)
    dag.do("open_day", mode="repair", **params)
    return dag


def published(spec):
    return read_pointer(open_store(spec.store), spec.name, at(0).date())


def look(spec):
    records = read_day_records(open_store(spec.store), spec.name, DAY)
    return read_repair(open_store(spec.store), records, at(0, day=3), lambda _: True)


def test_it_computes_and_is_published_once_somebody_has_said_so(spec, place):
    before = published(spec)
    # Edited since, with more runs: what is repaired is the report that was computed.
    more = (RunTime(at="18:00", weight=0.5), RunTime(at="20:00", weight=0.5))
    runs = (*spec.policy.runs[:2], *more, spec.policy.runs[2])
    policy = replace(spec.policy, runs=runs)
    later = replace(spec.with_sql("SELECT 1 AS one FROM sales"), policy=policy)
    steps = [step.replace("run_3", "run_5") for step in STEPS]
    dag = begin(later, place)
    opened = dag.xcoms["open_day", "return_value"]
    assert (opened["mode"], opened["generation"], opened["repair"]) == ("repair", "2", RUN)
    for early in ("run_1.wait", "run_3.wait"):
        with pytest.raises(AirflowSkipException, match="the tasks of the final run"):
            dag.do(early)
    assert dag.do(steps[0]) == {"revenue": []}
    dag.xcoms["run_3.plan", "return_value"] = dag.do(steps[1])
    assert prepare_action(look(spec), None).refused == ""
    dag.compute()
    dag.do("check")
    view = look(spec)
    assert view.computed.diff.to_pylist() == [
        {"item": "b", "revenue": 2, "n": 1, "__w": -1},
        {"item": "b", "revenue": 42, "n": 2, "__w": 1},
        {"item": "c", "revenue": 9, "n": 1, "__w": 1},
    ]
    assert "read which rows differ" in prepare_action(view, None).refused
    assert "Airflow knows no DAG run" in publish_action(view, None).refused
    with pytest.raises(AirflowSkipException, match=f"{spec.name}/{DAY}/repair"):
        dag.do("publish")
    assert published(spec) == before
    wanted = Instruction(kind="publish", by="anna", at=at(1).isoformat(), form="f")
    instruct(open_store(spec.store), view.computed.at, wanted)
    dag.do("publish")
    assert (published(spec).generation, published(spec).rows) == (2, 3)
    (event,) = dag.events.values()
    assert (event["extra"]["day"], event["extra"]["version"]) == (DAY, published(spec).version)
    view = look(spec)
    assert view.computed is None
    assert "nothing to repair" in view.refused
    assert view.records.at.generation == "1", "the page of the day is that of its runs"


def test_a_dry_run_says_what_it_would_take_and_leaves_nothing(spec, place, caplog):
    before = sorted((place / "store").rglob("*"))
    dag = begin(spec, place, dry_run=True)
    assert "CPU s by estimate: computing the report anew" in caplog.text
    for task in ("run_1.wait", "run_3.wait"):
        with pytest.raises(AirflowSkipException):
            dag.do(task)
    assert sorted((place / "store").rglob("*")) == before


def test_what_cannot_be_repaired_says_why(spec, place):
    (place / "data" / "sales" / DAY / "late.parquet").unlink()
    with pytest.raises(AirflowFailException, match="nothing has changed in the sources of revenue"):
        begin(spec, place)
    with pytest.raises(AirflowFailException, match="nothing is published of revenue"):
        begin(spec, place, report_date="2026-03-02")
    with DAG("larger", start_date=at(0), schedule=None) as larger:
        ProgressiveTaskGroup(spec)
    opening = larger.get_task(f"{spec.name}.open_day")
    with pytest.raises(AirflowFailException, match=f"forerun repair {spec.name} {DAY}"):
        opening.execute(context({}, params={"mode": "repair"}))


def test_sources_that_change_again_are_said(spec, place):
    dag = begin(spec, place)
    for step in STEPS[:2]:
        dag.do(step)
    dag.compute()
    dag.do("check")
    deliver(place, "later", d=1)
    view = look(spec)
    assert prepare_action(view, None).refused == ""
    tasks = SimpleNamespace(
        state="success", tasks={"publish": "skipped"}, halt=None, any_in=lambda *_: ""
    )
    said = publish_action(view, tasks)
    assert said.refused == ""
    assert "another repair" in " ".join(said.does)


def test_what_tasks_tell_each_other_is_read_as_before():
    old = {"day": DAY, "generation": "1", "mode": "auto", "dry_run": False}
    assert OpenedDay(**old).repair == 0


@pytest.mark.parametrize("command", [("repair", DAY), ("backfill", DAY, DAY)], ids=lambda c: c[0])
def test_the_command_line_tells_what_tasks_would(spec, place, monkeypatch, command):
    monkeypatch.setenv("FORERUN_HOME", str(place / "home"))
    telling._of_tasks.cache_clear()
    log = logging.getLogger("forerun.events")
    handlers = list(log.handlers)
    how = ("--store", spec.store, "--engine", "sail", "--yes")
    assert run_command([command[0], spec.name, *command[1:], *how]) == 0
    lines = (place / "home" / "events.log").read_text().splitlines()
    told = [json.loads(line[line.index("{") :]) for line in lines]
    assert [(one["event"], one["generation"], one["run"]) for one in told] == [
        ("planned", "2", RUN),
        ("run_ended", "2", RUN),
        ("published", "2", RUN),
    ]
    assert told[1]["outcome"] == "committed"
    log.handlers[:] = handlers
    telling._of_tasks.cache_clear()
