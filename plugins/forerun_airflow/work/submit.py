"""The Spark applications of runs, through Airflow's own SparkSubmitOperator."""

from __future__ import annotations

import importlib.util
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
)

from forerun.airflow.day import (
    OpenedDay,
    explained,
    final_task_of,
    opened_day,
    opened_for,
    store_uri,
    utc_now,
)
from forerun.airflow.retries import RepeatableOperator, retries_of
from forerun.airflow.watching.telling import telling_how_runs_end
from forerun.airflow.work.choosing import times_of
from forerun.airflow.work.cores import HeldCores, WantedCores, joined, take_cores, wanted_for
from forerun.airflow.work.endpoint import SERVER, EndpointClient
from forerun.airflow.work.tasks import prepared_run
from forerun.include.engines import engine_spec
from forerun.include.machine.job_archive import JOB
from forerun.include.machine.jvm import spark_submit
from forerun.include.machine.options import said_in_section
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.spark_conf import check_spark_conf
from forerun.include.reports.spec import ReportSpec
from forerun.include.telemetry.events import Part
from forerun.planner.errors import ContractError, ForerunError

if TYPE_CHECKING:
    from forerun.include.days.handle import Day


class SubmitApplication(RepeatableOperator, SparkSubmitOperator):
    """Submits an application that does the runs of stored plans.

    Every try has its own attempt token: what an earlier try, perhaps still alive, writes is never
    mixed with what this one writes, and only one of them can commit. ``durable`` is off: with it,
    a cleared task would take the success of the old job for its own and submit nothing.

    Neither arguments nor configuration ever hold a secret: drivers inherit ``AWS_*`` from the
    worker, and ``spark_conf``, which is added to the configuration, takes no setting that can hold
    one. ``engine`` ``sail`` runs the same job on the small engine, inside the driver's Python: for
    tests and small data; ``connect`` on the server that the connection names, and submits nothing.
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
        self._client: EndpointClient | None = None

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """What the scheduler knows of the task: also the pool that it takes in a backfill."""
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
        if self._client is not None:
            self._client.end()
        else:
            super().on_kill()

    def on_kill(self) -> None:
        self.end_application()
        self.give_back_cores()

    def make_ready(self, store: str, *, tiny: bool) -> None:
        """Prepare what every submission of this try has in common; ``store`` is the URI of the
        store, ``tiny`` whether there is next to no data."""
        if engine_spec(self.engine).endpoint:
            self._client = EndpointClient(self._conn_id)
            return
        master = self._check_connection()
        with explained():
            from forerun.include.machine.job_archive import job_archive
            from forerun.include.machine.jvm import require_java, submit_options
            from forerun.include.machine.pyspark_files import require_pyspark

            require_java()  # spark-submit itself is a Java program
            require_pyspark()
            self.py_files = str(job_archive())
            # Here and not where the run is planned: that may be another machine.
            own = submit_options(store, tiny, master=master)
        self.conf = {**dict(own), **(self.conf or {})}
        self.env_vars = {**said_in_section(), **_this_spark()}

    def submit(self, context: Any, plans: Sequence[str], *options: str) -> None:
        """Submit the runs of these plans, and return when all are committed."""
        attempt = f"t{context['ti'].try_number}-{uuid.uuid4().hex[:8]}"
        self.application_args = [
            *(part for plan in plans for part in ("--plan", plan)),
            *options,
            *("--attempt", attempt),
            *("--engine", self.engine),
        ]
        if self._client is not None:
            self._client.run(self.application_args, self.log.info)
            return
        self._hook = None  # it holds the arguments of the submission before
        super().execute(context)

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
        named = self._get_hook()._connection  # noqa: SLF001 - as the hook will read it
        master = str(named["master"])
        if master.startswith("spark://") and named["deploy_mode"] == "cluster":
            raise AirflowFailException(
                f"the connection {self._conn_id} has deploy mode cluster, and Spark standalone "
                "runs no Python driver in it\n  hint: leave deploy-mode out of the connection's "
                "extra: the driver then runs in this task, and its executors on the cluster"
            )
        return master


class SubmitRun(SubmitApplication):
    """Submits run ``run`` as its plan task planned it; skips when the plan gives it nothing to do.

    If what the plan reads of another report is gone by now, the run is planned without it and
    submitted once more.
    """

    def __init__(
        self, *, spec: ReportSpec, day_task: str, plan_task: str, run: int, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.day_task = day_task
        self.plan_task = plan_task
        self.run = run
        # As the DAG has it: the day may have been opened by a report with other runs.
        self.final_task = final_task_of(day_task, spec)

    def execute(self, context: Any) -> None:
        planned = context["ti"].xcom_pull(task_ids=self.plan_task)
        if not planned:
            raise AirflowFailException(f"run {self.run} was not planned: see {self.plan_task}")
        if not planned["submit"]:
            raise AirflowSkipException(planned["why"])
        opened = opened_for(self, context)
        self._refuse_late_try(context)
        if self.cluster is not None:
            with explained():
                self.take_cores(store_uri(self.spec), self._wanted(context, opened, self.cluster))
        try:
            self._run(context, opened, planned)
        finally:
            self.give_back_cores()

    def _wanted(self, context: Any, opened: OpenedDay, cluster: Cluster) -> WantedCores:
        """The cores that the application asks for."""
        retries = retries_of(self, self.final_task)
        wanted = [
            wanted_for(one.of(self.spec), one, self.run, context, retries, cluster)
            for one in opened.each()
        ]
        if not opened.days:
            return wanted[0]
        return replace(wanted[0], request=joined(self.spec.name, [one.request for one in wanted]))

    def _run(self, context: Any, opened: OpenedDay, planned: Mapping[str, Any]) -> None:
        part: Part = "early" if self.run < self.spec.runs else "final"
        plan_uri = "" if opened.days else self._as_batch(context) or str(planned["plan"])
        self.make_ready(store_uri(self.spec), tiny=bool(planned["tiny"]))
        self.name = f"forerun-{context['ti'].dag_id}-run-{self.run}"
        days = [one.of(self.spec) for one in opened.each()]
        with telling_how_runs_end(lambda: [(day, self.run, part) for day in days]):
            if opened.days:
                self._submit_days(context, days, planned)
            else:
                self._submit_run(context, plan_uri)
        if self.run < self.spec.runs:
            with explained():
                self._look_at_early_run(plan_uri)

    def _submit_days(self, context: Any, days: Sequence[Day], planned: Mapping[str, Any]) -> None:
        """Submit what is not committed of a backfill. Where the last try fails, the days that are
        committed go on: what publishes them names the others."""
        plans: Mapping[str, str] = planned["plans"]
        query = planned.get("query", "")  # a plan task of an older version knows none
        todo = [day.at.day for day in days if day.commit(self.run) is None]
        left = [plans[day] for day in todo if day in plans]
        if not left:
            self.log.info("every day that has a plan is computed already")
            return
        try:
            self.submit(context, left, *(("--lifted", query) if query else ()))
        except AirflowException as error:
            ti = context["ti"]
            done = any(day.commit(self.run) is not None for day in days)
            if not done or ti.try_number <= ti.max_tries:
                raise
            self.log.error("not all days are computed: %s", error)

    def _submit_run(self, context: Any, plan_uri: str) -> None:
        try:
            self.submit(context, [plan_uri], "--run", str(self.run))
        except AirflowException:
            again = self._planned_again(context, plan_uri)
            if not again:
                raise
            self.submit(context, [again], "--run", str(self.run))

    def _refuse_late_try(self, context: Any) -> None:
        """An early run that has failed is not tried again into the time of the next one: that
        would hold it up, and reads the same data anyway."""
        if self.run == self.spec.runs or context["ti"].try_number < 2:
            return
        opened = opened_day(context, self.day_task)
        if opened.mode == "auto" and self._next_is_due(opened):
            raise AirflowFailException(
                f"run {self.run} is not tried again: the time of run {self.run + 1} has come, and "
                "that one reads what this one would have read"
            )

    def _as_batch(self, context: Any) -> str:
        """The plan of batch, where the final run has failed and only that can still be in time;
        else nothing."""
        from forerun.include.times.way_out import read_way_out

        ti = context["ti"]
        if self.run != self.spec.runs or ti.try_number < 2:
            return ""
        opened = opened_day(context, self.day_task)
        with explained():
            day, last = opened.of(self.spec), ti.try_number > ti.max_tries
            why = read_way_out(day, utc_now(), failed=True, last=last)
            if not why:
                return ""
            self.log.warning("planned again as batch: %s", why)
            return prepared_run(
                self.spec, opened, self.run, engine=self.engine, batch=True
            ).plan_uri

    def _next_is_due(self, opened: OpenedDay) -> bool:
        with explained():
            return utc_now() >= times_of(opened.of(self.spec), opened).after(self.run)

    def _planned_again(self, context: Any, plan_uri: str) -> str:
        """Another plan of the run, if that is why it failed that its plan is damaged or of another
        version of Forerun; else nothing. Where that cannot be found out, the failure of the run is
        what counts: it may be tried again."""
        from forerun.include.runs.stored_plan import StoredPlan

        if self.run > self.spec.runs:
            return ""  # a repair is planned where it is opened
        try:
            StoredPlan.read(plan_uri)
        except ContractError as error:
            why = str(error)
        except ForerunError as error:
            self.log.warning("why the run failed cannot be looked up: %s", error.message)
            return ""
        else:
            return ""
        with explained():
            self.log.warning("planning the run again: %s", why)
            opened = opened_day(context, self.day_task)
            prepared = prepared_run(self.spec, opened, self.run, engine=self.engine)
        if prepared.skip_reason:
            raise AirflowSkipException(prepared.skip_reason)
        return prepared.plan_uri

    def _look_at_early_run(self, plan_uri: str) -> None:
        """Fail an early run whose deliveries break a critical expectation: that is hours before the
        deadline. The run stays committed, and the final run goes on from it. Skip one that has
        given up."""
        from forerun.include.state.commits import read_commit
        from forerun.include.state.given_up import read_given_up
        from forerun.include.state.layout import generation_of
        from forerun.include.state.opening import open_store, split_uri

        root, key = split_uri(plan_uri)
        store, at = open_store(root), generation_of(key)
        commit = read_commit(store, at, self.run)
        if commit is None and (given_up := read_given_up(store, at, self.run)) is not None:
            raise AirflowSkipException(given_up.why)
        broken = [check for check in commit.checks if check.critical] if commit else []
        if broken:
            raise AirflowFailException(
                "critical expectations do not hold; unless that is put right, the report will not "
                "be published: "
                + ", ".join(f"{check.target} (see {root}/{check.key})" for check in broken)
            )


def _this_spark() -> dict[str, str]:
    """This Python and its Spark, whatever SPARK_HOME the worker has. Nothing is imported."""
    spec = importlib.util.find_spec("pyspark")
    home = {"SPARK_HOME": str(Path(spec.origin).parent)} if spec and spec.origin else {}
    return {**home, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
