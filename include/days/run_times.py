"""The times at which the runs of a day start: as decided last, else the report's own times.

A schedule only ever makes runs earlier, later or fewer; it decides nothing about what is published.
So one that cannot be read, or that does not fit the report as it is now, is passed over with a
warning, and the report's own times hold.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from forerun.include.days.handle import Day
from forerun.include.sources.statistics import time_points
from forerun.include.state.layout import numbers
from forerun.include.state.records import decode, encode
from forerun.include.state.run_schedule import RunSchedule
from forerun.include.stores.store import MissingKeyError
from forerun.planner.errors import ContractError
from forerun.planner.request import TimePoint

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """The start of each slot of a day, None for one that has no run. ``schedule`` is the record
    that says so; without one these are the report's own times."""

    starts: tuple[datetime | None, ...]
    schedule: RunSchedule | None = None

    @property
    def number(self) -> int:
        """Return which decision this is, 0 for the report's own times."""
        return self.schedule.number if self.schedule else 0

    @property
    def forced(self) -> bool:
        """Return whether the early runs are there for the deadline, whatever they cost."""
        return self.schedule is not None and self.schedule.forced

    @property
    def may_open(self) -> tuple[int, ...] | None:
        """The early slots that have a run; None if all may have one."""
        if self.schedule is None:
            return None
        return tuple(run for run, start in enumerate(self.starts[:-1], 1) if start is not None)

    @property
    def instants(self) -> tuple[datetime, ...]:
        """One instant for each slot; that of a slot without a run is the next run's."""
        return tuple(self._from(run) for run in range(len(self.starts)))

    def after(self, run: int) -> datetime:
        """Return when the next run after slot ``run`` starts."""
        return self._from(run)

    @property
    def points(self) -> tuple[TimePoint, ...]:
        """The slots as time points of the planner, by the schedule's own forecast; none for the
        report's own times. A slot without a run is like the next one that has one."""
        if self.schedule is None:
            return ()
        by_run = {one.run: one for one in self.schedule.runs}
        found: list[tuple[float, Mapping[str, float]]] = []
        for run in range(len(self.starts), 0, -1):
            one = by_run.get(run)
            found.append((one.weight, dict(one.arrived)) if one else found[-1])
        found.reverse()
        return time_points([weight for weight, _ in found], [arrived for _, arrived in found])

    def _from(self, place: int) -> datetime:
        later = next((start for start in self.starts[place:] if start is not None), None)
        if later is None:
            raise ValueError("the final run of a day has no start")
        return later


def own_times(day: Day) -> RunTimes:
    """The times that the report itself names."""
    return RunTimes(day.points)


def read_times(day: Day) -> RunTimes:
    """The times of a day as they are now. Raises :class:`forerun.include.stores.store.StoreError`
    for a store that does not answer, and nothing else."""
    own = own_times(day)
    if not day.spec.policy.times_move:
        return own
    known = numbers(tuple(file.key for file in day.store.list(day.at.schedules)))
    if not known:
        return own
    key = day.at.schedule(known[-1])
    try:
        return _taken(day, decode(RunSchedule, day.store.get(key), key))
    except (ContractError, MissingKeyError) as error:
        _LOG.warning("the report's own times hold, its schedule is passed over: %s", error.message)
        return own


def next_schedule(day: Day) -> str:
    """The URI at which the next schedule of a day will lie: what waits for it looks only there."""
    known = numbers(tuple(file.key for file in day.store.list(day.at.schedules)))
    return f"{day.store.root}/{day.at.schedule(known[-1] + 1 if known else 1)}"


def _taken(day: Day, schedule: RunSchedule) -> RunTimes:
    slots, runs = day.spec.runs, [one.run for one in schedule.runs]
    starts: list[datetime | None] = [None] * slots
    try:
        for one in schedule.runs:
            starts[one.run - 1] = datetime.fromisoformat(one.at)
        given = [start for start in starts if start is not None]
        fits = given == sorted(given) and all(start.tzinfo is not None for start in given)
    except (ValueError, IndexError, TypeError):
        fits = False
    if not fits or not runs or runs != sorted(set(runs)) or runs[0] < 1 or runs[-1] != slots:
        raise ContractError(
            f"schedule {schedule.number} of {day.at.report}, {day.at.day}, does not fit its "
            f"{slots} runs",
            hint="Was the report edited during the day? The next day is scheduled as it is now.",
        )
    return RunTimes(tuple(starts), schedule)


def store_times(day: Day, schedule: RunSchedule) -> RunTimes:
    """Store a schedule as the newest one; its number is the next that is free."""
    known = numbers(tuple(file.key for file in day.store.list(day.at.schedules)))
    number = known[-1] + 1 if known else 1
    while True:
        numbered = replace(schedule, number=number)
        if day.store.put_if_absent(day.at.schedule(number), encode(numbered)):
            return _taken(day, numbered)
        number += 1  # somebody else has decided at the same time: the later one counts
