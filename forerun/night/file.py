"""A night as a person writes it, in TOML, JSON or YAML: reports, what they cost, and a cluster.

Times are as everywhere in a report (:mod:`forerun.include.reports.values.clock`): ``24:00`` is the
midnight that ends the day, ``30:00`` six in the morning after it. Prices and ceilings are by the
hour of the clock, from 00:00 to 24:00, and hold on each day of the night.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from forerun.include.reports.values.clock import parse_day, parse_time, parse_zone
from forerun.include.reports.values.hours import Hours, daily_curve, instant, spans_of
from forerun.night.budgets import Budgets
from forerun.planner.contract.codec import from_json
from forerun.planner.errors import ContractError, ScheduleError
from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve, steady
from forerun.planner.schedule.batch_cost import BatchCost, FittedCost, linear_cost
from forerun.planner.schedule.cluster import BlackoutSpan, NightCluster
from forerun.planner.schedule.forecast import ArrivalForecast, PastDay
from forerun.planner.schedule.night import NightReport
from forerun.planner.schedule.past_runs import CostFit, PastRun, fit_cost
from forerun.planner.schedule.piecewise import PiecewiseLinear
from forerun.planner.schedule.step_curve import StepCurve

_MILLION = 1e6
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackoutHours:
    """From one time of the report's day to another."""

    start: str
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterText:
    """The cluster: one number, or hours of the clock with a ``value`` each, for the cores that may
    be busy and for what a core costs. ``days``: how many days from midnight on are planned with."""

    ceiling: float | tuple[Hours, ...]
    prices: float | tuple[Hours, ...] = 1.0
    blackouts: tuple[BlackoutHours, ...] = ()
    days: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDayText:
    """A past day of a source: its pins as ``[time, rows]``, the last one with all rows."""

    weekday: str
    pins: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalsText:
    """When rows come: evenly from ``start`` to ``end``; or through ``points``, ``[time, rows]``; or
    as on past ``days``, of which ``share`` had at least so much by then. ``rows``: of the whole
    day; with past days they may be left out."""

    rows: float = 0.0
    start: str = "00:00"
    end: str = "24:00"
    points: tuple[tuple[str, float], ...] = ()
    days: tuple[PastDayText, ...] = ()
    share: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CostText:
    """Wall seconds of a run: ``start`` and so many ``per_million_rows``, or through ``points``,
    ``[rows, seconds]``, the first of them at 0 rows; of the final aggregation: ``merge``, and so
    many ``per_batch``."""

    start: float = 0.0
    per_million_rows: float = 0.0
    points: tuple[tuple[float, float], ...] = ()
    merge: float = 0.0
    per_batch: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportText:
    """A report. Either ``cost``, or ``history``: past runs as ``[rows, seconds]``, or ``[rows,
    seconds, batches]`` for final runs that merged so many."""

    name: str
    deadline: str
    cores: float
    arrivals: ArrivalsText
    cost: CostText | None = None
    history: tuple[tuple[float, ...], ...] = ()
    reserve: str = "+00:30"
    at_most: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NightText:
    """The file: the ``day`` whose reports are due in the night after it."""

    day: str
    cluster: ClusterText
    reports: tuple[ReportText, ...]
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A night that can be planned, in seconds of the UNIX epoch. ``fits``: the cost models that
    were fitted, by report; ``left_out``: why reports of a store are not in it, by name;
    ``remarks``: sentences about how it was read; ``budgets``: what owners may spend early."""

    day: date
    zone: ZoneInfo
    cluster: NightCluster
    reports: tuple[NightReport, ...]
    fits: Mapping[str, CostFit] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    budgets: Budgets | None = None


def read_night(path: Path) -> Night:
    """Read a night from a file. Raises :class:`forerun.planner.errors.ForerunError` that names the
    place in the file, for anything that cannot be planned."""
    return night_of(read_text(path, NightText))


def read_reports(path: Path, night: Night) -> tuple[NightReport, ...]:
    """The reports of a file that has only ``reports``, for the day of another night."""
    given = read_text(path, ReportsText)
    return tuple(_report(one, night.day, night.zone) for one in given.reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsText:
    """A file with nothing but reports."""

    reports: tuple[ReportText, ...]


def read_text(path: Path, kind: Any) -> Any:
    """The records of a file, checked field by field."""
    raw = _parse(path)
    try:
        return from_json(kind, raw, path.name, defaults=True)
    except ContractError as error:
        raise ScheduleError(
            error.message, hint="docs/guides/schedule.md shows a night with all of its fields."
        ) from None


def _parse(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text)
        if path.suffix == ".json":
            return json.loads(text)
        if path.suffix in (".yaml", ".yml"):
            return _parse_yaml(text)
    except (ValueError, RecursionError) as error:
        raise ScheduleError(f"{path} cannot be read: {error}") from None
    raise ScheduleError(
        f"{path} is neither TOML, JSON nor YAML", hint="Name it .toml, .json, .yaml or .yml."
    )


def _parse_yaml(text: str) -> Any:
    """YAML as JSON values: a date that YAML reads as such is its text again."""
    try:
        import yaml
    except ImportError:
        raise ScheduleError(
            "YAML is read by PyYAML, which is not installed",
            hint="Install pyyaml, or write the night in TOML.",
        ) from None
    try:
        return json.loads(json.dumps(yaml.safe_load(text), default=str))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def night_of(given: NightText) -> Night:
    """The night that a file means."""
    day, zone = parse_day(given.day), parse_zone(given.zone)
    if not given.reports:
        raise ScheduleError("the night has no reports", hint="Give at least one [[reports]].")
    return Night(
        day=day,
        zone=zone,
        cluster=_cluster(given.cluster, day, zone),
        reports=tuple(_report(one, day, zone) for one in given.reports),
        fits={one.name: _fit(one.history) for one in given.reports if one.history},
    )


def _cluster(given: ClusterText, day: date, zone: ZoneInfo) -> NightCluster:
    if not 1 <= given.days <= 14:
        raise ScheduleError(f"a night is planned over 1 to 14 days, not {given.days}")

    def curve(value: float | tuple[Hours, ...], what: str) -> StepCurve:
        hours = value if isinstance(value, tuple) else (_all_day(value),)
        return daily_curve(hours, day, given.days, zone, what)

    spans = [
        span for b in given.blackouts for span in spans_of(day, b.start, b.end, zone, "a blackout")
    ]
    return NightCluster(
        ceiling=curve(given.ceiling, "the ceiling"),
        prices=curve(given.prices, "the price"),
        blackouts=tuple(BlackoutSpan(start=start, end=end) for start, end in sorted(spans)),
    )


def _all_day(value: float) -> Hours:
    return Hours(start="00:00", end="24:00", value=value)


def _report(given: ReportText, day: date, zone: ZoneInfo) -> NightReport:
    try:
        reserve = parse_time(given.reserve, "the reserve")
        return NightReport(
            name=given.name,
            cost=_cost(given),
            arrivals=_arrivals(given.arrivals, day, zone),
            deadline=instant(day, given.deadline, zone),
            cores=given.cores,
            reserve=float(reserve.seconds),
            at_most=given.at_most,
        )
    except ScheduleError as error:
        named = f"report {given.name}"
        if error.message.startswith(named):
            raise
        raise ScheduleError(f"{named}: {error.message}", hint=error.hint) from None


def _cost(given: ReportText) -> BatchCost:
    if (given.cost is None) == (not given.history):
        raise ScheduleError(
            "what it costs is needed once", hint="Give either cost or history, not both."
        )
    if given.cost is None:
        return _fit(given.history).cost
    cost = given.cost
    if not cost.points:
        per_row = cost.per_million_rows / _MILLION
        return linear_cost(cost.start, per_row, cost.merge, cost.per_batch)
    if cost.start or cost.per_million_rows:
        raise ScheduleError("its cost is given by points, and by a start or a price of rows, too")
    xs, ys = zip(*cost.points, strict=True)
    last = list(pairwise(cost.points))[-1:]
    beyond = max(((d - b) / (c - a) for (a, b), (c, d) in last if c > a), default=0.0)
    merge = linear_cost(0.0, 0.0, cost.merge, cost.per_batch).merge
    return FittedCost(PiecewiseLinear(xs, ys, beyond), merge)


@functools.cache
def _fit(history: tuple[tuple[float, ...], ...]) -> CostFit:
    return fit_cost(_past_run(run) for run in history)


def _past_run(run: tuple[float, ...]) -> PastRun:
    if len(run) not in (2, 3):
        raise ScheduleError("a past run is [rows, seconds] or [rows, seconds, batches]")
    return PastRun(work=run[0], seconds=run[1], batches=int(run[2]) if len(run) == 3 else 1)


def _arrivals(given: ArrivalsText, day: date, zone: ZoneInfo) -> ArrivalCurve:
    if given.points and given.days:
        raise ScheduleError("its arrivals are given by points and by past days")
    if given.days:
        forecast = ArrivalForecast([_past_day(one) for one in given.days])
        total = round(given.rows) or None
        start = instant(day, "00:00", zone)
        return forecast.curve(day.weekday(), start, total=total, share=given.share)
    if given.points:
        return arrival_curve((instant(day, time, zone), rows) for time, rows in given.points)
    start, end = instant(day, given.start, zone), instant(day, given.end, zone)
    if given.rows < 1 or start > end:
        raise ScheduleError(
            f"its arrivals are {given.rows:g} rows from {given.start} to {given.end}",
            hint="Give rows with a start and an end, points, or past days.",
        )
    return steady(start, end, round(given.rows))


def _past_day(given: PastDayText) -> PastDay:
    weekday = given.weekday.lower()
    if weekday not in _WEEKDAYS:
        raise ScheduleError(
            f"{given.weekday!r} is no day of the week", hint=f"Write one of {', '.join(_WEEKDAYS)}."
        )
    pins = tuple((float(parse_time(at, "a pin").seconds), rows) for at, rows in given.pins)
    return PastDay(weekday=_WEEKDAYS.index(weekday), pins=pins)
