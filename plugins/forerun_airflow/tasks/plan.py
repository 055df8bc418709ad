"""Planning the units of a step: what is planned together, and what an application has to know."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException

from forerun.airflow.day import explained, utc_now
from forerun.airflow.retries import RepeatableOperator, retries_of
from forerun.airflow.tasks.repairing import planned_repair
from forerun.airflow.tasks.units import Step, Unit, units_of
from forerun.airflow.watching.telling import tell_planned, tell_skipped
from forerun.include.engines import engine_spec
from forerun.include.stores.store import StoreDownError
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.runs.prepare import AskedRun, Asking, PreparedRun
    from forerun.include.runs.prepare_units import PreparedUnits
    from forerun.planner.request import Settings
    from forerun.planner.result import PlanResult

DRY_RUN = "a dry run computes nothing, and its plan is only in the log"
Incomplete = Sequence[tuple[str, str]]
Found = list[tuple[Unit, "PreparedRun | ForerunError"]]


def settings_on(engine: str) -> Settings:
    """Return how to plan for the engine of that name. On the small one a day is planned as for
    Spark: it stands in for Spark in tests."""
    from forerun.planner.request import Settings

    spec = engine_spec(engine)
    return Settings(prices=spec.prices) if spec.endpoint else Settings()


def explanation(found: PlanResult) -> str:
    """A plan for the log: its operators, runs and costs."""
    from forerun.planner.explain.tree import render

    return render(found)


def prepare(
    unit: Unit,
    engine: str,
    *,
    incomplete: Incomplete = (),
    batch: bool = False,
    lost: Collection[str] = (),
    one_engine: bool = False,
) -> PreparedRun:
    """Plan a unit by itself, as was asked for when its day was opened or since, at the prices of
    the engine of that name; with ``batch`` as batch in any case. ``incomplete``, ``lost`` and
    ``one_engine`` are those of :func:`forerun.include.runs.prepare.prepare_run`."""
    from forerun.include.runs.prepare import prepare_run

    asking = _asking(unit, engine, incomplete)
    asking["lost"], asking["one_engine"] = lost, one_engine
    if batch:
        asking["method"] = "batch"
    prepared = prepare_run(unit.day, unit.run, **asking)
    tell_planned(unit.day, prepared)
    return prepared


def wanted(units: Sequence[Unit]) -> list[Unit]:
    """Leave out the early runs that people have told a day not to begin. Skips where that is all of
    them."""
    from forerun.include.days.instructions import read_told

    found, why = [], ""
    for unit in units:
        told = None if unit.is_final else read_told(unit.day.store, unit.day.at).skips_early
        if told is None:
            found.append(unit)
        else:
            why = f"early runs are skipped: {told.text}"
            tell_skipped(unit.day, unit.run, why)
    if not found:
        raise AirflowSkipException(why)
    return found


class PlanUnits(RepeatableOperator):
    """Pins the sources of the units of a step, plans them with what is committed, and stores the
    plans: those of a group together, those of several days of a report by one query where that is
    right and cheaper. In a dry run they are stored nowhere: they are in the log.

    Returns what the task that submits them needs: the URIs of the plans with work by unit, the
    queries that do several of them, whether they read next to nothing, the engines of units
    that are planned for another one than this DAG's, and why there is nothing to submit; and for
    people the latest safe start of the final run, as it looks now. What cannot be
    planned fails the task if it is all that there is; else it is in the log, and left to what comes
    later. ``wait_task`` says which units start, and what is missing of their sources.
    """

    ui_color = "#eef3ea"

    def __init__(self, *, step: Step, wait_task: str, engine: str = "spark", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.engine = engine
        self.wait_task = wait_task

    def execute(self, context: Any) -> dict[str, object]:
        with explained():
            units = self._starting(context, wanted(units_of(self.step, context)))
            if units and units[0][0].duty.is_over:
                found, queries = self._over(context, [unit for unit, _ in units])
            else:
                found, queries = self._tonight(units), []
            self._refuse_failed(found)
            safe = self._safe_start(found)
        return self._answer(found, queries) | safe

    # -- which, and with what missing ------------------------------------------------------------

    def _starting(self, context: Any, units: Sequence[Unit]) -> list[tuple[Unit, Incomplete]]:
        """The units that the wait has let go on, each with what was missing. A wait that gave no
        answer, because somebody marked it as done, says nothing about sources: they are not known
        to be complete, and where reports meet, final runs are left to their own tasks."""
        said = context["ti"].xcom_pull(task_ids=self.wait_task)
        found: list[tuple[Unit, Incomplete]] = []
        for unit in units:
            if unit.opened.dry_run or unit.duty.is_over:
                found.append((unit, ()))
            elif isinstance(said, Mapping):
                missing = said.get(unit.report)
                if missing is not None:
                    found.append((unit, [(source, what) for source, what in missing]))
            elif not unit.is_final:
                found.append((unit, ()))
            elif not self.step.is_shared:
                found.append((unit, self._unknown(unit, said)))
        return found

    def _unknown(self, unit: Unit, said: Any) -> Incomplete:
        if said is not None:  # of a wait of an older version: of its only report
            return [(source, what) for source, what in said]
        why = f"nobody has looked whether it is complete: {self.wait_task} has no answer"
        return [(s.name, why) for s in unit.spec.sources if s.complete_when is not None]

    # -- planning --------------------------------------------------------------------------------

    def _tonight(self, units: Sequence[tuple[Unit, Incomplete]]) -> Found:
        """Plan units of a day that goes on."""
        from forerun.include.runs.prepare_units import AskedUnit, prepare_units

        shared = self.step.is_shared
        together = prepare_units([
            AskedUnit(
                ask=partial(_ask, unit, self.engine, incomplete),
                points=unit.points if shared else (),
            )
            for unit, incomplete in units
        ])  # fmt: skip
        self._say_together(together)
        return [
            (unit, self._in_time(unit, run, incomplete))
            for (unit, incomplete), run in zip(units, together.runs, strict=True)
        ]

    def _in_time(
        self, unit: Unit, prepared: PreparedRun | ForerunError, incomplete: Incomplete
    ) -> PreparedRun | ForerunError:
        """The run as it is planned; as batch if only that can still meet the deadline."""
        from forerun.include.times.way_out import read_way_out

        if isinstance(prepared, ForerunError):
            return prepared
        if not unit.opened.dry_run:
            tell_planned(unit.day, prepared)
        if not unit.is_final or unit.opened.dry_run or prepared.result is None:
            return prepared
        why = read_way_out(unit.day, utc_now())
        if not why:
            return prepared
        self.log.warning("%s is planned again as batch: %s", unit.key, why)
        return prepare(unit, self.engine, incomplete=incomplete, batch=True)

    def _over(self, context: Any, units: Sequence[Unit]) -> tuple[Found, list[str]]:
        """Plan units of days that are over, several days of a report by one query where that is
        right and cheaper; a repair is planned where it is opened."""
        from forerun.include.past.backfill import plan_days

        found: Found = []
        queries: list[str] = []
        for _, group in groupby(units, key=lambda unit: unit.report):
            days = list(group)
            if days[0].opened.repair:
                found += [(unit, planned_repair(context, unit)) for unit in days]
                continue
            asked = []
            for unit in days:
                try:
                    asked.append((unit.day, _ask(unit, self.engine, ())))
                except StoreDownError:
                    raise
                except ForerunError as error:
                    found.append((unit, error))
            planned = plan_days(asked)
            by_day = {unit.day.date: unit for unit in days}
            found += [(by_day[day], error) for day, error in planned.failed]
            for day, prepared in planned.runs:
                found.append((by_day[day.date], prepared))
                if not by_day[day.date].opened.dry_run:
                    tell_planned(day, prepared)
            if planned.query:
                self.log.info("one query computes several days: %s", planned.query)
                queries.append(planned.query)
        return found, queries

    def _refuse_failed(self, found: Found) -> None:
        """Raise where nothing could be planned, unless the reports' own tasks can say why: a store
        that is down for all is nobody's own trouble, and may be over in a minute."""
        failed = [error for _, error in found if isinstance(error, ForerunError)]
        down = [error for error in failed if isinstance(error, StoreDownError)]
        if (
            failed
            and len(failed) == len(found)
            and (not self.step.is_shared or len(down) == len(found))
        ):
            raise failed[0]

    def _safe_start(self, found: Found) -> dict[str, object]:
        """The latest safe start of the one day that the step is about; nothing of several."""
        from forerun.include.times.safe_start import read_safe_start

        if len(found) != 1 or found[0][0].duty.is_over:
            return {}
        unit = found[0][0]
        safe = read_safe_start(unit.day, retries_of(self, unit.seat.final_task))
        self.log.info("latest safe start of the final run: %s (%s)", safe.at, safe.why)
        return {"latest_safe_start": safe.at.isoformat()}

    # -- what it says ----------------------------------------------------------------------------

    def _answer(self, found: Found, queries: Sequence[str]) -> dict[str, object]:
        plans: dict[str, str] = {}
        engines: dict[str, str] = {}
        why: dict[str, None] = {}
        tiny = True
        for unit, run in found:
            if isinstance(run, ForerunError):
                self.log.error("%s cannot be planned, and is left to itself: %s", unit.key, run)
                continue
            self._say(unit, run)
            skip = DRY_RUN if unit.opened.dry_run else run.skip_reason
            if skip:
                why[skip] = None
            else:
                plans[unit.key] = run.plan_uri
                if run.engine:
                    engines[unit.key] = run.engine
                tiny = tiny and run.tiny
        nothing = "; ".join(why) or "no unit of this step has a plan"
        return {
            "plans": plans,
            "queries": list(queries),
            "submit": bool(plans),
            "why": "" if plans else nothing,
            "tiny": tiny,
            "engines": engines,
        }

    def _say(self, unit: Unit, run: PreparedRun) -> None:
        cost = run.result.plan.run.estimated_cost / MICRO if run.result else 0.0
        self.log.info("%s: plan %s, %.1f CPU s%s", unit.key, run.plan_uri, cost,
                      f"; not submitted: {run.skip_reason}" if run.skip_reason else "")  # fmt: skip
        if run.engine:
            self.log.info("it is done by %s, on this worker", engine_spec(run.engine).about)
        if run.why_not_early:
            self.log.info("the early engine does not do it: %s", run.why_not_early)
        if run.result is None:
            return
        if unit.opened.dry_run:
            self.log.info("the plan of the dry run:\n%s", explanation(run.result))
        if run.result.plan.batch_because:
            self.log.info("no early work: %s", run.result.plan.batch_because)

    def _say_together(self, prepared: PreparedUnits) -> None:
        plan = prepared.plan
        if plan is not None and plan.opened:
            self.log.info(
                "applications at time points %s, %.2f of batch in one application by estimate",
                ", ".join(map(str, plan.opened)),
                plan.cost / plan.batch if plan.batch else 1.0,
            )


def _asking(unit: Unit, engine: str, incomplete: Incomplete) -> Asking:
    from forerun.include.days.instructions import read_told

    told = read_told(unit.day.store, unit.day.at).batch
    return {
        "now": utc_now(),
        "settings": settings_on(engine),
        "method": "batch" if told else unit.duty.method,
        "incomplete": incomplete,
    }


def _ask(unit: Unit, engine: str, incomplete: Incomplete) -> AskedRun | PreparedRun:
    """Pin a unit, which is still to be planned; plan it, where somebody has told a day that is over
    how."""
    from forerun.include.runs.prepare import ask_for_run, prepare_run

    asking = _asking(unit, engine, incomplete)
    told_how = unit.duty.is_over and asking["method"] != "auto"
    return (prepare_run if told_how else ask_for_run)(unit.day, unit.run, **asking)
