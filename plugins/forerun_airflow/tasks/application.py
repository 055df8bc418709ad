"""A Spark application of runs, through Airflow's own SparkSubmitOperator."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
)

from forerun.airflow.day import explained
from forerun.airflow.retries import RepeatableOperator
from forerun.airflow.tasks.child_job import ChildJob
from forerun.airflow.tasks.cores import HeldCores, WantedCores, take_cores
from forerun.airflow.tasks.endpoint import SERVER, endpoint_client
from forerun.airflow.tasks.last_words import LastWords
from forerun.include.engines import engine_spec
from forerun.include.machine.aws_connection import as_variables
from forerun.include.machine.job_archive import JOB
from forerun.include.machine.jvm import spark_submit
from forerun.include.machine.options import said_in_section
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.spark.spark_conf import check_spark_conf
from forerun.include.state.attempts import attempt_token


class SubmitApplication(RepeatableOperator, SparkSubmitOperator):
    """Submits an application that does the runs of stored plans.

    Every try has its own attempt token: what an earlier try, perhaps still alive, writes is never
    mixed with what this one writes, and only one of them can commit. ``durable`` is off: with it,
    a cleared task would take the success of the old job for its own and submit nothing.

    Neither arguments nor configuration ever hold a secret: drivers inherit ``AWS_*`` from the
    worker, and ``spark_conf``, which is added to the configuration, takes no setting that can hold
    one. ``engine`` ``sail`` runs the same job on the small engine, inside the driver's Python: for
    tests and small data; ``connect`` on the server that the connection names, and submits nothing.
    Neither does a run of an engine of early runs, which is a process of its own on this worker.
    With a ``cluster`` the task waits deferred for cores of it; it looks every
    ``poll`` seconds. Its task instances in a backfill take ``backfill_pool``, if there is one
    (:mod:`forerun.airflow_policy`).
    """

    ui_color = "#fdeee4"
    conf: dict[str, str] | None

    def __init__(
        self,
        *,
        engine: str = "spark",
        spark_conf: dict[str, str] | None = None,
        cluster: Cluster | None = None,
        poll: float = 30.0,
        backfill_pool: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            application=str(JOB),
            conf=check_spark_conf(spark_conf or {}),
            application_args=[],
            spark_binary=str(spark_submit()),
            durable=False,
            **kwargs,
        )
        self.engine = engine_spec(engine).name
        self.cluster = cluster
        self.poll = poll
        self.backfill_pool = backfill_pool
        self._cores: HeldCores | None = None
        self._child: ChildJob | None = None
        self._engine_now = self.engine
        self._words = LastWords()

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that the scheduler knows: also the pool of runs in a backfill."""
        return frozenset(super().get_serialized_fields() | {"backfill_pool"})

    def resume(self, context: Any, event: Any = None) -> None:  # noqa: ARG002
        """After a wake-up call: whatever the event says, look again."""
        self.execute(context)

    def take_cores(self, store: str, wanted: WantedCores) -> None:
        """Return when the task has the cores that it wants, else wait deferred."""
        if self.cluster is not None:
            self._cores = take_cores(self, self.cluster, store, wanted)

    def give_back_cores(self) -> None:
        """Let others have the cores, if the task has any."""
        if self._cores is not None:
            self._cores.end()

    def end_application(self) -> None:
        """End the application that is running: its cores are somebody else's."""
        if self._child is not None:
            self._child.end()
        else:
            super().on_kill()

    def on_kill(self) -> None:
        self.end_application()
        self.give_back_cores()

    def make_ready(self, store: str, *, tiny: bool, early_engine: str = "") -> None:
        """Prepare what every submission of this try has in common; ``store`` is the URI of the
        store, ``tiny`` whether there is next to no data, ``early_engine`` the name of the engine
        that is planned for, where it is not this DAG's."""
        self._engine_now, self._child = early_engine or self.engine, None
        if early_engine:
            self._child = ChildJob()
            return
        if engine_spec(self.engine).endpoint:
            self._child = endpoint_client(self._conn_id)
            return
        master = self._check_connection()
        with explained():
            from forerun.include.machine.job_archive import job_archive
            from forerun.include.machine.jvm import local_name, require_java, submit_options
            from forerun.include.machine.pyspark_files import require_pyspark

            require_java()  # spark-submit itself is a Java program
            require_pyspark()
            self.py_files = str(job_archive())
            # Here and not where the run is planned: that may be another machine.
            own = submit_options(store, tiny, master=master)
        self.conf = {**dict(own), **(self.conf or {})}
        self.env_vars = {**said_in_section(), **_this_spark(), **local_name(master)}

    @property
    def is_early_engine(self) -> bool:
        """Return whether this try is for an engine of early runs."""
        return self._engine_now != self.engine

    def submit(self, context: Any, plans: Sequence[str], *options: str) -> None:
        """Submit the runs of these plans, and return when all are committed."""
        attempt = attempt_token(_tries(context["ti"], self.retries))
        self.application_args = [
            *(part for plan in plans for part in ("--plan", plan)),
            *options,
            *("--attempt", attempt),
            *("--engine", self._engine_now),
        ]
        with explained(), as_variables():
            self._submitted(context)

    def _submitted(self, context: Any) -> None:
        if self._child is not None:
            self._child.run(self.application_args, self.log.info)
            return
        self._hook = None  # it holds the arguments of the submission before
        self._words = LastWords()
        try:
            super().execute(context)
        except AirflowException as error:
            # In place of the whole command line, below which the reason would stand.
            raise AirflowException(self._words.why(str(error))) from None

    def _get_hook(self) -> Any:
        """Airflow's hook, which logs what the application says; its last words are kept."""
        hook, words = super()._get_hook(), self._words
        log = hook._process_spark_submit_log  # noqa: SLF001 - every line comes through it
        hook._process_spark_submit_log = lambda lines: log(words.listen(lines))  # noqa: SLF001
        return hook

    def _check_connection(self) -> str:
        """Return the master of the connection. One that is missing would silently mean YARN."""
        try:
            found = BaseHook.get_connection(self._conn_id)
        except AirflowNotFoundException:
            raise AirflowFailException(
                f"there is no Airflow connection {self._conn_id}, so nothing says which Spark to "
                "use\n  hint: for this machine set AIRFLOW_CONN_SPARK_DEFAULT to "
                '{"conn_type": "spark", "host": "local[2]"}'
            ) from None
        if found.conn_type == SERVER:
            raise AirflowFailException(
                f"the connection {self._conn_id} is a Spark Connect server, to which nothing is "
                'submitted\n  hint: give the DAG engine="connect"'
            )
        named = self._connection_as_read()
        master = str(named["master"])
        if master.startswith("spark://") and named["deploy_mode"] == "cluster":
            raise AirflowFailException(
                f"the connection {self._conn_id} has deploy mode cluster, and Spark standalone "
                "runs no Python driver in it\n  hint: leave deploy-mode out of the connection's "
                "extra: the driver then runs in this task, and its executors on the cluster"
            )
        return master

    def _connection_as_read(self) -> Mapping[str, Any]:
        """Return the connection as Airflow's hook reads it. Without the package of Kubernetes the
        hook ends for such a master in a name that it has not imported."""
        try:
            read: Mapping[str, Any] = self._get_hook()._connection  # noqa: SLF001 - no other way
        except (NameError, RuntimeError) as error:
            if "kube" not in str(error):
                raise
            raise AirflowFailException(
                f"the connection {self._conn_id} names a master of Kubernetes, and this Airflow "
                f"lacks the package for it ({error})\n  hint: install "
                "apache-airflow-providers-cncf-kubernetes where tasks run, or name another master"
            ) from None
        return read


def _tries(ti: Any, retries: int | None) -> int:
    """Return how often a task instance was begun since it was last cleared, which adds ``retries``
    to what it may be tried in all."""
    begun: int = ti.try_number - (ti.max_tries - (retries or 0))
    return max(1, begun)


def _this_spark() -> dict[str, str]:
    """This Python and its Spark, whatever SPARK_HOME the worker has. Nothing is imported."""
    spec = importlib.util.find_spec("pyspark")
    home = {"SPARK_HOME": str(Path(spec.origin).parent)} if spec and spec.origin else {}
    return {**home, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
