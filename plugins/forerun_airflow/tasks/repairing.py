"""A DAG run in mode ``repair``: the tasks of the report's final run bring a published day up to its
sources. Publishing waits until somebody has read which rows differ, and says so.
"""

from __future__ import annotations

import logging
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException

from forerun.airflow.day import REPAIR, NothingToDoError, OpenedDay, store_uri
from forerun.airflow.watching.alerting import page_of
from forerun.airflow.watching.telling import tell_planned
from forerun.include.reports.spec import ReportSpec
from forerun.planner.errors import RequestError

if TYPE_CHECKING:
    from forerun.airflow.tasks.units import Unit
    from forerun.include.days.handle import Day
    from forerun.include.past.repair import Repair
    from forerun.include.runs.prepare import PreparedRun
    from forerun.include.state.records import OpenedBy
    from forerun.planner.request import Settings

_LOG = logging.getLogger(__name__)
_PLANNED = "planned"
"""The XCom of the task that opens a repair, which has its plan."""


def open_repair(
    context: Any,
    spec: ReportSpec,
    day: date,
    now: datetime,
    opened_by: OpenedBy,
    *,
    settings: Settings,
    dry_run: bool,
) -> OpenedDay:
    """Look what changed since a day was published, and begin the cheapest repair; a dry run only
    says what it would take. Raises what looking and beginning raise, :class:`NothingToDoError` if
    nothing has changed, and :class:`RequestError` if the report is a part of a larger DAG."""
    from forerun.include.oncall.catalogue import spec_of_day
    from forerun.include.past.repair import begin_repair, find_repair
    from forerun.include.stores.opening import open_store
    from forerun.include.stores.scratch_store import ScratchStore

    if opened_by.prefix and not opened_by.group:
        raise RequestError(
            f"the DAG of {spec.name} has other tasks than those of the report, which cannot repair",
            hint=f"Repair it from the command line: forerun repair {spec.name} {day}",
        )
    store = open_store(store_uri(spec))
    then = spec_of_day(store, spec.name, day)
    reads = ScratchStore(store) if dry_run else store
    repair = find_repair(reads, then, day, now=now, settings=settings)
    if not repair.is_needed:
        raise NothingToDoError(
            f"nothing has changed in the sources of {spec.name} since {day} was published",
            hint="There is nothing to repair.",
        )
    for planned in repair.plans:
        _LOG.info("%.1f CPU s by estimate: %s", planned.cpu_s, planned.how)
    at = repair.day.at
    if not dry_run:
        prepared = begin_repair(repair, now=now, opened_by=opened_by)
        _keep_plan(context, repair, prepared)
        at = prepared.at
    return OpenedDay(
        day=at.day, generation=at.generation, mode=REPAIR, dry_run=dry_run, repair=repair.run
    )


def _keep_plan(context: Any, repair: Repair, prepared: PreparedRun) -> None:
    from forerun.include.days.handle import Day

    tell_planned(Day(repair.day.store, repair.day.spec, prepared.at), prepared)
    planned = {"plan": prepared.plan_uri, "tiny": prepared.tiny}
    context["ti"].xcom_push(_PLANNED, planned)


def planned_repair(context: Any, unit: Unit) -> PreparedRun:
    """Return the run of a repair as it was planned where it was opened."""
    from forerun.include.runs.prepare import PreparedRun
    from forerun.include.stores.opening import split_uri

    planned = context["ti"].xcom_pull(task_ids=unit.seat.day_task, key=_PLANNED)
    done = unit.day.commit(unit.run)
    return PreparedRun(
        at=unit.day.at,
        run=unit.run,
        plan_key=split_uri(planned["plan"])[1],
        plan_uri=planned["plan"],
        skip_reason=f"the repair is computed already, by attempt {done.attempt}" if done else "",
        tiny=planned["tiny"],
    )


def compare_repair(day: Day, run: int) -> None:
    """Keep in the store which rows a repair changes, and say how many."""
    from forerun.include.days.results import read_pointer
    from forerun.include.verify.repair_diff import write_diff
    from forerun.include.verify.row_diff import counts

    commit, published = day.commit(run), read_pointer(day.store, day.at.report, day.date)
    if commit is None or published is None or published.generation >= day.at.number:
        return  # published already, after somebody has read it
    added, removed = counts(write_diff(day, commit, published))
    _LOG.info("%d rows are added, %d taken away: %s", added, removed, _page(day))


def refuse_unread(day: Day) -> None:
    """Skip the publication of a repair of which nobody has said that it may be."""
    from forerun.include.days.instructions import read_told

    told = read_told(day.store, day.at).publish
    if told is None:
        raise AirflowSkipException(
            "computed, and not published: read which rows differ, and publish it there: "
            f"{_page(day)}; or by: forerun repair {day.at.report} {day.at.day} --yes"
        )
    _LOG.info("published: %s", told.text)


def _page(day: Day) -> str:
    return f"{page_of(day.at.report, day.at.day)}/{REPAIR}"
