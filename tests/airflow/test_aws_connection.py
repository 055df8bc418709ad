"""S3 by an Airflow connection: a real server, keys that nothing else knows and nothing shows."""

from __future__ import annotations

import asyncio
import json
import os
from types import SimpleNamespace

import pytest

from forerun.airflow.connections import in_thread
from forerun.include.machine import connections as module
from forerun.include.machine.aws_connection import (
    AwsConnectionError,
    as_variables,
    aws_connection,
    read_connection,
)
from forerun.include.machine.connections import Connection, UnknownConnectionError
from forerun.include.machine.local_s3 import local_s3
from forerun.include.machine.settings import s3_settings
from forerun.include.stores.opening import open_store

pytestmark = pytest.mark.airflow


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A real server, of which the environment knows nothing but the connection's id."""
    with local_s3(tmp_path / "s3") as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        root = server.make_bucket("by-connection")
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        variables = server.environment
        endpoint = variables.get("AWS_ENDPOINT_URL_S3") or variables["AWS_ENDPOINT_URL"]
        connection = {
            "conn_type": "aws",
            "login": variables["AWS_ACCESS_KEY_ID"],
            "password": variables["AWS_SECRET_ACCESS_KEY"],
            "extra": {"endpoint_url": endpoint, "region_name": "eu-central-1"},
        }
        monkeypatch.setenv("AIRFLOW_CONN_SHOP_S3", json.dumps(connection))
        monkeypatch.setenv("FORERUN_AWS_CONN_ID", "shop_s3")
        monkeypatch.setattr(module, "_KNOWN", {})
        yield SimpleNamespace(root=root, endpoint=endpoint, secret=connection["password"])


@pytest.mark.s3
def test_a_store_is_opened_by_the_connection(server, monkeypatch):
    store = open_store(f"{server.root}/a")
    assert store.put_if_absent("d/k", b"1")
    assert [file.key for file in store.list("d")] == ["d/k"]
    assert (s3_settings().endpoint, s3_settings().region) == (server.endpoint, "eu-central-1")
    assert s3_settings().path_style
    found = aws_connection()
    assert server.secret not in f"{found!r} {found} {s3_settings()!r}"
    with as_variables():
        assert os.environ["AWS_SECRET_ACCESS_KEY"] == server.secret
    assert "AWS_SECRET_ACCESS_KEY" not in os.environ
    # Beside a loop, the loop asks.
    monkeypatch.setattr(module, "_KNOWN", {})
    assert asyncio.run(in_thread(lambda: store.stat("d/k").size)) == 1


def test_a_connection_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(module, "_KNOWN", {})
    monkeypatch.setenv("FORERUN_AWS_CONN_ID", "nowhere")
    with pytest.raises(UnknownConnectionError, match="connection nowhere cannot be read"):
        open_store("s3://bucket/a")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "spark"}, "is of type spark"),
        ({"login": ""}, "one of login and password"),
        ({"extra": {"role_arn": "arn:x"}}, "has role_arn, which Forerun does not read"),
        ({"extra": {"endpoint_url": "http://a:b@host"}}, "endpoint_url of the connection"),
    ],
)
def test_what_is_not_read_of_a_connection_is_refused(changes, says):
    plain = {"kind": "aws", "login": "k", "password": "s", "extra": {}}
    with pytest.raises(AwsConnectionError, match=says):
        read_connection("shop", Connection(**plain | changes))


def test_without_keys_the_machine_s_own_hold():
    extra = {"service_config": {"s3": {"endpoint_url": "http://s3:9000"}}}
    plain = Connection(kind="aws", extra=extra)
    assert read_connection("shop", plain).variables == {"AWS_ENDPOINT_URL_S3": "http://s3:9000"}
