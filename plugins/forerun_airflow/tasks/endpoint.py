"""The job of runs as a client of a Spark Connect server that is there already: no application, and
no JVM, is started for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from urllib.parse import quote, urlsplit

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

from forerun.airflow.tasks.last_words import LastWords
from forerun.include.machine.job_archive import JOB
from forerun.include.machine.options import environment

SERVER = "spark_connect"
"""The type of connection of Airflow that names such a server."""
_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_ENDING_S = 20.0


class EndpointClient:
    """Runs the job against the server that a connection of type ``spark_connect`` names, in a
    process of its own, as spark-submit would. The password of the connection is the server's token:
    it is in the environment of that process, and in no command line."""

    def __init__(self, conn_id: str) -> None:
        """Raises :class:`AirflowFailException` if the connection names no such server."""
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
        self.address = _address(host, connection.port, user, ssl=ssl)
        token = {_TOKEN: connection.password} if connection.password else {}
        self._environment = token
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str], say: Callable[[str], None]) -> None:
        """Run the job with these arguments, and ``say`` each line of what it says. Raises
        :class:`AirflowException` if it fails, with the last of them."""
        command = [sys.executable, str(JOB), *arguments, "--master", self.address]
        words = LastWords()
        with subprocess.Popen(
            command,
            env={**environment(), **self._environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as self._process:
            for line in self._process.stdout or ():
                words.hear(line)
                say(line.rstrip())
        if code := self._process.returncode:
            raise AirflowException(words.why(f"Error code is: {code}"))

    def end(self) -> None:
        """End the job that is running. What it has not committed counts for nothing, whatever the
        server still does for a client that is gone."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                self._process.kill()


def _address(host: str, port: int | None, user: str, *, ssl: bool) -> str:
    """``sc://host:port/;user_id=...;use_ssl=...``, as Spark reads it."""
    place = urlsplit(host if "://" in host else f"sc://{host}").netloc
    named = f"{place}:{port}" if port else place
    options = [f"user_id={quote(user, safe='')}"] * bool(user) + ["use_ssl=true"] * ssl
    return f"sc://{named}" + (f"/;{';'.join(options)}" if options else "")
