"""The tasks around a Spark run that need no Spark: opening a day, planning a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal

from forerun.airflow.day import (
    BACKFILL,
    OPEN_DAY,
    REPAIR,
    OpenedDay,
    as_xcom,
    choose_mode,
    explained,
    final_task_of,
    opened_for,
    report_date,
    store_uri,
    trigger_of,
    utc_now,
)
from forerun.airflow.retries import RepeatableOperator, retries_of
from forerun.airflow.watching.telling import skipping, tell_planned
from forerun.airflow.work.backfilling import open_backfill, planned_backfill
from forerun.airflow.work.choosing import choose_again, is_choosing
from forerun.airflow.work.repairing import open_repair, planned_repair
from forerun.airflow.work.sharing import say_wanted
from forerun.include.engines import engine_spec
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.spec import ReportSpec

if TYPE_CHECKING:
    from forerun.include.days.handle import Day
    from forerun.include.runs.prepare import AskedRun, Asking, PreparedRun
    from forerun.include.state.records import OpenedBy
    from forerun.planner.request import Settings
    from forerun.planner.result import PlanResult

METHODS: dict[str, Literal["progressive", "batch"]] = {
    "progressive": "progressive",
    "batch": "batch",
}
"""Modes that say what to plan; with the others the cost decides."""
DRY_RUN = "a dry run computes nothing, and its plan is only in the log"


def settings_on(engine: str) -> Settings:
    """How to plan for the engine of that name. On the small one a day is planned as for Spark: it
    stands in for Spark in tests."""
    from forerun.planner.request import Settings

    spec = engine_spec(engine)
    return Settings(prices=spec.prices) if spec.endpoint else Settings()


def explanation(found: PlanResult) -> str:
    """A plan for the log: its operators, runs and costs."""
    from forerun.planner.explain.tree import render

    return render(found)


def prepared_run(
    spec: ReportSpec,
    opened: OpenedDay,
    run: int,
    *,
    engine: str,
    incomplete: Sequence[tuple[str, str]] = (),
    batch: bool = False,
) -> PreparedRun:
    """The run, planned as was asked for, when the day was opened or since, at the prices of the
    engine of that name; with ``batch`` as batch in any case. ``incomplete`` is
    that of :func:`forerun.include.runs.prepare.prepare_run`."""
    from forerun.include.runs.prepare import prepare_run

    day, asking = _asking(spec, opened, run, engine, batch=batch)
    asking["incomplete"] = incomplete
    prepared = prepare_run(day, run, **asking)
    if not opened.dry_run:
        tell_planned(day, prepared)
    return prepared


def asked_run(
    spec: ReportSpec, opened: OpenedDay, run: int, *, engine: str
) -> tuple[Day, AskedRun | PreparedRun]:
    """Pin the run. Return the day and an AskedRun to be planned with the others, or a PreparedRun
    if an instruction fixes the method."""
    from forerun.include.runs.prepare import ask_for_run, prepare_run

    day, asking = _asking(spec, opened, run, engine, batch=False)
    ask = ask_for_run if asking.get("method") == "auto" else prepare_run
    return day, ask(day, run, **asking)


def _asking(
    spec: ReportSpec, opened: OpenedDay, run: int, engine: str, *, batch: bool
) -> tuple[Day, Asking]:
    from forerun.include.days.instructions import read_told

    day = opened.of(spec)
    told = read_told(day.store, day.at)
    if run < spec.runs and told.skips_early:
        raise skipping([(day, run)], f"early runs are skipped: {told.skips_early.text}")
    asking: Asking = {"now": utc_now(), "settings": settings_on(engine)}
    asking["method"] = "batch" if batch or told.batch else METHODS.get(opened.mode, "auto")
    return day, asking


class OpenDay(RepeatableOperator):
    """Decides which day the DAG run is about and how to run it, and opens its generation.

    A DAG run that is cleared as a whole opens a new generation; clearing only later tasks goes on
    in the one that is open. A dry run opens none: it only says which one it would have been.
    ``group`` names the report group, empty for none. A ``cluster`` is kept in the store as its
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
        params = context.get("params") or {}
        dry_run = bool(params.get("dry_run"))
        with explained():
            now, day = utc_now(), report_date(context, self.spec)
            mode = choose_mode(
                params.get("mode") or "auto", context["dag_run"].run_type, self.spec, day, now
            )
            by = self._opened_by(context, mode)
            if mode == REPAIR:
                how = settings_on(self.engine)
                repair = open_repair(
                    context, self.spec, day, now, by, settings=how, dry_run=dry_run
                )
                return as_xcom(repair)
            if mode == BACKFILL:
                self._declare_cluster()
                return as_xcom(open_backfill(context, self.spec, now, by, dry_run=dry_run))
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
        if not dry_run:
            say_wanted(handle, opened, self.cluster, self.group, retries, self.log)
        if is_choosing(handle, opened):
            choose_again(handle, 1, retries, self.log, cluster=self.cluster)
        dry = ", a dry run: it is not opened" if dry_run else ""
        self.log.info("day %s, generation %s, mode %s%s", day, opened.generation, mode, dry)
        return as_xcom(opened)

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
        from forerun.include.state.opening import open_store
        from forerun.include.times.leases import declare

        if self.cluster is not None and declare(open_store(store_uri(self.spec)), self.cluster):
            self.log.info("cluster %s is now as this DAG says", self.cluster.name)

    def _imagined(self, day: date, now: datetime) -> Day:
        from forerun.include.runs.prepare import imagine_generation

        return imagine_generation(store_uri(self.spec), self.spec, day, now=now)


