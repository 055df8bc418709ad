"""Running planned runs as applications."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from forerun.include.engines import ENGINES, EngineSpec, own_engine
from forerun.include.machine.cpu_meter import Meter, run_measured
from forerun.include.machine.job_archive import JOB, job_archive
from forerun.include.machine.jvm import (
    driver_environment,
    require_java,
    spark_submit,
    submit_options,
)
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.attempts import attempt_token
from forerun.include.state.records import RunCommit
from forerun.include.stores.opening import split_uri
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.spark_jobs.engine import Engine

DRIVER_MEMORY = "4g"
_WARM = "SELECT id % 7 AS k, count(*) AS n, sum(id) AS s FROM range(10000) GROUP BY id % 7"


class RunFailedError(ForerunError):
    """An application ended without committing its run."""

    code = "run-failed"


@dataclass(frozen=True, slots=True)
class Used:
    """The use of an application, measured from outside. None: only its own figures are there."""

    process_cpu_s: float | None = None


class Runner(Protocol):
    """Executes the runs of stored plans in one application and returns when all are committed.
    ``name`` is for its log; ``lifted`` is the URI of a query that does several of them at once,
    empty for none; ``early_engine`` is the name of the engine that they are planned for, where it
    is not this one. Raises :class:`RunFailedError` if one of them is not committed."""

    @property
    def engine(self) -> EngineSpec: ...

    def run(
        self,
        plan_uris: Sequence[str],
        name: str,
        *,
        tiny: bool,
        lifted: str = "",
        early_engine: str = "",
    ) -> Used: ...


class SparkRunner:
    """Every application is a spark-submit, as in production. ``logs`` gets their output."""

    def __init__(
        self,
        logs: Path,
        master: str,
        conf: Mapping[str, str] | None = None,
        engine: EngineSpec = ENGINES["spark"],
        memory: str = DRIVER_MEMORY,
    ) -> None:
        require_java()
        self.engine = engine
        self._logs = logs
        self._master = master
        self._conf = dict(conf or {})
        self._memory = memory
        self._archive = job_archive(logs)

    def run(
        self,
        plan_uris: Sequence[str],
        name: str,
        *,
        tiny: bool,
        lifted: str = "",
        early_engine: str = "",
    ) -> Used:
        command = [sys.executable]
        if not early_engine:
            command = self._spark_submit(split_uri(plan_uris[0])[0], tiny)
        engine = early_engine or self.engine.name
        command += [str(JOB), "--attempt", attempt_token(1), "--engine", engine]
        for uri in plan_uris:
            command += ["--plan", uri]
        if lifted:
            command += ["--lifted", lifted]
        log = self._logs / f"{name}.log"
        with log.open("wb") as output:
            done = run_measured(command, driver_environment(), stdout=output, stderr=output)
        if done.exit_code:
            raise RunFailedError(_why(log, done.exit_code), hint=f"The whole log: {log}")
        return Used(done.process_cpu_s)

    def _spark_submit(self, store: str, tiny: bool) -> list[str]:
        """Return the command that submits, up to the job's own file."""
        options = dict(submit_options(store, tiny, master=self._master))
        command = [str(spark_submit()), "--master", self._master]
        command += ["--driver-memory", self._memory]
        for key, value in (options | self._conf).items():
            command += ["--conf", f"{key}={value}"]
        return [*command, "--py-files", str(self._archive)]


def _why(log: Path, exit_code: int) -> str:
    """The reason that the job gave, else the end of its log."""
    lines = log.read_text(errors="replace").splitlines()
    given = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    said = lines[given[-1] : given[-1] + 3] if given else lines[-5:]
    return f"the job ended with {exit_code}: " + "\n  ".join(said)


class InProcessRunner:
    """All runs in one engine inside this process: quick, and no measure of Spark."""

    def __init__(self, engine: EngineSpec, started: Engine) -> None:
        self.engine = engine
        self._started = started

    def run(
        self,
        plan_uris: Sequence[str],
        name: str,  # noqa: ARG002 - nothing is logged
        *,
        tiny: bool,  # noqa: ARG002 - there is no JVM
        lifted: str = "",
        early_engine: str = "",  # noqa: ARG002 - there is this one only
    ) -> Used:
        from forerun.spark_jobs.application import read_lifted
        from forerun.spark_jobs.executor import GivenUpError, execute
        from forerun.spark_jobs.lifted import run_lifted

        plans, done = [StoredPlan.read(uri) for uri in plan_uris], dict[str, RunCommit]()
        for query in read_lifted([lifted] if lifted else [], _quiet):
            done |= run_lifted(self._started, query, plans, attempt_token(1), _quiet, Meter())
        for stored in plans:
            if stored.key not in done:
                with suppress(GivenUpError):  # the store says so
                    execute(self._started, stored, attempt_token(1), progress=_quiet)
        return Used()


def _quiet(_line: str) -> None:
    """The engine's progress goes nowhere: the bars say enough."""


@contextmanager
def open_runner(name: str, logs: Path, master: str) -> Iterator[Runner]:
    """A runner for the engine of that name; what it started ends with the block."""
    engine = own_engine(name)
    if engine.submitted:
        yield SparkRunner(logs, master, engine=engine)
        return
    from forerun.spark_jobs.engine import start_engine

    started = start_engine(engine, master=None, name="forerun")
    try:
        # The first query of a process plans and starts threads for all that follow it: measured
        # with the day it would make early work look dear, as the plain query comes after it.
        started.session.sql(_WARM).collect()
        yield InProcessRunner(engine, started)
    finally:
        started.stop()


def scratch_folder(base: Path, name: str) -> Path:
    """A new folder for one simulation."""
    base.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))
