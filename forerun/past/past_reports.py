"""Reports that Spark applications have computed again and again, found in their event logs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from forerun.include.machine.event_files import all_event_files
from forerun.include.machine.past_queries import PastApplication, PastQuery, read_past

_LEAST_DAYS = 2
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PastReport:
    """A statement that ran on several days, by UTC: what a day of it took, in the middle.

    ``cpu_s`` are CPU seconds of executors; ``reading`` is the part of them that tasks took which
    read tables; ``wall_s`` is None where no log says how long it took. ``start`` is the hour of the
    clock at which it began, ``runs`` how often a day. ``sql`` is that of the newest day, empty
    where no log has it. ``tables`` are names or places, those with the most bytes first.
    """

    name: str
    called: str
    sql: str
    shape: str
    days: tuple[date, ...]
    runs: float
    cpu_s: float
    reading: float
    wall_s: float | None
    start: str
    tables: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """All that the logs said: ``reports`` came again on another day, ``once`` counts the statements
    that did not. ``unread`` says of logs why they could not be read to their end."""

    reports: tuple[PastReport, ...]
    applications: int
    unended: int
    once: int
    damaged: int
    unread: tuple[str, ...]


def read_past_reports(places: Iterable[Path]) -> Past:
    """Read what the event logs of these places say. Damaged parts are left out, and counted. Raises
    :class:`forerun.include.machine.event_files.EventLogError` for a place without a log."""
    return past_of([read_past(log) for log in all_event_files(places)])


def past_of(applications: Iterable[PastApplication]) -> Past:
    """The reports that recur in these applications."""
    logs = tuple(applications)
    known = [log for log in logs if log.events]
    by_shape: dict[str, list[PastQuery]] = {}
    for application in known:
        for query in application.queries:
            by_shape.setdefault(query.shape, []).append(query)
    again = [found for found in by_shape.values() if len(set(map(_day, found))) >= _LEAST_DAYS]
    return Past(
        reports=tuple(map(_report, again)),
        applications=len(known),
        unended=sum(not application.ended for application in known),
        once=len(by_shape) - len(again),
        damaged=sum(log.damaged for log in logs),
        unread=(
            *(log.cut_off for log in logs if log.cut_off),
            *(f"{log.name} is no event log" for log in logs if not log.events and not log.cut_off),
        ),
    )


def _day(query: PastQuery) -> date:
    return query.started.date()


def _report(found: list[PastQuery]) -> PastReport:
    by_day: dict[date, list[PastQuery]] = {}
    for query in sorted(found, key=lambda one: one.started):
        by_day.setdefault(_day(query), []).append(query)
    newest = max(found, key=lambda one: one.started)
    cpu, reading = sum(one.cpu_s for one in found), sum(one.reading_s for one in found)
    walls = [w for w in map(_wall_of, by_day.values()) if w is not None]
    return PastReport(
        name=f"q_{newest.shape[:8]}",
        called=" ".join(newest.called.split())[:_SHOWN],
        sql=newest.sql,
        shape=newest.shape,
        days=tuple(by_day),
        runs=len(found) / len(by_day),
        cpu_s=statistics.median(sum(one.cpu_s for one in day) for day in by_day.values()),
        reading=reading / cpu if cpu else 0.0,
        wall_s=statistics.median(walls) if walls else None,
        start=_clock(statistics.median_low(_minutes(day[0].started) for day in by_day.values())),
        tables=tuple(sorted(newest.tables, key=lambda one: (-one[1], one[0]))),
    )


def _wall_of(day: list[PastQuery]) -> float | None:
    ended = [(one.ended - one.started).total_seconds() for one in day if one.ended is not None]
    return sum(ended) if len(ended) == len(day) else None


def _minutes(instant: datetime) -> int:
    return 60 * instant.hour + instant.minute


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