class PlanRun(RepeatableOperator):
    """Pins the sources, plans run ``run`` with what is committed, and stores the plan.

    In a dry run the plan is stored nowhere: it is in the log.
    Returns what the run task needs: the plan's URI, whether it is predicted to have next to no
    data, and whether there is anything to submit; and for people the latest safe start of the
    final run, as it looks now. ``wait_task`` says what is missing of the sources of a final run,
    ``final_task`` submits it.
    """

    ui_color = "#eef3ea"

    def __init__(
        self,
        *,
        spec: ReportSpec,
        run: int,
        day_task: str,
        wait_task: str,
        final_task: str,
        engine: str = "spark",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.run = run
        self.engine = engine
        self.day_task = day_task
        self.wait_task = wait_task
        self.final_task = final_task

    def execute(self, context: Any) -> dict[str, object]:
        from forerun.include.times.safe_start import read_safe_start

        opened = opened_for(self, context)
        if opened.repair:
            with explained():
                day = opened.of(self.spec)
                return planned_repair(context, self.day_task, day, self.run)
        if opened.days:
            return self._plan_each(opened)
        with explained():
            incomplete = self._incomplete(context, opened)
            prepared = self._in_time(opened, incomplete)
            retries = retries_of(self, self.final_task)
            safe = read_safe_start(opened.of(self.spec), retries)
        why = DRY_RUN if opened.dry_run else prepared.skip_reason
        plan_uri = "" if opened.dry_run else prepared.plan_uri
        self.log.info("plan %s%s", plan_uri, f"; not submitted: {why}" if why else "")
        if opened.dry_run and prepared.result:
            self.log.info("the plan of the dry run:\n%s", explanation(prepared.result))
        if prepared.result and prepared.result.plan.batch_because:
            self.log.info("no early work: %s", prepared.result.plan.batch_because)
        self.log.info("latest safe start of the final run: %s (%s)", safe.at, safe.why)
        return {
            "plan": plan_uri,
            "submit": not why,
            "why": why,
            "latest_safe_start": safe.at.isoformat(),
            "tiny": prepared.tiny,
        }

    def _prepared(self, opened: OpenedDay, **how: Any) -> PreparedRun:
        return prepared_run(self.spec, opened, self.run, engine=self.engine, **how)

    def _plan_each(self, opened: OpenedDay) -> dict[str, object]:
        """Plan the days of a backfill."""
        with explained():
            found = planned_backfill(
                opened, lambda day: asked_run(self.spec, day, self.run, engine=self.engine)
            )
        return found | {"why": DRY_RUN} if opened.dry_run else found

    def _in_time(self, opened: OpenedDay, incomplete: list[tuple[str, str]]) -> PreparedRun:
        """The run as it is planned; as batch if only that can still meet the deadline."""
        from forerun.include.times.way_out import read_way_out

        prepared = self._prepared(opened, incomplete=incomplete)
        if self.run < self.spec.runs or opened.dry_run or prepared.result is None:
            return prepared
        why = read_way_out(opened.of(self.spec), utc_now())
        if not why:
            return prepared
        self.log.warning("planned again as batch: %s", why)
        return self._prepared(opened, incomplete=incomplete, batch=True)

    def _incomplete(self, context: Any, opened: OpenedDay) -> list[tuple[str, str]]:
        """Return what was still missing when the wait before a final run let it go on. A wait that
        gave no answer, because somebody marked it as done, says nothing about the sources: they are
        not known to be complete."""
        if self.run < self.spec.runs or opened.dry_run:
            return []
        said = context["ti"].xcom_pull(task_ids=self.wait_task)
        if said is None:
            why = f"nobody has looked whether it is complete: {self.wait_task} has no answer"
            return [(s.name, why) for s in self.spec.sources if s.complete_when is not None]
        return [(source, what) for source, what in said]
