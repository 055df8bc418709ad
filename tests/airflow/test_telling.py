"""Tasks tell what they do through Airflow's metrics and the log, and are never failed by it."""

from __future__ import annotations

import json
import logging
from functools import partial

import pytest
from airflow.sdk._shared.observability.metrics import stats as facade
from airflow.sdk._shared.observability.metrics.otel_logger import SafeOtelLogger
from airflow.sdk.exceptions import AirflowException, AirflowSkipException
from airflow.sdk.observability import stats
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.tasks.units import alone
from forerun.include.days.handle import Day
from forerun.include.stores.store import StoreDownError
from forerun.include.telemetry.metrics import METRICS
from tests.airflow.test_tasks import (
    OPENED,
    built,
    context,
    opening,
    place,
    planning,
    report,
)

__all__ = ["place"]


@pytest.fixture
def told(monkeypatch):
    """What arrives in an OpenTelemetry reader, by metric: the tags and the values of its points."""
    reader = InMemoryMetricReader()
    backend = SafeOtelLogger(MeterProvider(metric_readers=[reader]), "airflow")
    monkeypatch.setattr(facade, "_backend", backend)

    def read():
        found = {}
        data = reader.get_metrics_data()
        for metric in data.resource_metrics[0].scope_metrics[0].metrics if data else ():
            for point in metric.data.data_points:
                value = getattr(point, "value", getattr(point, "sum", None))
                found.setdefault(metric.name, []).append((dict(point.attributes), value))
        return found

    return read


def lines(caplog):
    return [json.loads(r.getMessage()) for r in caplog.records if r.name == "forerun.events"]


def test_a_planned_run_is_in_the_log_and_in_the_metrics(place, told, caplog):
    caplog.set_level(logging.INFO, logger="forerun.events")
    spec = report(place)
    opening(spec)
    planning(spec).execute(context({"open_day": OPENED, "run_3.wait": {"revenue": []}}))
    (said,) = lines(caplog)
    assert (said["event"], said["run"], said["part"], said["decided"]) == (
        "planned", 3, "final", "batch",
    )  # fmt: skip
    found = told()
    assert found["airflow.forerun.plan.made"] == [
        ({"report": "revenue", "part": "final", "decided": "batch"}, 1)
    ]
    assert found["airflow.forerun.plan.share"][0][1] == pytest.approx(1.0)
    assert set(found) <= {f"airflow.{metric.name}" for metric in METRICS}


def test_a_dry_run_tells_nothing(place, told, caplog):
    caplog.set_level(logging.INFO, logger="forerun.events")
    spec = report(place)
    opening(spec)
    planning(spec, run=1).execute(context({"open_day": {**OPENED, "dry_run": True}}))
    assert (lines(caplog), told()) == ([], {})


def test_a_skipped_run_says_why(place, told, caplog):
    caplog.set_level(logging.INFO, logger="forerun.events")
    spec = report(place)
    opening(spec)
    with pytest.raises(AirflowSkipException, match="straight to the final run"):
        built(spec, "run_1.wait").execute(context({"open_day": {**OPENED, "mode": "single"}}))
    (said,) = lines(caplog)
    assert (said["event"], said["why"]) == (
        "skipped", "the day goes straight to the final run (single)",
    )  # fmt: skip
    assert told()["airflow.forerun.run.skipped"] == [({"report": "revenue"}, 1)]


def test_a_run_whose_application_fails_is_told(place, told, caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="forerun.events")
    spec = report(place)
    opening(spec)
    planned = planning(spec).execute(context({"open_day": OPENED, "run_3.wait": {"revenue": []}}))
    monkeypatch.setattr(SubmitUnits, "_check_connection", lambda _self: "local[2]")

    def fail(_self, _context, _plans, *_options):
        raise AirflowException("spark-submit failed")

    monkeypatch.setattr(SubmitUnits, "submit", fail)
    task = SubmitUnits(task_id="run", step=alone(spec, 3, "open_day"), plan_task="plan")
    with pytest.raises(AirflowException, match="spark-submit failed"):
        task.execute(context({"plan": planned, "open_day": OPENED}))
    assert lines(caplog)[-1]["outcome"] == "failed"
    assert told()["airflow.forerun.run.ended"][0][0]["outcome"] == "failed"


def test_what_cannot_be_told_is_a_warning_and_no_failure(place, caplog, monkeypatch):
    """Metrics that raise, and a store that does not answer when it is asked how a run ended."""
    caplog.set_level(logging.INFO, logger="forerun.events")
    spec = report(place)
    opening(spec)

    def broken(*_args, **_more):
        raise OSError("no route to the collector")

    monkeypatch.setattr(stats, "incr", broken)
    planned = planning(spec).execute(context({"open_day": OPENED, "run_3.wait": {"revenue": []}}))
    assert planned["submit"] is True
    assert "not told to logs and metrics: OSError: no route to the collector" in caplog.text
    monkeypatch.setattr(SubmitUnits, "_check_connection", lambda _self: "local[2]")
    down = partial(monkeypatch.setattr, Day, "commit", unreadable)
    monkeypatch.setattr(SubmitUnits, "submit", lambda *_: down())
    task = SubmitUnits(task_id="run", step=alone(spec, 3, "open_day"), plan_task="plan")
    task.execute(context({"plan": planned, "open_day": OPENED}))
    assert "not told to logs and metrics: StoreDownError: no answer" in caplog.text


def unreadable(_day, _run):
    raise StoreDownError("no answer", hint="wait")
