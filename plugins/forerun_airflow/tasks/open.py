"""Opening a day: which it is, how it is to be run, and in which generation."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException

from forerun.airflow.day import (
    BACKFILL,
    LEFT_OUT,
    OPEN_DAY,
    REPAIR,
    NothingToDoError,
    OpenedDay,
    as_xcom,
    choose_mode,
    explained,
    final_task_of,
    report_date,
    store_uri,
    trigger_of,
    utc_now,
)
from forerun.airflow.retries import RepeatableOperator, retries_of
from forerun.airflow.tasks.backfilling import open_backfill
from forerun.airflow.tasks.choosing import choose_again, is_choosing
from forerun.airflow.tasks.plan import settings_on
from forerun.airflow.tasks.repairing import open_repair
from forerun.airflow.tasks.sharing import say_wanted
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.reports_of_reports import due_too_late, reports_read
from forerun.include.reports.spec import ReportSpec

if TYPE_CHECKING:
    from forerun.include.days.handle import Day
    from forerun.include.state.records import OpenedBy


class OpenDay(RepeatableOperator):
    """Decides which day the DAG run is about and how to run it, and opens its generation.

    A DAG run that is cleared as a whole opens a new generation; clearing only later tasks goes on
    in the one that is open. A dry run opens none: it only says which one it would have been.
    ``group`` names the report group, empty for none; a report of one that the DAG run is not about,
    or of which it has nothing to do, is left out. A ``cluster`` is kept in the store as its
    author has written it, with when the report wants cores of it. ``engine`` is the one on which
    a repair will be computed.
    """

    ui_color = "#eef3ea"

    def __init__(
        self,
        *,
        spec: ReportSpec,
        group: str = "",
        cluster: Cluster | None = None,
        engine: str = "spark",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.group = group
        self.engine = engine
        self.cluster = cluster

    def execute(self, context: Any) -> dict[str, object]:
        named = (context.get("params") or {}).get("reports")
        if named and self.spec.name not in named:
            raise self._left_out(context, "the DAG run is about other reports of the group")
        with explained():
            try:
                return as_xcom(self._open(context))
            except NothingToDoError as error:
                if not self.group:
                    raise
                raise self._left_out(context, error.message) from None

    def _left_out(self, context: Any, why: str) -> AirflowSkipException:
        """Let the tasks of the report be skipped, too; return what to raise."""
        context["ti"].xcom_push(key="return_value", value={LEFT_OUT: why})
        return AirflowSkipException(why)

    def _open(self, context: Any) -> OpenedDay:
        params = context.get("params") or {}
        dry_run = bool(params.get("dry_run"))
        now, day = utc_now(), report_date(context, self.spec)
        mode = choose_mode(
            params.get("mode") or "auto", context["dag_run"].run_type, self.spec, day, now
        )
        by = self._opened_by(context, mode)
        if mode == REPAIR:
            how = settings_on(self.engine)
            return open_repair(context, self.spec, day, now, by, settings=how, dry_run=dry_run)
        if mode == BACKFILL:
            self._declare_cluster()
            return open_backfill(context, self.spec, now, by, dry_run=dry_run)
        handle = self._imagined(day, now) if dry_run else self._opened(context, day, now, by)
        runs = tuple((run.at, run.weight) for run in self.spec.policy.runs) if self.group else ()
        opened = OpenedDay(
            day=day.isoformat(),
            generation=handle.at.generation,
            mode=mode,
            dry_run=dry_run,
            runs=runs,
        )
        retries = retries_of(self, final_task_of(self.task_id, self.spec))
        self._warn_of_late(handle)
        if not dry_run:
            say_wanted(handle, opened, self.cluster, self.group, retries, self.log)
        if is_choosing(handle, opened):
            choose_again(handle, 1, retries, self.log, cluster=self.cluster, group=self.group)
        dry = ", a dry run: it is not opened" if dry_run else ""
        self.log.info("day %s, generation %s, mode %s%s", day, opened.generation, mode, dry)
        return opened

    def _warn_of_late(self, day: Day) -> None:
        """Say it if a report that this one reads is due only after it."""
        from forerun.include.oncall.catalogue import newest_specs

        if late := due_too_late(self.spec, newest_specs(day.store, reports_read(self.spec))):
            self.log.warning("%s: between the two its final run would have to take place", late)

    def _opened_by(self, context: Any, mode: str) -> OpenedBy:
        from forerun.include.state.records import OpenedBy

        run = context["dag_run"]
        return OpenedBy(
            dag_id=run.dag_id,
            run_id=run.run_id,
            mode=mode,
            group=self.group,
            retries=retries_of(self, final_task_of(self.task_id, self.spec)),
            prefix=self.task_id.removesuffix(OPEN_DAY),
        )

    def _opened(self, context: Any, day: date, now: datetime, by: OpenedBy) -> Day:
        from forerun.include.runs.prepare import open_generation

        self._declare_cluster()
        return open_generation(
            store_uri(self.spec),
            self.spec,
            day,
            trigger=trigger_of(context),
            now=now,
            opened_by=by,
        )

    def _declare_cluster(self) -> None:
        from forerun.include.stores.opening import open_store
        from forerun.include.times.leases import declare

        if self.cluster is not None and declare(open_store(store_uri(self.spec)), self.cluster):
            self.log.info("cluster %s is now as this DAG says", self.cluster.name)

    def _imagined(self, day: date, now: datetime) -> Day:
        from forerun.include.runs.prepare import imagine_generation

        return imagine_generation(store_uri(self.spec), self.spec, day, now=now)
