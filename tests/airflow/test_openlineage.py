"""What lineage backends get, written by the real client into a file; and one that is down."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from forerun.airflow.tasks.publish import PublishReport
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.tasks.units import alone
from forerun.airflow.watching import openlineage
from forerun.airflow.watching.telling import tell_planned, telling_how_runs_end
from forerun.include.state.given_up import GivenUp, record_given_up
from forerun.include.state.records import RunCommit
from tests.airflow.lineage_schema import EVENT
from tests.airflow.test_tasks import DAY, OPENED, context, opening, place, planning, report
from tests.include.days.day_cases import DayCase

__all__ = ["place"]
pytest.importorskip("openlineage.client", reason="the extra lineage is not installed")


def configure(monkeypatch, transport):
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", json.dumps(transport))
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__NAMESPACE", "shop")
    monkeypatch.setattr(openlineage, "_SILENT", threading.Event())


@pytest.fixture
def events(monkeypatch, tmp_path):
    file = tmp_path / "lineage.jsonl"
    configure(monkeypatch, {"type": "file", "log_file_path": str(file), "append": True})

    def read():
        found = [json.loads(line) for line in file.read_text().splitlines()]
        for event in found:
            EVENT.validate(event)
        return found

    return read


def planned(spec):
    opening(spec)
    return planning(spec).execute(context({"open_day": OPENED, "run_3.wait": {"revenue": []}}))


def test_a_run_begins_with_what_it_reads_and_what_its_result_is_made_of(place, events):
    planned(report(place))
    (event,) = events()
    assert event["eventType"] == "START"
    assert (event["job"]["namespace"], event["job"]["name"]) == ("shop", "forerun.revenue")
    assert uuid.UUID(event["run"]["runId"])
    (read,) = event["inputs"]
    assert (read["namespace"], read["name"]) == ("file", f"{place}/data/sales")
    fields = [(f["name"], f["type"]) for f in read["facets"]["schema"]["fields"]]
    assert fields == [("item", "STRING"), ("amount", "BIGINT")]
    (made,) = event["outputs"]
    assert made["name"] == f"{place}/store/results/revenue"
    facet = made["facets"]["columnLineage"]
    assert facet["_schemaURL"].startswith("https://openlineage.io/spec/facets/")
    of = {
        name: [(i["name"], i["field"], t["type"], t["subtype"])
               for i in field["inputFields"] for t in i["transformations"]]
        for name, field in facet["fields"].items()
    }  # fmt: skip
    source = f"{place}/data/sales"
    assert of == {
        "item": [(source, "item", "DIRECT", "IDENTITY")],
        "revenue": [(source, "amount", "DIRECT", "AGGREGATION")],
        "n": [],
    }
    (rows,) = facet["dataset"]
    assert (rows["field"], rows["transformations"][0]["subtype"]) == ("item", "GROUP_BY")
    assert event["run"]["facets"]["forerun_plan"]["plan"]["decided"] == "batch"


def test_a_run_that_fails_is_the_run_that_began(place, events, monkeypatch):
    spec = report(place)
    plan = planned(spec)
    monkeypatch.setattr(SubmitUnits, "_check_connection", lambda _self: "local[2]")

    def fail(_self, _context, _plans, *_options):
        raise AirflowException("spark-submit failed")

    monkeypatch.setattr(SubmitUnits, "submit", fail)
    task = SubmitUnits(task_id="run", step=alone(spec, 3, "open_day"), plan_task="plan")
    with pytest.raises(AirflowException):
        task.execute(context({"plan": plan, "open_day": OPENED}))
    began, failed = events()
    assert failed["eventType"] == "FAIL"
    assert failed["run"]["runId"] == began["run"]["runId"]


def test_a_run_that_is_committed_completes_with_the_rows_of_its_result(tmp_path, events):
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    case.deliver("one", (1, 10), (2, 20))
    generation = case.open()
    day, prepared = case.day(generation), case.prepare(generation, 2)
    with telling_how_runs_end(lambda: [(day, 2, "final")]):
        commit = case.commit(prepared)
    (event,) = events()
    assert event["eventType"] == "COMPLETE"
    (out,) = event["outputs"]
    counted = out["outputFacets"]["outputStatistics"]
    assert (counted["rowCount"], counted["size"]) == (commit.result.rows, commit.result.bytes)


def test_an_early_run_has_no_result_and_one_that_gives_up_aborts(tmp_path, events):
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    case.deliver("one", (1, 10))
    generation = case.open()
    day, prepared = case.day(generation), case.prepare(generation, 1)
    tell_planned(day, prepared)
    done = RunCommit(run=1, base=0, attempt="a", plan=prepared.plan_key, committed_at="")
    with telling_how_runs_end(lambda: [(day, 1, "early")]):
        record_given_up(case.store, day.at, GivenUp(why="too dear", done=done))
    began, ended = events()
    assert (began["eventType"], began["outputs"]) == ("START", [])
    assert ended["eventType"] == "ABORT"


def test_publishing_completes_with_version_and_counts(tmp_path, events):
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    case.deliver("one", (1, 10), (2, 20))
    case.commit(case.prepare(case.open(), 2))
    spec = replace(case.spec, store=case.store_uri)
    task = PublishReport(task_id="publish", spec=spec, day_task="open_day", run=2)
    task.execute(context({"open_day": {**OPENED, "day": DAY}}))
    began, done = events()
    assert (began["eventType"], done["eventType"]) == ("START", "COMPLETE")
    assert began["run"]["runId"] == done["run"]["runId"]
    assert done["job"]["name"] == "forerun.totals.publish"
    (out,) = done["outputs"]
    assert out["facets"]["version"]["datasetVersion"].startswith("1-2-a1")
    assert out["outputFacets"]["outputStatistics"]["fileCount"] >= 1


def test_publishing_that_fails_says_why(place, events):
    spec = report(place)
    opening(spec)
    task = PublishReport(task_id="publish", spec=spec, day_task="open_day", run=3)
    with pytest.raises(AirflowFailException):
        task.execute(context({"open_day": OPENED}))
    failed = events()[-1]
    assert failed["eventType"] == "FAIL"
    assert "has not made a result" in failed["run"]["facets"]["errorMessage"]["message"]


def test_a_backend_that_does_not_answer_holds_up_nothing(place, monkeypatch, caplog):
    """It accepts the connection, and says nothing."""
    monkeypatch.setattr(openlineage, "_PATIENCE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        configure(monkeypatch, {"type": "http", "url": f"http://127.0.0.1:{port}"})
        assert planned(report(place))["submit"] is True
        openlineage.send(lambda _namespace: pytest.fail("it was asked again"))
    assert "has not answered" in caplog.text
    for thread in threading.enumerate():  # or what it says at last is said in another test
        if thread.name == openlineage._NAME:
            thread.join(60)


def test_a_backend_that_is_down_is_a_warning(place, monkeypatch, caplog):
    file = Path(place) / "file"
    file.write_text("")
    configure(monkeypatch, {"type": "file", "log_file_path": f"{file}/below"})
    assert planned(report(place))["submit"] is True
    assert "lineage is not sent: " in caplog.text


def test_without_a_configuration_nothing_is_made(place, monkeypatch):
    def never(_namespace):
        raise AssertionError("an event was made")

    monkeypatch.setattr(openlineage, "_configured", lambda: None)
    openlineage.send(never)


def test_a_client_that_is_missing_says_what_to_install(monkeypatch, caplog):
    configure(monkeypatch, {"type": "console"})
    monkeypatch.setattr(openlineage.importlib.util, "find_spec", lambda _name: None)
    openlineage.send(lambda _namespace: pytest.fail("an event was made"))
    assert "install openlineage-python" in caplog.text
