"""The Spark application of a run, through Airflow's own SparkSubmitOperator."""

from __future__ import annotations

import importlib.util
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
)

from forerun_airflow.day import explained, opened_day
from forerun_airflow.tasks import prepared_run
from include.jvm import spark_submit
from include.report import ReportSpec, SpecError

_SECRET = re.compile(r"\.(access|secret)\.key$|\.session\.token$|password$", re.IGNORECASE)
JOB = Path(__file__).resolve().parents[2] / "spark_jobs" / "run.py"


class SubmitRun(SparkSubmitOperator):
    """Submits run ``run`` as its plan task planned it; skips when the plan gives it nothing to do.

    Every try has its own attempt token: what an earlier try, perhaps still alive, writes is never
    mixed with what this one writes, and only one of them can commit. ``durable`` is off: with it,
    a cleared task would take the success of the old job for its own and submit nothing.

    Neither arguments nor configuration ever hold a secret: drivers inherit ``AWS_*`` from the
    worker. If what the plan reads of another report is gone by now, the run is planned without it
    and submitted once more. ``spark_conf`` is added to the configuration (sizes, queues).
    ``engine`` ``sail`` runs the same job on the small engine, inside the driver's Python: for tests
    and small data.
    """

    ui_color = "#fdeee4"
    conf: dict[str, str] | None

    def __init__(
        self,
        *,
        spec: ReportSpec,
        day_task: str,
        plan_task: str,
        run: int,
        engine: str = "spark",
        spark_conf: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        _refuse_secrets(spark_conf or {})
        super().__init__(
            application=str(JOB),
            conf=dict(spark_conf or {}),
            application_args=[],
            spark_binary=str(spark_submit()),
            durable=False,
            **kwargs,
        )
        self.spec = spec
        self.day_task = day_task
        self.plan_task = plan_task
        self.run = run
        self.engine = engine

    def execute(self, context: Any) -> None:
        planned = context["ti"].xcom_pull(task_ids=self.plan_task)
        if not planned:
            raise AirflowFailException(f"run {self.run} was not planned: see {self.plan_task}")
        if not planned["submit"]:
            raise AirflowSkipException(planned["why"])
        self._check_connection()
        plan_uri = str(planned["plan"])
        with explained():
            from include.job_archive import job_archive
            from include.jvm import require_java

            require_java()  # spark-submit itself is a Java program
            self.py_files = str(job_archive())
        self.conf = {**dict(planned["conf"]), **(self.conf or {})}
        self.env_vars = _this_spark()
        self.name = f"forerun-{context['ti'].dag_id}-run-{self.run}"
        try:
            self._submit(context, plan_uri)
        except AirflowException:
            again = self._planned_without(context, plan_uri)
            if not again:
                raise
            self._submit(context, again)
        if self.run < self.spec.runs:
            with explained():
                self._raise_alarm(plan_uri)

    def _submit(self, context: Any, plan_uri: str) -> None:
        attempt = f"t{context['ti'].try_number}-{uuid.uuid4().hex[:8]}"
        self.application_args = [
            *("--plan", plan_uri),
            *("--run", str(self.run)),
            *("--attempt", attempt),
            *("--engine", self.engine),
        ]
        self._hook = None  # it holds the arguments of the submission before
        super().execute(context)

    def _planned_without(self, context: Any, plan_uri: str) -> str:
        """Another plan of the run, if that is why it failed that something which another report
        kept is gone; else nothing."""
        from include.sharing import find_lost

        with explained():
            lost = find_lost(plan_uri)
            if lost is None:
                return ""
            self.log.warning("planning the run again: %s", lost.message)
            opened = opened_day(context, self.day_task)
            prepared = prepared_run(self.spec, opened, self.run, share=False)
        if prepared.skip_reason:
            raise AirflowSkipException(prepared.skip_reason)
        return prepared.plan_uri

    def _raise_alarm(self, plan_uri: str) -> None:
        """Fail an early run whose deliveries break a critical expectation: that is hours before the
        deadline. The run stays committed, and the final run goes on from it."""
        from include.state.commits import read_commit
        from include.state.layout import generation_of
        from include.state.opening import open_store, split_uri

        root, key = split_uri(plan_uri)
        commit = read_commit(open_store(root), generation_of(key), self.run)
        broken = [check for check in commit.checks if check.critical] if commit else []
        if broken:
            raise AirflowFailException(
                "critical expectations do not hold; unless that is put right, the report will not "
                "be published: "
                + ", ".join(f"{check.target} (see {root}/{check.key})" for check in broken)
            )

    def _check_connection(self) -> None:
        """A connection that is missing would silently mean a YARN cluster."""
        try:
            BaseHook.get_connection(self._conn_id)
        except AirflowNotFoundException:
            raise AirflowFailException(
                f"there is no Airflow connection {self._conn_id}, so nothing says which Spark to "
                "use\n  hint: for this machine set AIRFLOW_CONN_SPARK_DEFAULT to "
                '{"conn_type": "spark", "host": "local[2]"}'
            ) from None


def _refuse_secrets(conf: dict[str, str]) -> None:
    """The command line is logged, and Airflow masks only some of these."""
    if named := next((name for name in conf if _SECRET.search(name)), None):
        raise SpecError(
            f"spark_conf has {named}, which would be a part of a command line that is logged",
            hint="Leave it out: drivers inherit AWS_* from the worker; or give the machine a role.",
        )


def _this_spark() -> dict[str, str]:
    """This Python and its Spark, whatever SPARK_HOME the worker has. Nothing is imported."""
    spec = importlib.util.find_spec("pyspark")
    home = {"SPARK_HOME": str(Path(spec.origin).parent)} if spec and spec.origin else {}
    return {**home, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
