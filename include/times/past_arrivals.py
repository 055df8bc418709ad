"""Reads when the rows of past days came, for the forecast of a day, from the pins in the store.

Each pin says how many rows there were when it was made, whichever report made it. A day counts if
it was published whole: only then is its last pin known to have all rows. A day that was pinned only
after its deadline (a backfill) tells how many rows it had and not when they came, and is left out.
The last pin of a day is that of its final run, which may have waited for a lower price: its rows
are taken to be there by the report's own time of that run.
The maths are in :mod:`forerun.planner.schedule.forecast`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from forerun.include.days.results import read_pointer
from forerun.include.reports.spec import ReportSpec, SourceSpec
from forerun.include.reports.values.clock import DayTime, parse_day
from forerun.include.sources.delivery import read_pin
from forerun.include.state.layout import (
    numbers,
    pin_key,
    pins_folder,
    report_results_folder,
    source_id,
)
from forerun.include.state.records import Pin
from forerun.include.stores.store import MissingKeyError, StoreReader
from forerun.planner.errors import ContractError
from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.forecast import ArrivalForecast, PastDay

NEWEST = 28
"""So many of the newest days count: each weekday four times, one of which may have been odd."""

_WHOLE = 0.95
"""A day of which so much had come by its deadline was whole then: what came later was late data,
which says nothing about when a day is complete."""


def read_arrivals(store: StoreReader, spec: ReportSpec, day: date) -> dict[str, ArrivalForecast]:
    """How each growing source of a report arrived on the days before ``day``, by source; a source
    that nothing is known of is left out."""
    days = published_days(store, spec, day)
    found: dict[str, ArrivalForecast] = {}
    for source in spec.sources:
        if source.arrival != "growing":
            continue
        past = [one for each in days if (one := past_day(store, spec, source, each)) is not None]
        if past:
            found[source.name] = ArrivalForecast(past)
    return found


def published_days(store: StoreReader, spec: ReportSpec, day: date) -> list[date]:
    """The newest days before ``day`` of which a whole result is published, oldest first."""
    named = store.folders(report_results_folder(spec.name))
    before = sorted(text for text in named if text < day.isoformat())[-NEWEST:]
    return [day for day in map(parse_day, before) if _is_published_whole(store, spec.name, day)]


def past_day(store: StoreReader, spec: ReportSpec, source: SourceSpec, day: date) -> PastDay | None:
    """A day of a source as its pins tell it; None if they do not."""
    late = spec.deadline_on(day)
    pins = [(at, pin.rows) for pin in _pins(store, source, day) for at in [_pinned_at(pin)]]
    if not pins or pins[0][0] > late or not pins[-1][1]:
        return None
    in_time = [(at, rows) for at, rows in pins if at <= late]
    if in_time[-1][1] >= _WHOLE * pins[-1][1]:
        pins = in_time
    if len(pins) > 1:
        # When the final run was says nothing about when its rows came: that is what the report's
        # own time says, if it was kept.
        (before, _), (at, rows) = pins[-2:]
        pins[-1] = (min(at, max(before, spec.points(day)[-1])), rows)
    rising: dict[float, float] = {}
    clock, most = 0.0, 0.0
    for at, rows in pins:  # a correction may have taken rows away: what had come had come
        clock = max(clock, clock_seconds(spec, day, at))  # an hour may come twice
        most = max(most, float(rows))
        rising[clock] = most
    return PastDay(weekday=day.weekday(), pins=tuple(rising.items()))


def clock_seconds(spec: ReportSpec, day: date, at: datetime) -> float:
    """The seconds that the clock of a report's day, or of its period, shows at an instant, going on
    past midnight. Arrivals are told by the clock, whether or not it changes on the day."""
    first, _ = spec.bounds(day)
    shown = at.astimezone(spec.zone).replace(tzinfo=None) - datetime.combine(first, time())
    return shown / timedelta(seconds=1)


def by_instants(spec: ReportSpec, day: date, curve: ArrivalCurve) -> ArrivalCurve:
    """A curve over the seconds of the clock as one over instants, in seconds of the UNIX epoch."""
    first, _ = spec.bounds(day)
    return arrival_curve(
        (DayTime(round(clock), elapsed=False).on(first, spec.zone).timestamp(), rows)
        for clock, rows in zip(curve.rows.xs, curve.rows.ys, strict=True)
    )


def _is_published_whole(store: StoreReader, report: str, day: date) -> bool:
    try:
        pointer = read_pointer(store, report, day)
    except ContractError:  # damaged: whoever publishes it again will say so
        return False
    return pointer is not None and pointer.complete


def newest_pin(store: StoreReader, source: SourceSpec, day: date) -> tuple[datetime, int] | None:
    """Return (instant, rows) of the day's newest pin of a source, or None."""
    last = max(_pins(store, source, day), key=_pinned_at, default=None)
    return (_pinned_at(last), last.rows) if last else None


def _pins(store: StoreReader, source: SourceSpec, day: date) -> Iterator[Pin]:
    """The pins of a day, oldest first; one that cannot be read is passed over, as a forecast is
    only better for it."""
    name = source_id(source.name, source.pinned_as, source.format)
    keys = tuple(file.key for file in store.list(pins_folder(name, day.isoformat())))
    for number in numbers(keys):
        try:
            yield read_pin(store, pin_key(name, day.isoformat(), number))
        except (ContractError, MissingKeyError):
            continue


def _pinned_at(pin: Pin) -> datetime:
    return datetime.fromisoformat(pin.pinned_at)
