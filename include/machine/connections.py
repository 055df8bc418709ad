"""The servers that sources are on, by Airflow connections.

In a process that has Airflow loaded its own backends are asked, whatever they are. Elsewhere a
connection is an environment variable, named and written as Airflow has them: ``AIRFLOW_CONN_SHOP``,
in JSON or as a URI. What a connection holds is in no plan, no record and no command line, and no
text of it shows its secrets.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from forerun.planner.errors import ForerunError

_KEPT_S = 300.0
"""A connection is asked for again after so long: passwords change."""
_KNOWN: dict[tuple[str, int], tuple[float, Connection]] = {}
_ASK: ContextVar[Callable[[str], Any] | None] = ContextVar("_ASK", default=None)


class UnknownConnectionError(ForerunError):
    """An Airflow connection is not there, or is not read."""

    code = "connection"


@dataclass(frozen=True, slots=True)
class Connection:
    """An Airflow connection, as it is read. ``database``: what Airflow calls its schema."""

    kind: str
    host: str = ""
    port: int | None = None
    database: str = ""
    login: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


def connection(name: str) -> Connection:
    """Return a connection. Raises :class:`UnknownConnectionError` if there is none of this name."""
    kept = _KNOWN.get((name, os.getpid()))
    if kept is not None and time.monotonic() - kept[0] < _KEPT_S:
        return kept[1]
    found = _of_airflow(name) if is_airflow_loaded() else _of_environment(name)
    _KNOWN[name, os.getpid()] = (time.monotonic(), found)
    return found


def is_airflow_loaded() -> bool:
    """Return whether this process has Airflow, whose connections are asked for then."""
    return getattr(sys.modules.get("airflow.configuration"), "conf", None) is not None


@contextmanager
def asking(ask: Callable[[str], Any]) -> Iterator[None]:
    """Let this thread ask for connections of Airflow by ``ask``, which returns one of a name: in
    one that works beside a loop, to which belongs what Airflow's connections are asked by."""
    token = _ASK.set(ask)
    try:
        yield
    finally:
        _ASK.reset(token)


def _of_airflow(name: str) -> Connection:
    ask = _ASK.get() or importlib.import_module("airflow.sdk").Connection.get
    try:
        found = ask(name)
    except Exception as error:  # noqa: BLE001 - whatever backend of secrets the deployment has
        raise _unknown(name, type(error).__name__) from None
    return of_airflow(found)


def of_airflow(found: Any) -> Connection:
    """Read a connection of Airflow."""
    return Connection(
        kind=found.conn_type or "",
        host=found.host or "",
        port=found.port,
        database=found.schema or "",
        login=found.login or "",
        password=found.password or "",
        extra=found.extra_dejson or {},
    )


def _of_environment(name: str) -> Connection:
    text = os.environ.get(f"AIRFLOW_CONN_{name.upper()}", "").strip()
    if not text:
        raise _unknown(name, f"AIRFLOW_CONN_{name.upper()} is not set, and there is no Airflow")
    try:
        return _of_json(json.loads(text)) if text.startswith("{") else _of_uri(text)
    except (ValueError, TypeError, AttributeError):  # the text, which has secrets, is not shown
        raise _unknown(name, f"AIRFLOW_CONN_{name.upper()} is neither JSON nor a URI") from None


def _of_json(said: Mapping[str, Any]) -> Connection:
    extra = said.get("extra") or {}
    return Connection(
        kind=said.get("conn_type") or "",
        host=said.get("host") or "",
        port=int(said["port"]) if said.get("port") else None,
        database=said.get("schema") or "",
        login=said.get("login") or "",
        password=said.get("password") or "",
        extra=json.loads(extra) if isinstance(extra, str) else dict(extra),
    )


def _of_uri(text: str) -> Connection:
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    whole = json.loads(query["__extra__"]) if "__extra__" in query else query
    return Connection(
        kind=parts.scheme,
        host=unquote(parts.hostname or ""),
        port=parts.port,
        database=unquote(parts.path.strip("/")),
        login=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        extra=whole,
    )


def _unknown(name: str, why: str) -> UnknownConnectionError:
    return UnknownConnectionError(
        f"the Airflow connection {name} cannot be read: {why}",
        hint=f"Add it (airflow connections add {name} ...), or correct the name where it is used: "
        "in the path of a source, or the option aws_conn_id.",
    )
