"""Lets an early run start before its latest time, when its trigger fires.

What came before does not count again: rows and hours are counted since the last run of the day was
planned, whatever became of it. A run that starts early is written into the day's schedule with the
price of the hour and what has arrived, so that it is planned for what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_never

from forerun.include.days.handle import Day
from forerun.include.days.manifests import read_manifest
from forerun.include.days.run_times import RunTimes, read_times, store_times
from forerun.include.reports.sources.start_when import WithGroup
from forerun.include.reports.spec import (
    AfterRows,
    AssetEvent,
    Every,
    PriceAtMost,
    SourceSpec,
    StartWhen,
    WhenComplete,
)
from forerun.include.reports.values.clock import parse_time
from forerun.include.runs.day_request import there_before
from forerun.include.sources.completeness import Events, missing_of, missing_of_asset
from forerun.include.sources.delivery import read_pin
from forerun.include.sources.listing import data_files, describe_files
from forerun.include.sources.statistics import LEAST_SHARE, forecast
from forerun.include.state.layout import digest_of_spooled, numbers
from forerun.include.state.records import Manifest, Pin
from forerun.include.state.run_schedule import RunSchedule, ScheduledRun
from forerun.include.times.outlook import curves_today, prices_until, rows_now


class EarlyStart:
    """The trigger of run ``run`` of a day, which is looked at again and again: no footer is read
    twice."""

    def __init__(self, day: Day, run: int) -> None:
        self._day, self._run = day, run
        self._rows: dict[tuple[str, str], int] = {}
        self._before: int | None = None
        self._pin: Pin | None = None

    @property
    def when(self) -> StartWhen | None:
        """The trigger, None for a run that has only its time."""
        return self._day.spec.policy.runs[self._run - 1].when

    def by_clock(self, now: datetime) -> datetime | None:
        """When the clock alone makes the trigger fire, now at the earliest; None where something
        else has to happen, or it never does on this day."""
        match self.when:
            case Every() as when:
                length = parse_time(when.interval, "the interval").seconds
                return max(now, datetime.fromtimestamp(self._since() + length, UTC))
            case PriceAtMost() as when:
                spec, day = self._day.spec, self._day.date
                latest = max(now, self._day.points[self._run - 1]).timestamp()
                for piece in prices_until(spec, day, latest).pieces:
                    if piece.value <= when.price and piece.end > now.timestamp():
                        return max(now, datetime.fromtimestamp(piece.start, UTC))
        return None

    def why(self, now: datetime, events: Events | None = None) -> str:
        """Why the run may start now; empty if it may not. ``events`` are those of assets, None if
        they are not known: what waits for one has then not happened.

        Raises what looking at the store and at a source raises.
        """
        when = self.when
        match when:
            case None | WithGroup():
                return ""  # what starts it is seen where the reports of its group meet
            case Every():
                return f"the last run was {when.interval} ago" if self._is_time(now) else ""
            case PriceAtMost():
                return f"the price is at most {when.price:g}" if self._is_time(now) else ""
            case AfterRows():
                rows = self._new_rows(self._day.spec.source(when.source), now)
                return f"{rows:,} new rows of {when.source}" if rows >= when.rows else ""
            case WhenComplete():
                return self._complete(self._day.spec.source(when.source), now, events)
            case AssetEvent():
                missing = missing_of_asset("", when, (self._day.date,), events or {})
                return "" if missing and not missing.accepted else f"asset {when.uri} has its event"
            case _:
                assert_never(when)

    def _is_time(self, now: datetime) -> bool:
        at = self.by_clock(now)
        return at is not None and at <= now

    def _complete(self, source: SourceSpec, now: datetime, events: Events | None) -> str:
        day = self._day
        missing = missing_of(source, day.spec, day.date, now, events=events or {})
        return "" if missing and not missing.accepted else f"{source.name} is complete"

    def _new_rows(self, source: SourceSpec, now: datetime) -> int:
        """The rows of a source that have come since the last run was planned."""
        if self._before is None:
            self._before = self._remember(source)
        listing = data_files(source, self._day.date, self._pin, now)
        files = {
            (at.store.uri(file.key), file.identity): file
            for at in (listing.folder,)
            if at is not None
            for file in listing.files
        }
        new = {key: file for key, file in files.items() if key not in self._rows}
        described = describe_files(source, listing, list(new.values()))
        self._rows |= {key: found.rows for key, found in zip(new, described, strict=True)}
        raw = {("", one.digest(source.held_columns)): one for one in listing.raw}
        self._rows |= {
            key: one.count(source.held_columns) for key, one in raw.items() if key not in self._rows
        }
        kept = {("", digest_of_spooled(file.uri)) for file in listing.kept}
        return sum(self._rows[key] for key in {*files, *raw, *kept}) - self._before

    def _remember(self, source: SourceSpec) -> int:
        """Take the rows of the files that the last run was planned over from its pin; return their
        sum."""
        last = self._last()
        keys = [one.pin for one in last.sources if one.name == source.name] if last else []
        self._pin = read_pin(self._day.store, keys[0]) if keys else None
        files = self._pin.files if self._pin else ()
        self._rows = {}
        for file in files:
            spooled = ("", digest_of_spooled(file.uri))
            key = spooled if file.origin else (file.uri, file.identity)
            self._rows[key] = self._rows.get(key, 0) + file.rows
        return sum(file.rows for file in files)

    def _since(self) -> float:
        """When the last run was planned; before the first one, when the day or period began."""
        last = self._last()
        if last is not None:
            return datetime.fromisoformat(last.created_at).timestamp()
        return self._day.spec.begins(self._day.date).timestamp()

    def _last(self) -> Manifest | None:
        """What the last run before this one was planned over."""
        day = self._day
        listed = day.store.list(f"{day.at.folder}/manifests")
        before = [run for run in numbers(tuple(file.key for file in listed)) if run < self._run]
        return read_manifest(day.store, day.at, before[-1]) if before else None


def start_early(day: Day, run: int, now: datetime, why: str) -> RunTimes:
    """Write into the day's schedule that a run starts now; the runs after it keep their times."""
    before = read_times(day)
    starts = [min(at, now) for at in before.instants[: run - 1]]
    starts += [now, *before.instants[run:]]
    weights = [point.weight for point in before.points] or list(day.spec.weights)
    if day.spec.policy.prices:
        prices = prices_until(day.spec, day.date, now.timestamp())
        weights[run - 1] = prices.at(now.timestamp())
    arrived = _arrived(day, run, starts, now)
    runs = tuple(
        ScheduledRun(
            run=number,
            at=at.astimezone(UTC).isoformat(),
            weight=weight,
            arrived=tuple(sorted(shares.items())),
        )
        for number, (at, weight, shares) in enumerate(
            zip(starts, weights, arrived, strict=True), start=1
        )
    )
    schedule = RunSchedule(
        number=0,  # given when it is stored
        decided_at=now.astimezone(UTC).isoformat(),
        before=run,
        runs=runs,
        forced=False,
        missing_s=0.0,
        complete=False,
        why=f"run {run} starts: {why}",
    )
    return store_times(day, schedule)


def _arrived(
    day: Day, run: int, starts: Sequence[datetime], now: datetime
) -> list[dict[str, float]]:
    """Which part of each growing source is there at each run: what has come by now, and the rest as
    past days let expect, or evenly where they tell nothing."""
    rows = rows_now(day, now)
    curves = curves_today(day, now, rows)
    found = []
    before = there_before(day.spec, day.date)
    evenly = forecast(starts, day.spec.begins(day.date), list(rows), (), before)
    for even, at in zip(evenly, starts, strict=True):
        shares = dict(even)
        for name, curve in curves.items():
            there = rows[name] if at == now else curve.rows_at(at.timestamp())
            shares[name] = min(1.0, max(LEAST_SHARE, there / curve.total))
        found.append(shares)
    found[-1] = dict.fromkeys(rows, 1.0)
    here = found[run - 1]
    for number, shares in enumerate(found[:-1], start=1):
        bound = min if number < run else max
        shares.update({name: bound(share, here[name]) for name, share in shares.items()})
    return found
