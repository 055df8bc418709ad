"""What a report's tasks send arrives at a StatsD server, by the client that Airflow itself uses."""

from __future__ import annotations

import re
import socket

import pytest
from airflow.sdk._shared.observability.metrics import stats as facade

from forerun.running import open_runner
from forerun_airflow import telling
from forerun_airflow.submit import SubmitRun
from include.telemetry.metrics import METRICS
from tests.airflow.test_repairing import STEPS, Dag
from tests.airflow.test_tasks import place, report

__all__ = ["place"]
KINDS = {"counter": "c", "gauge": "g", "timer": "ms"}


@pytest.fixture
def server(monkeypatch):
    """A socket that Airflow's configuration names as its StatsD."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(60)
        given = {"statsd_on": "True", "statsd_host": "127.0.0.1", "statsd_influxdb_enabled": "True"}
        given["statsd_port"] = str(listening.getsockname()[1])
        for name, value in given.items():
            monkeypatch.setenv(f"AIRFLOW__METRICS__{name.upper()}", value)
        for name in ("_backend", "_factory", "_export_legacy_names"):
            monkeypatch.setattr(facade, name, getattr(facade, name))  # as they were, afterwards
        facade._backend = None
        telling.begin()
        yield listening


def test_a_day_that_is_planned_run_and_published_arrives(place, server, monkeypatch):
    def submit(_task, _context, plans, *_options):
        with open_runner("sail", place, "local[1]") as runner:
            runner.run(plans, "run", tiny=True)

    monkeypatch.setattr(SubmitRun, "_check_connection", lambda _self: "local[2]")
    monkeypatch.setattr(SubmitRun, "submit", submit)
    dag = Dag(report(place), place)
    dag.do("open_day", mode="batch")
    for step in (*STEPS[:2], "run_3.run", *STEPS[2:]):
        dag.do(step)
    telling.stats.incr("the_last_one")

    lines: list[str] = []
    while not lines or "the_last_one" not in lines[-1]:
        lines += server.recv(65536).decode().splitlines()
    known = {f"airflow.{metric.name}": metric for metric in METRICS}
    arrived: dict[str, str] = {}
    for line in lines:
        name, tags, value, kind = re.fullmatch(
            r"([^,:]+)((?:,[^:]+)?):([^|]+)\|(\w+)", line
        ).groups()
        if not name.startswith("airflow.forerun."):
            continue
        said = dict(pair.split("=") for pair in tags.strip(",").split(","))
        assert kind == KINDS[known[name].kind], line
        assert set(said) == {"report", *known[name].tags}, line
        assert said["report"] == "revenue", line
        arrived[name.removeprefix("airflow.forerun.")] = value
    expected = {"plan.made": "1", "run.ended": "1", "publish.made": "1"}
    assert {name: arrived[name] for name in expected} == expected
    # No run was skipped or kept a table, and a day that was opened too late has no margin.
    silent = {"run.skipped", "publish.state_age", "publish.margin"}
    assert set(arrived) == {each.name.removeprefix("forerun.") for each in METRICS} - silent
    assert float(arrived["run.wall"]) > 0
