"""Reads the night for pages that are asked for all the time, and must not wait for the store.

What was read of a day is kept as long as nothing of the day changes. A night that is a few seconds
old is handed out while the next one is read; a store that does not answer in time is an error, and
the reading that hangs holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from forerun.include.days.shadow_days import shadow_standing
from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.catalogue import KnownReport, days_of, known_reports
from forerun.include.oncall.day.records import DayRecords, day_mark, read_day_records
from forerun.include.oncall.kept_value import PATIENCE_S, KeptValue, in_time
from forerun.include.oncall.night.rows import NightRow, make_row, unopened_row
from forerun.include.sources.completeness import find_missing
from forerun.include.state.failure import read_unopened
from forerun.include.stores.store import StoreDownError, StoreReader
from forerun.planner.errors import ForerunError

_T = TypeVar("_T")

_AT_ONCE = 16
"""So many days are read at the same time: on S3 each takes a dozen round trips."""
_NEWEST_DAYS = 2
_LOOK_AGAIN = timedelta(seconds=30)
"""Sources are looked at no more often than the tasks of a report do it by default."""
_SHOWN_AFTER = timedelta(hours=12)
"""A day that is well and is not a report's newest one is shown so long after its deadline."""


@dataclass(frozen=True, slots=True)
class NightRows:
    """The rows of all reports, as they were at an instant."""

    rows: tuple[NightRow, ...]
    read_at: datetime

    def of(self, dag_ids: Iterable[str]) -> tuple[NightRow, ...]:
        """The rows of the reports that these DAGs run."""
        wanted = frozenset(dag_ids)
        return tuple(row for row in self.rows if row.report.dag_id in wanted)


class NightReader:
    """The night of one store. ``fresh_s``: how old the night may be before it is read anew,
    ``stale_s`` how old it may be when it is handed out at all. Safe for threads."""

    def __init__(
        self,
        store: StoreReader,
        *,
        fresh_s: float = 5.0,
        stale_s: float = 60.0,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.store = store
        self._clock = clock
        self._night = KeptValue(
            lambda: self._all_rows(clock()), fresh_s=fresh_s, stale_s=stale_s, clock=clock
        )
        self._days: dict[tuple[str, str], tuple[object, DayRecords | None]] = {}
        self._looks: dict[tuple[str, str], tuple[datetime, tuple[str, ...]]] = {}
        self._readers = ThreadPoolExecutor(_AT_ONCE, "forerun-days")
        self._asked = ThreadPoolExecutor(_AT_ONCE, "forerun-pages")

    def night(self) -> NightRows:
        """The night of the newest days. Raises what reading the store raises."""
        return self._night.get()

    def ask(self, read: Callable[[], _T], patience_s: float = PATIENCE_S) -> _T:
        """Read something else of the store, in time. Raises what ``read`` raises, and
        :class:`StoreDownError` if that takes too long."""
        return in_time(self._asked.submit(read), patience_s)

    def changed(self) -> None:
        """Somebody has changed something by a page: the next one shows it."""
        self._night.forget()

    def day(self, report: KnownReport, day: str) -> NightRow | None:
        """The row of any day; None if the report has none of that date."""
        return self._row(report, day, self._clock())

    def _all_rows(self, now: datetime) -> NightRows:
        reports = known_reports(self.store)
        found = self._readers.map(lambda report: self._rows(report, now), reports)
        by_report = list(found)
        read = {(row.report.name, row.day) for rows in by_report for row in rows}
        for memory in (self._days, self._looks):
            for key in set(memory) - read:
                memory.pop(key, None)
        return NightRows(tuple(row for rows in by_report for row in _shown(rows, now)), now)

    def _rows(self, report: KnownReport, now: datetime) -> list[NightRow]:
        """The rows of a report's newest days."""
        days = islice(days_of(self.store, report.name), _NEWEST_DAYS)
        return [row for day in days if (row := self._row(report, day, now)) is not None]

    def _row(self, report: KnownReport, day: str, now: datetime) -> NightRow | None:
        """A row; one that says what is wrong where what the store holds cannot be read."""
        try:
            records = self._records(report.name, day)
            if records is None:
                return self._unopened(report, day)
            missing, looked_at = self._look(records, now)
            shadow = records.spec.shadow
            standing = shadow_standing(self.store, report.name, shadow) if shadow else None
            return make_row(report, records, now, missing, looked_at, standing)
        except StoreDownError:
            raise
        except ForerunError as error:
            return NightRow(
                report=report, day=day, group="", records=None, standing=None, broken=str(error)
            )

    def _unopened(self, report: KnownReport, day: str) -> NightRow | None:
        """A row for a day that could not be opened; None where nothing is known of it."""
        failure = read_unopened(self.store, report.name, day)
        if failure is None:
            return None
        return unopened_row(report, day, failure.what, failure.hint)

    def _records(self, report: str, day: str) -> DayRecords | None:
        mark = day_mark(self.store, report, day)
        known = self._days.get((report, day))
        if known is None or known[0] != mark:
            known = (mark, read_day_records(self.store, report, day))
            self._days[report, day] = known
        return known[1]

    def _look(self, records: DayRecords, now: datetime) -> tuple[tuple[str, ...], datetime | None]:
        """Return what the sources of a day lack that is still to be computed, and when that was
        looked up. Sources that wait for an asset of Airflow are not looked at: the store does not
        know of its events."""
        if records.final is not None:
            return (), None
        key = (records.at.report, records.at.day)
        known = self._looks.get(key)
        if known is None or now - known[0] >= _LOOK_AGAIN:
            known = self._looks[key] = (now, _missing(records, now))
        return known[1], known[0]


def _missing(records: DayRecords, now: datetime) -> tuple[str, ...]:
    try:
        missing = find_missing(records.spec, records.date, now)
    except ForerunError as error:
        return (f"the sources cannot be looked at: {error.message}",)
    return tuple(each.text for each in missing)


def _shown(rows: Sequence[NightRow], now: datetime) -> Iterator[NightRow]:
    """Yield the newest day of a report, and the one before while that may matter."""
    yield from rows[:1]
    yield from (row for row in rows[1:] if _matters(row, now))


def _matters(row: NightRow, now: datetime) -> bool:
    if row.records is None or row.standing is None or row.standing.severity != "good":
        return True
    return now - row.records.deadline < _SHOWN_AFTER
