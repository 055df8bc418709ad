"""What a report's tasks send arrives at a StatsD server and at an OpenTelemetry collector, by the
clients that Airflow itself uses."""

from __future__ import annotations

import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from airflow.sdk._shared.observability.metrics import otel_logger
from airflow.sdk._shared.observability.metrics import stats as facade
from opentelemetry import metrics
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.watching import telling
from forerun.include.telemetry.metrics import METRICS
from forerun.simulation.running import open_runner
from tests.airflow.test_repairing import STEPS, Dag
from tests.airflow.test_tasks import place, report

__all__ = ["place"]
KNOWN = {f"airflow.{metric.name}": metric for metric in METRICS}
# No run was skipped or kept a table, and a day that was opened too late has no margin.
SILENT = {"forerun.run.skipped", "forerun.publish.state_age", "forerun.publish.margin"}
ONCE = {"forerun.plan.made": 1, "forerun.run.ended": 1, "forerun.publish.made": 1}


@pytest.fixture
def configured(monkeypatch):
    """Configures Airflow's metrics, as its own processes read them when they start."""
    for name in ("_backend", "_factory", "_export_legacy_names"):
        monkeypatch.setattr(facade, name, getattr(facade, name))  # as they were, afterwards
    facade._backend = None

    def configure(**given):
        for name, value in given.items():
            key = name if name.isupper() else f"AIRFLOW__METRICS__{name.upper()}"
            monkeypatch.setenv(key, str(value))
        telling.begin()

    return configure


@pytest.fixture
def statsd(configured):
    """A socket that Airflow's configuration names as its StatsD."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(60)
        port = listening.getsockname()[1]
        configured(
            statsd_on=True, statsd_host="127.0.0.1", statsd_port=port, statsd_influxdb_enabled=True
        )
        yield listening


@pytest.fixture
def collector(configured, monkeypatch):
    """What is sent to the OpenTelemetry collector that the client's own variables name."""
    received = []
    # This process goes on after the collector: nothing is left to be sent when it ends.
    monkeypatch.setattr(otel_logger, "atexit_register_metrics_flush", lambda: None)

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, ExportMetricsServiceRequest.FromString(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        configured(
            otel_on=True,
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.server_port}",
        )
        yield received
        metrics.get_meter_provider().shutdown()
        server.shutdown()


@pytest.fixture
def day(place, monkeypatch):
    """Plans, runs and publishes a day by the tasks of its report."""

    def submit(_task, _context, plans, *_options):
        with open_runner("sail", place, "local[1]") as runner:
            runner.run(plans, "run", tiny=True)

    monkeypatch.setattr(SubmitUnits, "_check_connection", lambda _self: "local[2]")
    monkeypatch.setattr(SubmitUnits, "submit", submit)
    dag = Dag(report(place), place)

    def publish():
        dag.do("open_day", mode="batch")
        for step in (*STEPS[:2], "run_3.run", *STEPS[2:]):
            dag.do(step)

    return publish


def whole(arrived):
    """Whether these values of a day, by metric, are all that it tells."""
    assert {name: arrived[f"airflow.{name}"] for name in ONCE} == ONCE
    assert set(arrived) == {name for name in KNOWN if name.removeprefix("airflow.") not in SILENT}
    return arrived["airflow.forerun.run.wall"] > 0


def test_a_day_that_is_planned_run_and_published_arrives_at_statsd(day, statsd):
    day()
    telling.stats.incr("the_last_one")
    lines: list[str] = []
    while not lines or "the_last_one" not in lines[-1]:
        lines += statsd.recv(65536).decode().splitlines()
    arrived = {}
    kinds = {"counter": "c", "gauge": "g", "timer": "ms"}
    for line in lines:
        name, tags, value, kind = re.fullmatch(
            r"([^,:]+)((?:,[^:]+)?):([^|]+)\|(\w+)", line
        ).groups()
        if not name.startswith("airflow.forerun."):
            continue
        said = dict(pair.split("=") for pair in tags.strip(",").split(","))
        assert kind == kinds[KNOWN[name].kind], line
        assert set(said) == {"report", *KNOWN[name].tags}, line
        assert said["report"] == "revenue", line
        arrived[name] = float(value)
    assert whole(arrived)


def test_a_day_that_is_planned_run_and_published_arrives_at_a_collector(day, collector):
    day()
    metrics.get_meter_provider().force_flush()
    assert {path for path, _ in collector} == {"/v1/metrics"}
    arrived = {}
    kinds = {"counter": "sum", "gauge": "gauge", "timer": "exponential_histogram"}
    for metric in (
        metric
        for _, request in collector
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name.startswith("airflow.forerun.")
    ):
        kind = metric.WhichOneof("data")
        assert kind == kinds[KNOWN[metric.name].kind], metric.name
        (point,) = getattr(metric, kind).data_points
        said = {each.key: each.value.string_value for each in point.attributes}
        assert set(said) == {"report", *KNOWN[metric.name].tags}, metric.name
        assert said["report"] == "revenue", metric.name
        arrived[metric.name] = (
            point.sum if kind == kinds["timer"] else point.as_double or point.as_int
        )
    assert whole(arrived)
