"""A DAG run in mode ``backfill``: the tasks of the report's final run compute several days that are
over, in one application, whose start is paid once, and by one query where that is right and
cheaper. Each day is committed and published by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun.airflow.day import BACKFILL, NothingToDoError, OpenedDay, store_uri
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.clock import parse_day
from forerun.planner.errors import RequestError

if TYPE_CHECKING:
    from forerun.airflow.tasks.units import Unit
    from forerun.include.days.handle import Day
    from forerun.include.state.records import OpenedBy

_LOG = logging.getLogger(__name__)


def open_backfill(
    context: Any, spec: ReportSpec, now: datetime, opened_by: OpenedBy, *, dry_run: bool
) -> OpenedDay:
    """Open a generation for each day that is asked for and not published; cleared, it goes on in
    the same ones. Raises :class:`RequestError` if one of them is not complete, before any is
    opened, and for a report whose DAG run cannot compute several days."""
    from forerun.include.runs.prepare import imagine_generation, open_generation

    wanted = _to_compute(context, spec, now, opened_by)
    trigger = f"{opened_by.dag_id}/{opened_by.run_id}/{BACKFILL}"
    opened: list[Day] = []
    for day in wanted:
        if dry_run:
            opened.append(imagine_generation(store_uri(spec), spec, day, now=now))
        else:
            uri, by = store_uri(spec), opened_by
            opened.append(open_generation(uri, spec, day, trigger=trigger, now=now, opened_by=by))
    days = tuple((day.at.day, day.at.generation) for day in opened)
    _LOG.info("days %s", ", ".join(day for day, _ in days))
    first, generation = days[0]
    return OpenedDay(day=first, generation=generation, mode=BACKFILL, dry_run=dry_run, days=days)


def _to_compute(
    context: Any, spec: ReportSpec, now: datetime, opened_by: OpenedBy
) -> tuple[date, ...]:
    from forerun.include.days.results import read_pointer
    from forerun.include.sources.completeness import find_missing
    from forerun.include.stores.opening import open_store

    named = (context.get("params") or {}).get("days") or ()
    asked = sorted({spec.bounds(parse_day(str(day)))[1] for day in named})
    if not asked:
        raise RequestError("a backfill of no days", hint="Name them in the field Days.")
    one_by_one = "Trigger a DAG run for each day, or: forerun backfill"
    if opened_by.prefix and not opened_by.group:
        raise RequestError(
            f"the DAG of {spec.name} has other tasks than those of the report", hint=one_by_one
        )
    if spec.awaits(spec.runs):
        raise RequestError(
            f"{spec.name} waits for assets, each of its days for an event", hint=one_by_one
        )
    wanted = []
    store = open_store(store_uri(spec))
    for day in asked:
        published = read_pointer(store, spec.name, day)
        if published is not None and not published.early:
            _LOG.info("%s is left alone: version %s is published", day, published.version)
            continue
        if missing := find_missing(spec, day, now):
            what = "; ".join(one.text for one in missing)
            raise RequestError(f"{day} is not complete: {what}", hint="Leave it out, or deliver.")
        wanted.append(day)
    if not wanted:
        raise NothingToDoError(
            "all of these days are published", hint="Clear the DAG run of one to compute it again."
        )
    return tuple(wanted)


def publish_each(
    units: Sequence[Unit], publish: Callable[[Unit], dict[str, object]]
) -> dict[str, object]:
    """Publish every day of a backfill; one that cannot be holds up no other, and fails the task
    once the others are out. Returns what the asset is told: the newest day, and all of ``days``."""
    done: list[dict[str, object]] = []
    refused: list[str] = []
    for unit in units:
        try:
            done.append(publish(unit))
        except AirflowSkipException as left:
            _LOG.info("%s is left alone: %s", unit.opened.day, left)
        except AirflowFailException as error:
            refused.append(f"{unit.opened.day}: {error}")
    if refused:
        raise AirflowFailException(
            f"{len(refused)} of {len(units)} days are not published\n" + "\n".join(refused)
        )
    if not done:
        raise AirflowSkipException("readers have later results of every day")
    return done[-1] | {"days": done}
