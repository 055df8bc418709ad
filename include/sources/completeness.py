"""Tell whether the day of a source is complete, by the sign that its report names.

The clock is an argument. Asset events live in Airflow: the caller names those that have come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import assert_never

from forerun.include.reports.spec import (
    AssetEvent,
    ClockTime,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    ReportSpec,
    SourceSpec,
    WhenPublished,
)
from forerun.include.reports.values.clock import parse_time
from forerun.include.sources.files import locate
from forerun.include.sources.listing import data_files, said
from forerun.include.sources.services.report_format import published, store_of_results
from forerun.include.state.pointers import what_lacks

_MOST_NAMED = 3
Events = Mapping[str, Mapping[str, Sequence[str]]]
"""By the URI of an asset the days (``YYYY-MM-DD``) for which it had an event, each with what its
producer said was missing by the newest one."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The lack of a source: ``what`` is a sentence without its name. ``accepted``: the report goes
    on all the same, and readers of its result must be told."""

    source: str
    what: str
    accepted: bool = False

    @property
    def text(self) -> str:
        return f"{self.source}: {self.what}"


def find_missing(
    spec: ReportSpec, day: date, now: datetime, *, events: Events | None = None
) -> tuple[Missing, ...]:
    """Return what is missing at ``now`` of the sources whose day is not complete.

    ``events`` are those of assets; None leaves sources that wait for one aside. Raises
    :class:`forerun.include.stores.store.StoreError` when a source's folder cannot be listed.
    """
    found = (missing_of(source, spec, day, now, events=events) for source in spec.sources)
    return tuple(each for each in found if each)


def missing_of(
    source: SourceSpec,
    spec: ReportSpec,
    day: date,
    now: datetime,
    *,
    events: Events | None,
) -> Missing | None:
    """Return what is missing of one source, as :func:`find_missing` says it, or None if it is
    complete."""
    rule = source.complete_when
    if isinstance(rule, AssetEvent):
        return missing_of_asset(source.name, rule, source.days_on(day), events)
    if isinstance(rule, WhenPublished):
        return missing_of_results(source, rule, day)
    what = _of_files(source, rule, spec, day, now)
    return Missing(source.name, what) if what else None


def missing_of_asset(
    source: str, rule: AssetEvent, days: Sequence[date], events: Events | None
) -> Missing | None:
    """Return what is missing of an asset that stands for ``source`` on these days, or None if the
    event of each has come."""
    if events is None:
        return None
    told = events.get(rule.uri, {})
    if missing := [str(each) for each in days if str(each) not in told]:
        return Missing(source, f"no event of asset {rule.uri} for {_shortened(missing)}")
    partly = [f"on {each}: {'; '.join(told[str(each)])}" for each in days if told[str(each)]]
    if not partly:
        return None
    what = f"asset {rule.uri} was not complete {_shortened(partly)}"
    return Missing(source, what, accepted=rule.incomplete == "accept")


def missing_of_results(source: SourceSpec, rule: WhenPublished, day: date) -> Missing | None:
    """Return what is missing of a source that has the results of another report, or None if the
    whole of each day is published."""
    absent, partly, early = list[str](), list[str](), False
    store = store_of_results(source.store)
    for path in source.folders_on(day):
        pointer = published(store, path)
        if pointer is None:
            absent.append(path)
        elif not pointer.complete:
            early |= pointer.early
            partly.append(f"{path}: {'; '.join(what_lacks(pointer))}")
    if absent:
        return Missing(source.name, f"nothing is published as {_shortened(absent)}")
    if not partly:
        return None
    accepted = rule.incomplete == "accept" and not early
    return Missing(source.name, f"not the whole day: {_shortened(partly)}", accepted=accepted)


def _of_files(
    source: SourceSpec,
    rule: MarkerFile | HourlyMarkers | ExpectedCount | ClockTime | None,
    spec: ReportSpec,
    day: date,
    now: datetime,
) -> str:
    """Say what a source lacks of the day, by its files and the clock; "" if it is complete."""
    match rule:
        case None:
            if source.allow_empty or data_files(source, day).keys:
                return ""
            return f"no files in {said(list(source.folders_on(day)))}"
        case ClockTime():
            at = parse_time(rule.at, "complete_when").on(day, spec.zone)
            return "" if now >= at else f"complete at {at:%Y-%m-%d %H:%M}Z"
        case MarkerFile():
            without = [path for path in source.folders_on(day) if rule.name not in _names(path)]
            return f"no {rule.name} in {said(without)}" if without else ""
        case HourlyMarkers():
            return _unmarked(source, rule, spec, day)
        case ExpectedCount():
            return _uncounted(source, rule, day)
        case _:
            assert_never(rule)


def _uncounted(source: SourceSpec, rule: ExpectedCount, day: date) -> str:
    files = data_files(source, day).keys
    if rule.files:
        found, wanted, unit = len(files), rule.files, "files"
    else:
        from forerun.include.sources.parquet.footers import SourceFileError
        from forerun.include.sources.pins import arrived_rows

        try:
            found, wanted, unit = arrived_rows(source, day), rule.rows, "rows"
        except SourceFileError as error:
            return error.message  # still being written, or to be put right
    return "" if found >= wanted else f"{found:,} of {wanted:,} {unit}"


def _unmarked(source: SourceSpec, rule: HourlyMarkers, spec: ReportSpec, day: date) -> str:
    texts = []
    for path, each in source.folders_on(day).items():
        expected, there = rule.expected(each, spec.zone), _names(path)
        if missing := [hour for hour in expected if hour not in there]:
            texts.append(
                f"{len(expected) - len(missing)} of {len(expected)} hours have their "
                f"marker in {path}; not {_shortened(missing)}"
            )
    return _shortened(texts)


def _shortened(texts: Sequence[str]) -> str:
    """Return the first of some texts, and whether there are more."""
    return ", ".join(texts[:_MOST_NAMED]) + (", ..." if len(texts) > _MOST_NAMED else "")


def _names(path: str) -> set[str]:
    """All that lies in the folder of a day, hidden files too, by its path below that folder. A
    missing folder is empty."""
    place = locate(path)
    start = len(place.key) + 1
    return {file.key[start:] for file in place.store.list(place.key)}
