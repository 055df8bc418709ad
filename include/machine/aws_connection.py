"""S3 by an Airflow connection: its endpoint, its region, its keys.

The option ``aws_conn_id`` names the connection. It holds in processes that have Airflow loaded, and
comes before the AWS_ variables there; a driver that they start gets it as such variables. Keys are
in no plan, no record and no command line, and no text of what holds them shows them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from forerun.include.machine.connections import Connection, connection, is_airflow_loaded
from forerun.include.machine.options import AWS_CONN_ID, environment
from forerun.planner.errors import ForerunError

_NOT_READ = (
    "role_arn", "role_kwargs", "assume_role_method", "profile_name", "session_kwargs",
    "assume_role_kwargs",
)  # fmt: skip


class AwsConnectionError(ForerunError):
    """The Airflow connection for S3 says something that is not read."""

    code = "aws-connection"


@dataclass(frozen=True, slots=True)
class AwsConnection:
    """The way to S3: what is empty is left to the AWS_ variables, and the machine's own."""

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
    return environment().get(AWS_CONN_ID.variable, "") if is_airflow_loaded() else ""


def aws_connection() -> AwsConnection | None:
    """Return the connection for S3, None where there is none to use. Raises
    :class:`AwsConnectionError` for what is not read of it, and
    :class:`forerun.include.machine.connections.UnknownConnectionError` if it is not there."""
    name = wanted_connection()
    return read_connection(name, connection(name)) if name else None


def read_connection(name: str, found: Connection) -> AwsConnection:
    """Read a connection of type ``aws``, as Airflow's Amazon provider has them. Raises
    :class:`AwsConnectionError` for what is not read of it."""
    extra = found.extra
    if found.kind not in ("aws", "s3"):
        raise AwsConnectionError(
            f"the connection {name} for S3 is of type {found.kind}",
            hint="Name one of type aws.",
        )
    if unread := [each for each in _NOT_READ if extra.get(each)]:
        raise AwsConnectionError(
            f"the connection {name} for S3 has {unread[0]}, which Forerun does not read",
            hint="Give it a login and a password, or neither: the machine's own role then holds.",
        )
    if bool(found.login) != bool(found.password):
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
        key=found.login,
        secret=found.password,
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
