"""A range of days as the page of a backfill shows it: what each would take, and which of them DAG
runs can begin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from forerun.include.days.generations import latest_generation, read_spec
from forerun.include.oncall.catalogue import newest_opening
from forerun.include.past.backfill import Backfill, BackfillDay, find_backfill
from forerun.include.stores.store import Store
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import RequestError

TOGETHER = 7
"""So many days share an application, where the command line computes them, unless it is told
otherwise."""
MOST_DAYS = 31
"""Longer ranges are for the command line: every day of one is planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillView:
    """A range, looked at. ``begun``: its days that are missing and that somebody has opened before,
    where a new DAG run would not go on from what is kept. ``refused``: why no DAG run of the report
    can compute a single day of it, empty if one can. ``grouped``: the DAG has other reports, too,
    which the DAG runs are not about. ``under_way``: days that DAG runs are computing already."""

    found: Backfill
    begun: frozenset[date]
    refused: str
    grouped: bool = False
    under_way: frozenset[date] = frozenset()

    @property
    def to_start(self) -> tuple[BackfillDay, ...]:
        """The days that DAG runs are triggered for."""
        missing = (day for day in self.found.days if day.standing == "missing")
        taken = self.begun | self.under_way
        return () if self.refused else tuple(day for day in missing if day.date not in taken)

    @property
    def applications(self) -> tuple[tuple[BackfillDay, ...], ...]:
        """The days to start, oldest first, as they share DAG runs and applications. A report that
        waits for assets has a DAG run for each day, which looks for the events of that day."""
        spec, days = self.found.spec, self.to_start
        size = 1 if spec.awaits(spec.runs) else self.found.together
        return tuple(days[at : at + size] for at in range(0, len(days), size))

    @property
    def start_cpu_s(self) -> float:
        """Return the estimated CPU seconds of the days to start, as the range itself is priced: an
        application's start is paid once, and a query that computes several days is paid in their
        place."""
        if len(self.applications) == len(self.to_start):
            return self.apart_cpu_s
        return self.found.cost_of({day.date for day in self.to_start}) / MICRO

    @property
    def others(self) -> int:
        """Return how many days are to be done that no DAG run is triggered for from the page."""
        return sum(day.is_to_do for day in self.found.days) - len(self.to_start)

    @property
    def apart_cpu_s(self) -> float:
        """Return the estimated CPU seconds of the days to start with an application for each."""
        return sum(day.cost for day in self.to_start) / MICRO


def read_backfill(
    store: Store, report: str, first: date, last: date, now: datetime
) -> BackfillView:
    """Look at a range of days of a report that a DAG has run. Raises :class:`RequestError` for a
    range that is none, or too long."""
    record = newest_opening(store, report)
    if record is None or record.opened_by is None:
        raise RequestError(
            f"no DAG run has opened a day of {report} that is left",
            hint="Let the report run once, so that the store knows what it is.",
        )
    spec, by = read_spec(store, report, record.spec), record.opened_by
    if last - first >= timedelta(days=MOST_DAYS * (spec.period.days[1] if spec.period else 1)):
        raise RequestError(
            f"from {first} to {last} are more than {MOST_DAYS} days",
            hint=f"Look at fewer, or from the command line: forerun backfill {report} {first} "
            f"{last} --preview",
        )
    found = find_backfill(store.root, spec, first, last, now=now, together=TOGETHER)
    missing = (day.date for day in found.days if day.standing == "missing")
    return BackfillView(
        found=found,
        begun=frozenset(day for day in missing if latest_generation(store, report, day)),
        refused="Its tasks belong to a larger DAG: compute the range from the command line."
        if by.prefix and not by.group
        else "",
        grouped=bool(by.group),
    )
