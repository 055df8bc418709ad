"""The job of runs as a client of a Spark Connect server that is there already."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from forerun.airflow.tasks.child_job import ChildJob

SERVER = "spark_connect"
"""The type of connection of Airflow that names such a server."""
_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"


def endpoint_client(conn_id: str) -> ChildJob:
    """Return the job against the server that a connection of type ``spark_connect`` names. The
    password of the connection is the server's token: it is in no command line.

    Raises :class:`AirflowFailException` if the connection names no such server.
    """
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise AirflowFailException(
            f"there is no Airflow connection {conn_id}, so nothing says where the server is"
            f"\n  hint: make one of type {SERVER} with its host and port"
        ) from None
    if connection.conn_type != SERVER:
        raise AirflowFailException(
            f"the connection {conn_id} is of type {connection.conn_type}, and engine connect "
            f"needs one of type {SERVER}\n  hint: name it by conn_id=, or leave engine= out"
        )
    ssl = str(connection.extra_dejson.get("use_ssl")).lower() == "true"
    host, user = connection.host or "", connection.login or ""
    address = _address(host, connection.port, user, ssl=ssl)
    token = {_TOKEN: connection.password} if connection.password else {}
    return ChildJob(("--master", address), token)


def _address(host: str, port: int | None, user: str, *, ssl: bool) -> str:
    """``sc://host:port/;user_id=...;use_ssl=...``, as Spark reads it."""
    place = urlsplit(host if "://" in host else f"sc://{host}").netloc
    named = f"{place}:{port}" if port else place
    options = [f"user_id={quote(user, safe='')}"] * bool(user) + ["use_ssl=true"] * ssl
    return f"sc://{named}" + (f"/;{';'.join(options)}" if options else "")
