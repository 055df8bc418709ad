"""What is known of a day that is under way: its rows, how the others will come, and its prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta

from forerun.include.days.handle import Day
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.hours import daily_curve
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.pins import pin_source
from forerun.include.stores.store import StoreReader
from forerun.include.times.past_arrivals import (
    by_instants,
    clock_seconds,
    newest_pin,
    read_arrivals,
)
from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.step_curve import StepCurve, constant
from forerun.planner.schedule.today import curve_today


def rows_now(day: Day, now: datetime) -> dict[str, int]:
    """Rows of each growing source that are there now; they are pinned, which makes the forecast of
    later days finer."""
    found = {}
    for source in day.spec.sources:
        if source.arrival == "growing":
            try:
                _, pin = pin_source(day.store, source, day.date, now)
                found[source.name] = pin.rows
            except SourcePathError:  # nothing is there yet
                found[source.name] = 0
    return found


def curves_today(day: Day, now: datetime, rows: Mapping[str, int]) -> dict[str, ArrivalCurve]:
    """How the growing sources arrive on a day of which ``rows`` are there now, over instants; those
    of which no past day tells anything are left out."""
    spec, date_ = day.spec, day.date
    clock = clock_seconds(spec, date_, now)
    return {
        name: by_instants(spec, date_, curve_today(forecast, date_.weekday(), clock, rows[name]))
        for name, forecast in read_arrivals(day.store, spec, date_).items()
        if name in rows
    }


def curves_known(store: StoreReader, spec: ReportSpec, day: date) -> dict[str, ArrivalCurve]:
    """How the growing sources arrive on a day by what the store knows: past days, and the newest
    pin of the day itself if it has one; sources of which no past day tells anything are left out.
    """
    found = {}
    for name, forecast in read_arrivals(store, spec, day).items():
        pinned = newest_pin(store, spec.source(name), day)
        if pinned is None:
            curve = forecast.curve(day.weekday(), 0.0)
        else:
            at, rows = pinned
            curve = curve_today(forecast, day.weekday(), clock_seconds(spec, day, at), rows)
        found[name] = by_instants(spec, day, curve)
    return found


def prices_until(spec: ReportSpec, day: date, last: float) -> StepCurve:
    """What compute costs from the start of a day, or of a period, to an instant and somewhat beyond
    it, so that a run that is late has a price, too; 1 for a report without prices."""
    first, begin = spec.bounds(day)[0], spec.begins(day).timestamp()
    days = 2 + max(0, math.ceil((last - begin) / timedelta(days=1).total_seconds()))
    if not spec.policy.prices:
        return constant(begin, begin + days * 86_400.0, 1.0, "the prices")
    return daily_curve(spec.policy.prices, first, days, spec.zone, "the prices of the report")
