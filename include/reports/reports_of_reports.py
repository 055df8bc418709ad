"""Reports that read what other reports publish, and whether their deadlines fit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from forerun.include.reports.asset_keys import report_of
from forerun.include.reports.sources.complete_when import AssetEvent
from forerun.include.reports.spec import ReportSpec, SpecError

_WEEK = tuple(date(2026, 3, 2) + timedelta(days=n) for n in range(7))


def reports_read(spec: ReportSpec) -> tuple[str, ...]:
    """Return the names of the reports that a report reads or waits for, each once: those whose
    results it has as a source from its own store, or whose asset says that a source is complete."""
    found = []
    for source in spec.sources:
        rule = source.complete_when
        if source.reads is not None and source.store == spec.store:
            found.append(source.reads)
        elif isinstance(rule, AssetEvent) and (name := report_of(rule.uri)):
            found.append(name)
    return tuple(dict.fromkeys(found))


def due_too_late(spec: ReportSpec, others: Mapping[str, ReportSpec]) -> str:
    """Return which report that ``spec`` reads is due only after it; empty if none of ``others``,
    which are by name, is. Days of one week are looked at. Reports that are due together, as all are
    that keep the default, may well hold."""
    for name in reports_read(spec):
        other = others.get(name)
        if other is None:
            continue
        for day in _WEEK:
            if not (_reports_on(spec, day) and _reports_on(other, day)):
                continue
            due, before = spec.deadline_on(day), other.deadline_on(day)
            if before > due:
                return (
                    f"report {spec.name} of a {day:%A} is due on {due:%A at %H:%M}Z, and reads "
                    f"{name}, which is due only on {before:%A at %H:%M}Z"
                )
    return ""


def refuse_late(spec: ReportSpec, others: Mapping[str, ReportSpec]) -> None:
    """Raise :class:`SpecError` if a report reads one that is due only after it."""
    if late := due_too_late(spec, others):
        raise SpecError(
            late,
            hint="Give the report that is read an earlier deadline, or this one a later: between "
            "the two its final run takes place.",
        )


def _reports_on(spec: ReportSpec, day: date) -> bool:
    return spec.period is None or spec.period.bounds(day)[1] == day
