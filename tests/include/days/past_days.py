"""Days of a report that have gone by: what came when, what was published, what runs took."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from include.sources.pins import pin_source
from include.state.layout import pointer_key
from include.state.opening import open_store
from include.state.pointers import Pointer
from include.state.records import encode
from include.state.store import Store
from tests.include.days.day_cases import COLUMNS, table

MONDAY = dt.date(2026, 3, 2)


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
