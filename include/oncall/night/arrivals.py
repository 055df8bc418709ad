"""The arrivals of sources: what was pinned today, beside what past days let expect.

A source that several reports read is one source, told by its folder; times are on the clock of the
report that is named first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from forerun.include.oncall.day.records import DayRecords
from forerun.include.oncall.night.rows import NightRow
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.sources.delivery import read_pin
from forerun.include.state.layout import numbers, pin_key, pins_folder, source_id
from forerun.include.stores.store import StoreReader
from forerun.include.times.past_arrivals import by_instants, read_arrivals
from forerun.planner.schedule.arrivals import ArrivalCurve

Points = tuple[tuple[datetime, int], ...]
"""Rows by instants."""
_CAUTIOUS = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOfNight:
    """A source on the newest day that a report of the night has: who reads it, and what it lacks
    by the rule of the first of them."""

    name: str
    path: str
    growing: bool
    row: NightRow
    reports: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceArrivals:
    """The arrivals of a source on a day. ``seen``: its pins. ``middle`` and ``cautious``: rows that
    half, and nine in ten, of the past days had by then, as parts of the rows of a day in the
    middle; empty where no past day tells. ``total``: these rows, 0 then."""

    source: str
    seen: Points
    middle: Points
    cautious: Points
    total: int

    @property
    def complete_at(self) -> datetime | None:
        """Return when all rows are expected, cautiously; None where nothing tells."""
        return self.cautious[-1][0] if self.cautious else None


def sources_of(rows: Iterable[NightRow]) -> tuple[SourceOfNight, ...]:
    """The sources of the days of a night, by name and day; each once."""
    found: dict[tuple[str, str], list[tuple[NightRow, SourceSpec]]] = {}
    for row in rows:
        for source in row.records.spec.sources if row.records else ():
            name = source_id(source.name, source.pinned_as, source.format)
            found.setdefault((name, row.day), []).append((row, source))
    return tuple(_source(found[key]) for key in sorted(found))


def _source(readers: list[tuple[NightRow, SourceSpec]]) -> SourceOfNight:
    row, source = readers[0]
    own = f"{source.name}: "
    return SourceOfNight(
        name=source.name,
        path=source.path,
        growing=source.arrival == "growing",
        row=row,
        reports=tuple(each.report.name for each, _ in readers),
        missing=tuple(text.removeprefix(own) for text in row.missing if text.startswith(own)),
    )


def read_source_arrivals(
    store: StoreReader, records: DayRecords, source: SourceSpec
) -> SourceArrivals:
    """Return how a source of a report arrived on a day. Raises
    :class:`forerun.include.stores.store.StoreError`."""
    seen = tuple(_seen(store, source, records.at.day))
    forecast = read_arrivals(store, records.spec, records.date).get(source.name)
    if forecast is None:
        return SourceArrivals(source=source.name, seen=seen, middle=(), cautious=(), total=0)
    weekday, spec = records.date.weekday(), records.spec
    curves = [forecast.curve(weekday, 0.0, share=share) for share in (0.5, _CAUTIOUS)]
    middle, cautious = (_points(by_instants(spec, records.date, curve)) for curve in curves)
    return SourceArrivals(
        source=source.name,
        seen=seen,
        middle=middle,
        cautious=cautious,
        total=forecast.total(weekday),
    )


def day_start(records: DayRecords) -> datetime:
    """Return when the day, or its period, begins on the report's clock."""
    return records.spec.begins(records.date)


def _points(curve: ArrivalCurve) -> Points:
    pairs = zip(curve.rows.xs, curve.rows.ys, strict=True)
    return tuple((datetime.fromtimestamp(at, UTC), round(rows)) for at, rows in pairs)


def _seen(store: StoreReader, source: SourceSpec, day: str) -> Iterator[tuple[datetime, int]]:
    name = source_id(source.name, source.pinned_as, source.format)
    keys = tuple(file.key for file in store.list(pins_folder(name, day)))
    for number in numbers(keys):
        pin = read_pin(store, pin_key(name, day, number))
        yield datetime.fromisoformat(pin.pinned_at), pin.rows
