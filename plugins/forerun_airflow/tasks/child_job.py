"""The job of runs in a process of its own on the worker: no application, and no JVM, is started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from airflow.sdk.exceptions import AirflowException

from forerun.airflow.tasks.last_words import LastWords
from forerun.include.machine.job_archive import JOB
from forerun.include.machine.options import environment

_ENDING_S = 20.0


class ChildJob:
    """Runs the job as spark-submit would, with ``options`` added to its arguments, and ``secrets``
    to its environment only."""

    def __init__(
        self, options: Sequence[str] = (), secrets: Mapping[str, str] | None = None
    ) -> None:
        self._options = tuple(options)
        self._secrets = dict(secrets or {})
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str], say: Callable[[str], None]) -> None:
        """Run the job with these arguments, and ``say`` each line of what it says. Raises
        :class:`AirflowException` if it fails, with the last of them."""
        command = [sys.executable, str(JOB), *arguments, *self._options]
        words = LastWords()
        with subprocess.Popen(
            command,
            env={**environment(), **self._secrets},
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
        """End the job that is running. What it has not committed counts for nothing, whatever a
        server still does for a client that is gone."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
