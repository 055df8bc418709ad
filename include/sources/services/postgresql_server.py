"""A server of PostgreSQL, by an Airflow connection of type ``postgres``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

from forerun.include.machine.connections import connection
from forerun.include.reports.places import split_service
from forerun.include.sources.services.service_error import ServiceError

_PASSED = (
    "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "connect_timeout", "keepalives",
    "keepalives_idle", "options", "target_session_attrs", "channel_binding", "gssencmode",
)  # fmt: skip
"""What the extra of a connection has for libpq; the rest is for Airflow's hooks."""


@contextmanager
def connected(uri: str) -> Iterator[Any]:
    """Connect for the duration of the block to the server that ``postgresql://<connection>/<name>``
    names; nothing is committed by itself. Raises :class:`ServiceError` in the words of the server.
    """
    name, _ = split_service(uri)
    try:
        from adbc_driver_manager import Error
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise ServiceError(
            f"{uri} is a table of PostgreSQL, and adbc-driver-postgresql is not installed",
            hint='pip install "forerun[database]"',
        ) from None
    try:
        with dbapi.connect(_address(uri, name)) as opened:
            yield opened
    except Error as error:
        raise ServiceError(
            f"{uri}: {str(error).strip()}",
            hint="Look at the server, at the connection that the path names, and at what its user "
            "may read and write; then retry the task.",
        ) from None


def quoted(name: str) -> str:
    """Return a name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def _address(uri: str, name: str) -> str:
    """Return what libpq connects by."""
    found = connection(name)
    if found.kind not in ("postgres", "postgresql"):
        raise ServiceError(
            f"{uri}: the connection {name} is of type {found.kind}",
            hint="Name one of type postgres.",
        )
    more = {key: str(value) for key, value in found.extra.items() if key in _PASSED}
    host = found.host
    if host.startswith("/"):  # the folder of a socket
        more["host"], host = host, ""
    login = quote(found.login, safe="")
    if found.password:
        login += f":{quote(found.password, safe='')}"
    port = f":{found.port}" if found.port else ""
    options = f"?{urlencode(more)}" if more else ""
    return f"postgresql://{login}{'@' * bool(login)}{host}{port}/{quote(found.database)}{options}"
