"""Find the other days whose ranges hold what was corrected.

A report over a rolling range reads the rows of a day on several of its days, so a correction that
is found in one of them is in the results of the others, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from forerun.include.days.results import read_pointer
from forerun.include.oncall.catalogue import days_of
from forerun.include.past.repair import Repair
from forerun.include.reports.spec import SourceSpec
from forerun.include.reports.values.clock import parse_day
from forerun.include.stores.store import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlappingDays:
    """The other published days that read a day in which something was corrected, in order, and
    what computing all of them anew takes, in CPU seconds: as often as it takes that for the day
    that was looked at, by estimate."""

    days: tuple[date, ...] = ()
    anew_cpu_s: float = 0.0


def overlapping_days(store: StoreReader, repair: Repair) -> OverlappingDays:
    """Return the days that overlap with a repaired one in what was corrected; none where the
    corrections are not known."""
    name, own_day = repair.day.at.report, repair.day.date
    ranging = {s.name: s for s in repair.day.spec.sources if s.over and s.tells_days}
    touched: dict[str, set[str]] = {}
    for one in repair.corrections or ():
        files = (file for file in (one.before, one.now) if file is not None and file.day)
        if one.source in ranging:
            touched.setdefault(one.source, set()).update(file.day for file in files)
    if not touched:
        return OverlappingDays()
    others = sorted(day for text in days_of(store, name) if (day := parse_day(text)) != own_day)
    days = tuple(
        day
        for day in others
        if any(there & _days_of(ranging[one], day) for one, there in touched.items())
        and _is_published(store, name, day)
    )
    return OverlappingDays(days=days, anew_cpu_s=repair.anew.cpu_s * len(days))


def _days_of(source: SourceSpec, day: date) -> set[str]:
    return {str(each) for each in source.days_read(day)}


def _is_published(store: StoreReader, report: str, day: date) -> bool:
    pointer = read_pointer(store, report, day)
    return pointer is not None and not pointer.early
