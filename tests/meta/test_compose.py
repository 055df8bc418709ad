"""The compose file, which no test starts: it fits the image, itself and what there is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import typer
import yaml

from forerun.cli.app import app
from tests.meta.sources import ROOT

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
SERVICES = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
STAGES = dict(re.findall(r"(?ms)^FROM \S+ AS (\S+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE))
# Of the compose specification, what this file has use for.
KEYS = {
    *("build", "command", "depends_on", "environment", "healthcheck"),
    *("image", "ports", "restart", "volumes"),
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_made_of_what_there_is(name):
    service = SERVICES[name]
    assert set(service) <= KEYS
    assert ("build" in service) != ("image" in service)
    volumes = dict(volume.split(":") for volume in service["volumes"])
    assert set(volumes) <= set(COMPOSE["volumes"])
    for other, wanted in service.get("depends_on", {}).items():
        assert wanted == {"condition": "service_healthy"}
        assert SERVICES[other]["healthcheck"]["test"][0] == "CMD", f"{other} never is healthy"
    if "build" in service:
        stage = STAGES[service["build"]["target"]]
        # A new volume takes its owner from the folder of the image; without one it is root's.
        made = " ".join(re.findall(r"(?:mkdir -p|install -d)[^&\n]*", stage))
        assert [folder for folder in volumes.values() if folder not in made] == []
        for port in service.get("ports", ()):
            host, _, inside = port.split(":")
            assert host == "127.0.0.1", "to be tried out on this machine"
            assert f"EXPOSE {inside}" in stage


def test_every_volume_is_somebody_s():
    used = {volume.split(":")[0] for each in SERVICES.values() for volume in each["volumes"]}
    assert set(COMPOSE["volumes"]) == used


def test_services_call_each_other_by_name_at_the_port_that_is_served():
    given = SERVICES["airflow"]["environment"]
    port = re.search(r'"--port", "0.0.0.0:(\d+)"', STAGES["versitygw"])[1]
    assert given["AWS_ENDPOINT_URL_S3"] == f"http://s3:{port}"
    assert SERVICES["s3"]["healthcheck"]["test"][-1].endswith(f"/{port}")
    user = SERVICES["postgres"]["environment"]["POSTGRES_USER"]
    database = given["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    assert database == f"postgresql+psycopg2://{user}:${{POSTGRES_PASSWORD}}@postgres/{user}"
    bucket = given["FORERUN_STORE"].split("/")[2]
    assert f"/data/{bucket} " in STAGES["versitygw"], "a folder is a bucket"
    assert given["FORERUN_DATA"].startswith(f"s3://{bucket}/")


def test_secrets_come_from_the_environment_and_are_asked_for():
    for name, service in SERVICES.items():
        for key, value in service["environment"].items():
            if re.search("KEY|PASSWORD|SECRET", key):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name}: {key}"


def test_airflow_knows_every_option_that_is_set():
    spec = importlib.util.find_spec("airflow")
    assert spec is not None
    assert spec.origin is not None
    options = yaml.safe_load(
        (Path(spec.origin).parent / "config_templates" / "config.yml").read_text()
    )
    text = DOCKERFILE + "\n".join(SERVICES["airflow"]["environment"])
    asked = set(re.findall(r"AIRFLOW__([A-Z]+)__([A-Z_]+)", text))
    assert len(asked) >= 3
    unknown = [(a, b) for a, b in asked if b.lower() not in options[a.lower()]["options"]]
    assert unknown == []


def test_the_command_has_the_options_that_the_command_line_has():
    said = re.search(r"forerun (\w+) (.*?) &&", SERVICES["airflow"]["command"][-1])
    command = typer.main.get_command(app).commands[said[1]]
    known = {option for each in command.params for option in each.opts}
    asked = set(re.findall(r"--[\w-]+", said[2]))
    assert asked
    assert asked <= known
