"""Spark itself behind a Spark Connect server that is there already: a run starts no application.

This process is a client without a JVM. The server's catalog belongs to all who use it, so families
are plain views over the committed files, as on the small engine, and no table is ever made. Views
and settings are those of a session, and each run has a session of its own. The server says nothing
of its executors: what they used is not in :meth:`ConnectEngine.used`.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from forerun.include.machine.eventlog import ApplicationUse
from forerun.include.reports.spark.session import refuse_differing
from forerun.planner.contract import Family, NamedTable
from forerun.spark_jobs.engine import SESSION_REQUIRED, EngineError, Frame, Judgement, quoted
from forerun.spark_jobs.engines.explained import compared, judge_of
from forerun.spark_jobs.engines.session import ViewEngine, connect_functions

_PORT = 15002
_ANSWER_S = 20.0
"""How long a server may take to accept a connection before it counts as down."""
_RETRIES, _LONGEST_WAIT_MS = 6, 5_000
"""How often a request is made again that got no answer. Spark's own way waits for ten minutes,
in which Airflow could have tried the run again."""
_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_FILES_ONLY = ("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")


class ConnectEngine(ViewEngine):
    """Implements :class:`forerun.spark_jobs.engine.Engine` on a server of Spark itself."""

    name = "connect"
    reports_cpu = False

    @contextmanager
    def computed_first(self, view: str, frame: Frame, rows: int) -> Iterator[None]:
        held = frame if rows else frame.persist()
        try:
            if not rows:
                held.count()
            self.bind_view(view, held)
            yield
        finally:
            self.session.sql(f"DROP VIEW IF EXISTS {quoted(view)}")
            if not rows:
                held.unpersist()

    def write_artifact(self, frame: Frame, family: Family, folder: str) -> int | None:  # noqa: ARG002
        frame.write.mode("overwrite").option("compression", "zstd").parquet(folder)
        return None  # only the server's own events say what its writers committed

    def write_result(
        self,
        frame: Frame,
        folder: str,
        *,
        ordered: bool,  # noqa: ARG002 - Spark numbers the files of a sorted frame in order
        by: str = "",
    ) -> int | None:
        frame.write.mode("overwrite").partitionBy(*filter(None, (by,))).parquet(folder)
        return None

    def judge(self) -> str:
        return judge_of(self.session)

    def compared(
        self,
        tables: tuple[NamedTable, ...],
        text: str,
        reading: str,
        parameters: Mapping[str, object],
    ) -> Judgement:
        return compared(self.session, tables, text, reading, parameters)

    @contextmanager
    def working_on(self, stage: str) -> Iterator[None]:  # noqa: ARG002 - the server has the events
        with connect_functions():
            yield

    def used(self) -> ApplicationUse:
        return ApplicationUse(())

    def stop(self) -> None:
        self.session.stop()


def start_connect(*, master: str | None = None, name: str = "") -> ConnectEngine:  # noqa: ARG001
    """Open a session on the server that ``master`` names, ``sc://host:port``.

    Raises :class:`EngineError` if that is no address of a server, holds a token, if the server is
    down, or if its Spark is of another version than this one; and
    :class:`forerun.include.reports.spark.session.SessionError` if the server sets otherwise what
    the meaning of SQL depends on.
    """
    address = master or ""
    _check_answers(*_host_and_port(address))
    import pyspark
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(address).create()
    retries = DefaultPolicy(max_retries=_RETRIES, max_backoff=_LONGEST_WAIT_MS)
    session.client.set_retry_policies([retries])
    if session.version != pyspark.__version__:
        found = session.version
        session.stop()
        raise EngineError(
            f"the Spark Connect server has Spark {found}, and this process {pyspark.__version__}",
            hint="Run the server with the version that requirements.lock has.",
        )
    engine = ConnectEngine(session)
    try:
        refuse_differing(lambda name: session.conf.get(name, None))  # all at once not before 4.0
        engine.configure((*SESSION_REQUIRED, _FILES_ONLY))
    except BaseException:
        engine.stop()
        raise
    return engine


def _host_and_port(address: str) -> tuple[str, int]:
    """Return the host and port to connect to. A message never holds the address as it was given:
    that may be secret."""
    if "token=" in address.lower():
        raise EngineError(
            "the address of the Spark Connect server holds a token",
            hint=f"Leave it out, for it is a part of command lines; set {_TOKEN}.",
        )
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        parts, host, port = urlsplit(""), None, _PORT
    if parts.scheme != "sc" or not host or parts.username is not None:
        raise EngineError(
            "no Spark Connect server is named",
            hint="Name it as sc://host:port, or in Airflow's connection of type spark_connect.",
        )
    return host, port


def _check_answers(host: str, port: int) -> None:
    try:
        socket.create_connection((host, port), timeout=_ANSWER_S).close()
    except OSError as error:
        raise EngineError(
            f"no Spark Connect server answers at {host}:{port}: {error.strerror or error}",
            hint="Start the server, or use --engine spark; then retry the run. Nothing is "
            "committed, and stages that are done are taken over.",
        ) from None
