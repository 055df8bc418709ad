"""Find the other days whose ranges hold what was corrected.

A report over a rolling range reads each day's folder on several of its days, so a correction that
is found in one of them is in the results of the others, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from forerun.include.days.panes import folder_of
from forerun.include.days.results import read_pointer
from forerun.include.oncall.catalogue import days_of
from forerun.include.past.repair import Repair
from forerun.include.reports.spec import SourceSpec
from forerun.include.reports.values.clock import parse_day
from forerun.include.sources.corrections import Correction
from forerun.include.sources.files import locate
from forerun.include.stores.store import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlappingDays:
    """The other published days that read a folder in which something was corrected, in order, and
    what computing all of them anew takes, in CPU seconds: as often as it takes that for the day
    that was looked at, by estimate."""

    days: tuple[date, ...] = ()
    anew_cpu_s: float = 0.0


def overlapping_days(store: StoreReader, repair: Repair) -> OverlappingDays:
    """Return the days that overlap with a repaired one in what was corrected; none where the
    corrections are not known."""
    name, own_day = repair.day.at.report, repair.day.date
    ranging = {s.name: s for s in repair.day.spec.sources if s.over and s.has_day_folders}
    changed = [one for one in repair.corrections or () if one.source in ranging]
    touched = {one.source: _folders_with(changed, ranging[one.source], own_day) for one in changed}
    if not touched:
        return OverlappingDays()
    others = sorted(day for text in days_of(store, name) if (day := parse_day(text)) != own_day)
    days = tuple(
        day
        for day in others
        if any(there & ranging[one].folders_on(day).keys() for one, there in touched.items())
        and _is_published(store, name, day)
    )
    return OverlappingDays(days=days, anew_cpu_s=repair.anew.cpu_s * len(days))


def _folders_with(changed: Iterable[Correction], source: SourceSpec, day: date) -> set[str]:
    """Return those of the folders that a source is read from on a day in which something was
    corrected."""
    places = ((locate(path), path) for path in source.folders_on(day))
    located = {at.store.uri(at.key): path for at, path in places}
    files = (file for one in changed if one.source == source.name for file in (one.before, one.now))
    found = (folder_of(file, located) for file in files if file is not None)
    return {located[folder] for folder in found if folder}


def _is_published(store: StoreReader, report: str, day: date) -> bool:
    pointer = read_pointer(store, report, day)
    return pointer is not None and not pointer.early
