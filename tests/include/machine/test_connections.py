"""Connections without Airflow: variables, as Airflow itself reads them."""

from __future__ import annotations

import json

import pytest

from forerun.include.machine import connections as module
from forerun.include.machine.connections import Connection, UnknownConnectionError, connection

WHOLE = Connection(
    kind="postgres", host="db", port=5432, database="shop", login="me", password="s/e:c@t",
    extra={"sslmode": "require"},
)  # fmt: skip


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_airflow_loaded", lambda: False)
    monkeypatch.setattr(module, "_KNOWN", {})


def test_a_variable_is_json_or_a_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"conn_type": "postgres", "host": "db", "port": 5432, "schema": "shop", "login": "me",
            "password": "s/e:c@t", "extra": json.dumps({"sslmode": "require"})}  # fmt: skip
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps(said))
    assert connection("shop") == WHOLE
    monkeypatch.setenv(
        "AIRFLOW_CONN_URI", "postgres://" + "me:s%2Fe%3Ac%40t@db:5432/shop?sslmode=require"
    )
    assert connection("uri") == WHOLE
    nested = "kafka://:9092?__extra__=%7B%22a%22%3A+%7B%22b%22%3A+1%7D%7D"
    monkeypatch.setenv("AIRFLOW_CONN_NESTED", nested)
    assert connection("nested") == Connection(kind="kafka", port=9092, extra={"a": {"b": 1}})


def test_what_is_read_is_what_airflow_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    models = pytest.importorskip("airflow.sdk")
    json_text = '{"conn_type": "x", "extra": {"a": 1}}'
    for text in ("kafka://a%2Fb:c@host:1/db?x=y", "postgres://host", json_text):
        monkeypatch.setattr(module, "_KNOWN", {})
        monkeypatch.setenv("AIRFLOW_CONN_ONE", text)
        mine = connection("one")
        read = models.Connection.from_json if text[0] == "{" else models.Connection.from_uri
        assert mine == module.of_airflow(read(text, conn_id="one"))


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "s/e:c@t" not in f"{WHOLE!r} {WHOLE}"
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", '{"password": "hidden')
    with pytest.raises(UnknownConnectionError, match="neither JSON nor a URI") as caught:
        connection("shop")
    assert "hidden" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(UnknownConnectionError, match="AIRFLOW_CONN_NOWHERE is not set"):
        connection("nowhere")
