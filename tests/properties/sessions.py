"""Sessions of the engines, one per test process."""

from __future__ import annotations

from functools import cache
from typing import Any

SESSION = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}


@cache
def _sail_server() -> Any:
    """A Sail server in this process; it ends with it."""
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(port=0)
    server.start(background=True)
    return server


@cache
def sail_session() -> Any:
    from pyspark.sql import SparkSession

    _, port = _sail_server().listening_address
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    for name, value in SESSION.items():
        session.conf.set(name, value)
    return session
