"""Nights of the demo before its day, so that every page has something to show.

What runs is real: the reports of the DAG file, on the small engine, over data that comes in three
deliveries. Only the clock is not: every night is over, and each of its runs begins at its own time.
A process of its own (``python -m forerun.demo.history``), since it reads the DAG file.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

from forerun.airflow.authoring.dag_file import read_sql
from forerun.demo.reports import PAST_DAYS, deliver
from forerun.include.days.handle import Day
from forerun.include.engines import ENGINES
from forerun.include.reports.group import GroupMember, ReportGroup
from forerun.include.reports.run_policy import Retries
from forerun.include.runs.prepare import ask_for_run, open_generation, publish_result
from forerun.include.runs.prepare_units import AskedUnit, prepare_units
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.records import OpenedBy
from forerun.include.stores.opening import default_store
from forerun.planner.errors import ForerunError
from forerun.planner.request import Method, Settings
from forerun.spark_jobs.engine import Engine, start_engine
from forerun.spark_jobs.executor import GivenUpError, execute

_DAG_FILE = Path(__file__).resolve().parents[2] / "dags" / "demo_night.py"
_PUBLISHED_AFTER = timedelta(minutes=1)


class _Clock:
    """Goes on from where it was set last."""

    def __init__(self) -> None:
        self.set(datetime.min.replace(tzinfo=UTC))

    def set(self, moment: datetime) -> None:
        self._moment, self._since = moment, time.monotonic()

    def __call__(self) -> datetime:
        return self._moment + timedelta(seconds=time.monotonic() - self._since)


def main(days: Sequence[date] = PAST_DAYS) -> int:
    """Let all nights pass, the first one as batch: savings are measured against that. What the
    others do is for their costs to decide, as in any night."""
    found: ReportGroup = runpy.run_path(str(_DAG_FILE))["GROUP"]
    group = replace(found, reports=tuple(map(read_sql, found.reports)))
    engine = start_engine(ENGINES["sail"], master=None, name="forerun")
    try:
        for day in days:
            _pass_night(group, day, "batch" if day == days[0] else "auto", engine)
    finally:
        engine.stop()
    return 0


def _pass_night(group: ReportGroup, day: date, method: Method, engine: Engine) -> None:
    clock, moments = _Clock(), group.moments(day)
    opened = [(member, _open(group, member, day, method)) for member in group.members]
    tables = tuple(sorted({source.name for one in group.reports for source in one.sources}))
    for point, moment in enumerate(moments, 1):
        deliver(tables, day, point, last=point == len(moments))
        clock.set(moment)
        ask = partial(
            ask_for_run, now=moment, method=method, settings=Settings(prices=ENGINES["sail"].prices)
        )
        prepared = prepare_units(
            [
                AskedUnit(points=member.points, ask=partial(ask, handle, run))
                for member, handle in opened
                if (run := member.run_at(point)) is not None
            ]
        )
        for one in prepared.runs:
            if isinstance(one, ForerunError):
                raise one
        for number, submitted in enumerate(prepared.submitted):
            with suppress(GivenUpError):  # the store says so
                plan, attempt = StoredPlan.read(submitted.plan_uri), f"t1-{point}{number:07x}"
                execute(engine, plan, attempt, print, clock=clock)
    for _, handle in opened:
        publish_result(handle, now=clock() + _PUBLISHED_AFTER)


def _open(group: ReportGroup, member: GroupMember, day: date, method: Method) -> Day:
    """Open a day as the DAG's first tasks do, in a DAG run that Airflow knows nothing of."""
    midnight = group.moments(day)[0].replace(hour=0, minute=0)
    run_id = f"history__{day.isoformat()}"
    opened_by = OpenedBy(
        dag_id=f"demo_{group.name}",
        run_id=run_id,
        mode=method,
        group=group.name,
        retries=Retries(count=0, pauses_s=0.0),
        prefix=f"{member.spec.name}.",
    )
    store = member.spec.store or default_store()
    return open_generation(
        store, member.spec, day, trigger=run_id, now=midnight, opened_by=opened_by
    )


if __name__ == "__main__":
    sys.exit(main())
