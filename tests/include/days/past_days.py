"""Days of a report that have gone by: what came when, what was published, what runs took."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.reports.run_policy import Choose
from forerun.include.reports.spec import (
    ClockTime,
    MarkerFile,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
)
from forerun.include.reports.values.hours import Hours
from forerun.include.runs.fitted_prices import store_prices
from forerun.include.runs.prepare import open_generation
from forerun.include.sources.pins import pin_source
from forerun.include.state.layout import Generation, history_key, pointer_key
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import decode, encode
from forerun.include.state.run_schedule import RunSchedule, ScheduledRun
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.planner.cost.prices import SPARK
from tests.include.days.day_cases import COLUMNS, table

MONDAY = dt.date(2026, 3, 2)
BERLIN = ZoneInfo("Europe/Berlin")
NIGHT_IS_DEAR = (
    Hours(start="00:00", end="06:00", value=1.0),
    Hours(start="06:00", end="18:00", value=0.2),
    Hours(start="18:00", end="24:00", value=0.8),
)
ROW_COST = 1e5
"""What a row is said to cost: a few hundred are then as dear as millions."""


def ago(days: int) -> dt.date:
    """The day so many days before that Monday."""
    return MONDAY - dt.timedelta(days=days)


def report_of(folder: Path, **changes: Any) -> ReportSpec:
    """Sums by key of orders that grow, with shops that do not."""
    orders = SourceSpec(
        name="orders",
        path=str(folder / "in" / "{ds}"),
        columns=COLUMNS,
        complete_when=ClockTime(),
    )
    shops = SourceSpec(name="shops", path=str(folder / "shops"), columns=COLUMNS, arrival="static")
    values: dict[str, Any] = {
        "name": "totals",
        "sql": "SELECT k, sum(v) AS v FROM orders GROUP BY k",
        "sources": (orders, shops),
        "policy": RunPolicy(runs=(RunTime(at="12:00"), RunTime(at="24:00"))),
        "timezone": "Europe/Berlin",
        **changes,
    }
    return ReportSpec(**values)


@dataclass
class PastDays:
    """``spec`` and its store, both below ``folder``."""

    folder: Path
    spec: ReportSpec

    def __post_init__(self) -> None:
        (self.folder / "shops").mkdir(parents=True)
        pq.write_table(table((1, 1)), self.folder / "shops" / "1.parquet")

    @property
    def store(self) -> Store:
        return open_store(str(self.folder / "store"))

    def day_of(self, day: dt.date) -> Day:
        """The handle of the first generation of a day."""
        return Day(self.store, self.spec, Generation(self.spec.name, day.isoformat(), "1"))

    def deliver(self, day: dt.date, number: int, rows: int) -> None:
        """A file of so many rows arrives."""
        path = self.folder / "in" / day.isoformat() / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(*((k % 7, k) for k in range(rows))), path)

    def day(
        self, day: dt.date, *pins: tuple[float, int], publish: bool = True, **pointer: Any
    ) -> None:
        """So many rows had come so many hours after the day's start."""
        there = 0
        start = dt.datetime.combine(day, dt.time(), tzinfo=self.spec.zone).astimezone(dt.UTC)
        for number, (hours, rows) in enumerate(pins):
            self.deliver(day, number, rows - there)
            there = rows
            pin_source(self.store, self.spec.sources[0], day, start + dt.timedelta(hours=hours))
        if publish:
            found = Pointer(
                report="totals", day=day.isoformat(), version="1", generation=1, run=2,
                folder="", files=(), rows=1, published_at="", **pointer,
            )  # fmt: skip
            self.store.put(pointer_key("totals", day.isoformat()), encode(found))


def chosen_report(folder: Path, **changes: Any) -> ReportSpec:
    """The report with four slots whose times are chosen, due at two in the night."""
    policy = RunPolicy(choose=Choose(at_most=4), prices=NIGHT_IS_DEAR, cores=1, reserve="+00:10")
    return report_of(folder, **{"policy": policy, "deadline": "26:00", **changes})


def with_marker(spec: ReportSpec) -> ReportSpec:
    """The report with orders that are complete when their marker is there."""
    orders, shops = spec.sources
    return replace(spec, sources=(replace(orders, complete_when=MarkerFile()), shops))


def past_days(folder: Path, **changes: Any) -> PastDays:
    """Three days on which 20 rows an hour came, each computed in one run at midnight."""
    days = PastDays(folder, chosen_report(folder, **changes))
    for back in (3, 2, 1):
        days.day(ago(back), *((hours, 20 * hours) for hours in (6, 12, 18, 24)))
        ledger(days, ago(back))
    rows = dict.fromkeys(("scan_row", "aggregate_row"), ROW_COST)
    store_prices(days.store, replace(SPARK, run_start=1e6, stage_start=1e5, **rows), 1)
    return days


def ledger(days: PastDays, day: dt.date, wall_s: float = 600.0, weight: float = 1.0) -> None:
    """One batch run of 100 estimated CPU seconds at a price."""
    found = LedgerEntry(
        report="totals", day=day.isoformat(), generation="1", run=4, weight=weight,
        estimated_cost=10**8, batch_cost=round(10**8 * weight), executor_cpu_s=0.0,
        process_cpu_s=0.0, wall_s=wall_s, arrived=(("orders", 480),), state_bytes=0,
        committed_at="",
    )  # fmt: skip
    days.store.put(history_key(Generation("totals", day.isoformat(), "1"), 4), encode(found))


def also(days: PastDays, name: str) -> ReportSpec:
    """Another report of the store with the same past."""
    for back in (3, 2, 1):
        day = ago(back).isoformat()
        for key, kind, own in (
            (pointer_key("totals", day), Pointer, pointer_key(name, day)),
            (history_key(Generation("totals", day, "1"), 4), LedgerEntry,
             history_key(Generation(name, day, "1"), 4)),
        ):  # fmt: skip
            found: Any = decode(kind, days.store.get(key), key)
            days.store.put(own, encode(replace(found, report=name)))
    return replace(days.spec, name=name)


def opened(days: PastDays, day: dt.date = MONDAY) -> Day:
    return open_generation(str(days.folder / "store"), days.spec, day, trigger="t", now=at(0))


def at(hours: float, day: dt.date = MONDAY) -> dt.datetime:
    """So many hours after the start of the day in Berlin."""
    start = dt.datetime.combine(day, dt.time(), tzinfo=BERLIN)
    return start.astimezone(dt.UTC) + dt.timedelta(hours=hours)


def schedule(day: Day, hours: dict[int, float], **changes: Any) -> RunSchedule:
    """A schedule with runs in these slots at these hours."""
    runs = tuple(
        ScheduledRun(
            run=run,
            at=at(hour, day.date).isoformat(),
            weight=1.0 if run == day.spec.runs else 0.2,
            arrived=(("orders", min(1.0, hour / 24)),),
        )
        for run, hour in hours.items()
    )
    values: dict[str, Any] = {
        "number": 0, "decided_at": at(0).isoformat(), "before": 1, "runs": runs, "forced": False,
        "missing_s": 0.0, "complete": False, "why": "a test says so", **changes,
    }  # fmt: skip
    return RunSchedule(**values)
