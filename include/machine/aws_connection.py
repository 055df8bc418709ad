"""S3 by an Airflow connection: its endpoint, its region, its keys.

The option ``aws_conn_id`` names the connection. It holds in processes that have Airflow loaded, and
comes before the AWS_ variables there; a driver that they start gets it as such variables. Keys are
in no plan, no record and no command line, and no text of what holds them shows them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from forerun.include.machine.options import AWS_CONN_ID, environment
from forerun.planner.errors import ForerunError

_KEPT_S = 300.0
"""A connection is asked for again after so long: keys change."""
_NOT_READ = (
    "role_arn", "role_kwargs", "assume_role_method", "profile_name", "session_kwargs",
    "assume_role_kwargs",
)  # fmt: skip
_KNOWN: dict[tuple[str, int], tuple[float, AwsConnection]] = {}


class AwsConnectionError(ForerunError):
    """The Airflow connection for S3 is not there, or says something that is not read."""

    code = "aws-connection"


@dataclass(frozen=True, slots=True)
class AwsConnection:
    """How S3 is reached: what is empty is left to the AWS_ variables, and the machine's own."""

    endpoint: str = ""
    region: str = ""
    key: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables by which a process that has no Airflow finds the same."""
        named = {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_SESSION_TOKEN": self.token,
        }
        return {name: value for name, value in named.items() if value}


def wanted_connection() -> str:
    """Return the id of the connection for S3 where Airflow is loaded and names one; else empty."""
    if getattr(sys.modules.get("airflow.configuration"), "conf", None) is None:
        return ""
    return environment().get(AWS_CONN_ID.variable, "")


def aws_connection() -> AwsConnection | None:
    """Return the connection for S3, None where there is none to use. Raises
    :class:`AwsConnectionError` for one that is not there, or that is not read."""
    name = wanted_connection()
    if not name:
        return None
    if is_kept(name):
        return _KNOWN[name, os.getpid()][1]
    sdk = importlib.import_module("airflow.sdk")
    try:
        found = sdk.Connection.get(name)
    except Exception as error:  # noqa: BLE001 - whatever backend of secrets the deployment has
        raise AwsConnectionError(
            f"the Airflow connection {name} for S3 cannot be read: {type(error).__name__}",
            hint=f"Add it (airflow connections add {name} --conn-type aws ...), or correct "
            f"{AWS_CONN_ID.variable}.",
        ) from None
    return remember(name, found)


def is_kept(name: str) -> bool:
    """Return whether this process has asked for a connection a short while ago."""
    kept = _KNOWN.get((name, os.getpid()))
    return kept is not None and time.monotonic() - kept[0] < _KEPT_S


def remember(name: str, connection: Any) -> AwsConnection:
    """Keep a connection of Airflow for this process, and return it as it is read. For loops that
    cannot wait where it is wanted."""
    found = read_connection(name, connection)
    _KNOWN[name, os.getpid()] = (time.monotonic(), found)
    return found


def read_connection(name: str, connection: Any) -> AwsConnection:
    """Read a connection of Airflow of type ``aws``, as its Amazon provider has them. Raises
    :class:`AwsConnectionError` for what is not read of it."""
    extra: Mapping[str, Any] = connection.extra_dejson or {}
    if connection.conn_type not in ("aws", "s3"):
        raise AwsConnectionError(
            f"the connection {name} for S3 is of type {connection.conn_type}",
            hint="Name one of type aws.",
        )
    if unread := [each for each in _NOT_READ if extra.get(each)]:
        raise AwsConnectionError(
            f"the connection {name} for S3 has {unread[0]}, which Forerun does not read",
            hint="Give it a login and a password, or neither: the machine's own role then holds.",
        )
    if bool(connection.login) != bool(connection.password):
        raise AwsConnectionError(
            f"the connection {name} for S3 has one of login and password",
            hint="They are the access key and its secret: give both, or neither.",
        )
    service = (extra.get("service_config") or {}).get("s3") or {}
    endpoint = str(service.get("endpoint_url") or extra.get("endpoint_url") or "")
    if "@" in urlsplit(endpoint).netloc:
        raise AwsConnectionError(
            f"the endpoint_url of the connection {name} holds credentials",
            hint="Give them as login and password.",
        )
    return AwsConnection(
        endpoint=endpoint,
        region=str(extra.get("region_name") or ""),
        key=connection.login or "",
        secret=connection.password or "",
        token=str(extra.get("aws_session_token") or ""),
    )


@contextlib.contextmanager
def as_variables() -> Iterator[None]:
    """Let processes that are started meanwhile find the connection in their AWS_ variables."""
    found = aws_connection()
    if found is None:
        yield
        return
    before = {name: os.environ.get(name) for name in found.variables}
    os.environ.update(found.variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
