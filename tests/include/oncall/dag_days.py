"""The day of day_cases as a DAG run opens and works through it, with the store's real records."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

from forerun.include.days.handle import Day
from forerun.include.oncall.day.records import DayRecords, read_day_records
from forerun.include.reports.run_policy import Retries
from forerun.include.runs.prepare import PreparedRun, open_generation, prepare_run, publish_result
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import CheckRecord, OpenedBy, RunCommit, RunMetrics
from tests.include.days.day_cases import DAY, EARLY, DayCase

DATE = DAY.isoformat()


def at(hour: int, minute: int = 0) -> dt.datetime:
    """A time of the day; hours go on past midnight. Runs are at 12 and 16, the deadline at 30."""
    midnight = dt.datetime(DAY.year, DAY.month, DAY.day, tzinfo=dt.UTC)
    return midnight + dt.timedelta(hours=hour, minutes=minute)


class DagDay(DayCase):
    """A day of the report ``totals``, run by the DAG ``sums``."""

    def begin(self, now: dt.datetime | None = None, *, group: str = "", run_id: str = "r1") -> Day:
        opened_by = OpenedBy(
            dag_id="sums",
            run_id=run_id,
            mode="auto",
            group=group,
            retries=Retries(count=2, pauses_s=60.0),
        )
        self.handle = open_generation(
            self.store_uri, self.spec, DAY, trigger=run_id, now=now or at(0), opened_by=opened_by
        )
        return self.handle

    def plan(self, run: int, now: dt.datetime, **more: object) -> PreparedRun:
        prepared = prepare_run(self.handle, run, now=now, settings=EARLY, **more)
        stored = now.timestamp()
        os.utime(self.folder / "store" / prepared.plan_key, (stored, stored))
        return prepared

    def make(self, run: int, now: dt.datetime, checks: tuple[CheckRecord, ...] = ()) -> RunCommit:
        took = RunMetrics(process_cpu_s=1.0)
        return self.commit(self.plan(run, now), checks=checks, metrics=took)

    def publish(self, now: dt.datetime, run: int | None = None) -> Pointer:
        return publish_result(self.handle, now=now, run=run)

    def read(self) -> DayRecords:
        records = read_day_records(self.store, "totals", DATE)
        assert records is not None
        return records


def dag_day(folder: Path, **changes: object) -> DagDay:
    """A day with its first delivery."""
    case = DagDay(folder, str(folder / "store"), **changes)
    case.deliver("1", (1, 2), (2, 3))
    return case
