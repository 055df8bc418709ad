"""Compares a published day of a report in shadow with what the other job made of the day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.days.publishing import published_folder
from forerun.include.days.results import read_pointer
from forerun.include.days.shadow_days import keep_shadow_day, read_shadow_days
from forerun.include.reports.shadow import Shadow
from forerun.include.sources.files import Location, locate
from forerun.include.state.layout import Generation
from forerun.include.state.pointers import Pointer
from forerun.include.state.rows import read_rows
from forerun.include.state.shadow_day import ShadowDay
from forerun.include.verify.equality import compare
from forerun.planner.errors import ForerunError

_MOST_BYTES = 1 << 30
"""Of a result: both are held in memory."""


class NotComparedError(ForerunError):
    """There is nothing to compare a day with, or not now."""

    code = "not-compared"


def compare_days(day: Day, shadow: Shadow, now: datetime) -> tuple[ShadowDay, ...]:
    """Compare a day, and those of the newest days that could not be compared until now; keep what
    came of it and return it, oldest first. Raises what the store raises."""
    known = read_shadow_days(day.store, day.at.report, shadow.days)
    again = {one.day for one in known if one.verdict == "not-compared"} | {day.at.day}
    found = []
    for one in sorted(again):
        at = day.at if one == day.at.day else None
        record = _compared(day, shadow, date.fromisoformat(one), at, now)
        if record is not None:
            keep_shadow_day(day.store, record)
            found.append(record)
    return tuple(found)


def _compared(
    day: Day, shadow: Shadow, when: date, at: Generation | None, now: datetime
) -> ShadowDay | None:
    """The record of a day; None of one that has nothing published, and so is no day yet."""
    pointer = read_pointer(day.store, day.at.report, when)
    if pointer is None or pointer.early:
        return None
    at = at or Generation(day.at.report, when.isoformat(), str(pointer.generation))
    record = ShadowDay(
        report=pointer.report,
        day=pointer.day,
        version=pointer.version,
        verdict="not-compared",
        compared_at=now.astimezone(UTC).isoformat(),
        rows=pointer.rows,
        other_rows=None,
        why="",
        differences=(),
        cpu_s=_cpu_s(Day(day.store, day.spec, at)),
        other_cpu_s=shadow.cpu_s,
    )
    return _judged(day, shadow, pointer, record)


def _judged(day: Day, shadow: Shadow, pointer: Pointer, record: ShadowDay) -> ShadowDay:
    try:
        ours = read_rows(day.store, published_folder(pointer), pointer.files)
        theirs = _others(shadow, pointer.day)
    except ForerunError as error:
        return replace(record, why=error.message)
    except (OSError, pa.ArrowException) as error:
        return replace(record, why=f"{type(error).__name__}: {error}")
    verdict = compare(theirs, _like(theirs, ours if ours is not None else theirs.slice(0, 0)))
    return replace(
        record,
        verdict="equal" if verdict.equal else "different",
        other_rows=theirs.num_rows,
        differences=verdict.differences,
    )


def _like(theirs: pa.Table, ours: pa.Table) -> pa.Table:
    """Our columns in the order of theirs, if they have the same names; as they are if not."""
    same = sorted(theirs.column_names) == sorted(ours.column_names)
    return ours.select(theirs.column_names) if same else ours


def _others(shadow: Shadow, day: str) -> pa.Table:
    """The rows that the other job made of a day."""
    place = locate(f"{shadow.compare_with.rstrip('/')}/{shadow.column}={day}")
    files = place.files(".parquet")
    where = place.store.uri(place.key)
    if not files:
        raise NotComparedError(
            f"{where} has no Parquet file",
            hint="The other job is late, or writes elsewhere: see Shadow(compare_with=...).",
        )
    if sum(file.size for file in files) > _MOST_BYTES:
        raise NotComparedError(
            f"{where} has more than {_MOST_BYTES:,} bytes", hint="So much is not compared."
        )
    return pa.concat_tables([_rows(place, file.key) for file in files])


def _rows(place: Location, key: str) -> pa.Table:
    with place.store.open(key) as handle:
        return pq.read_table(handle)


def _cpu_s(day: Day) -> float:
    """Return the CPU seconds of the committed runs of a day; 0 where they are gone."""
    return sum(
        max(commit.metrics.process_cpu_s, commit.metrics.executor_cpu_s) for commit in day.chain()
    )
