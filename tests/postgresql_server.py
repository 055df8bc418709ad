"""A PostgreSQL for tests, and rows in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg2
import pytest

from forerun.include.machine import connections
from forerun.include.machine.local_postgres import local_postgres


@dataclass(frozen=True)
class Database:
    """A running server, of which tests use the database ``postgres``."""

    folder: str
    login: str

    @property
    def connection(self) -> str:
        """What the variable of an Airflow connection to it holds."""
        return json.dumps({"conn_type": "postgres", "host": self.folder, "login": self.login,
                           "schema": "postgres"})  # fmt: skip

    def do(self, *statements: str) -> None:
        """Execute statements, each in a transaction of its own."""
        with closing(self.session()) as session:
            for statement in statements:
                session.cursor().execute(statement)

    def session(self) -> Any:
        opened = psycopg2.connect(host=self.folder, user=self.login, dbname="postgres")
        opened.autocommit = True
        return opened


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with local_postgres(
        tmp_path_factory.mktemp("postgresql") / "log",
        "wal_level=logical",
        "max_replication_slots=50",
    ) as found:
        parts = urlsplit(found.url)
        yield Database(parse_qs(parts.query)["host"][0], parts.username or "")


@pytest.fixture
def warehouse(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """The server, as the Airflow connection ``warehouse``."""
    monkeypatch.setattr(connections, "_KNOWN", {})
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", database.connection)
    return database
