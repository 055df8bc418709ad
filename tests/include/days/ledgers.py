"""Made-up ledgers of the report of day_cases: a run at a quarter of the price, and a final run.

An application takes 10 s to start, which estimates have as 3 s. A day is estimated at 13 and 6
seconds (10 and 3 of work), batch at 23 (20 of work).
"""

from __future__ import annotations

import datetime as dt

from forerun.include.state.layout import Generation, history_key
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import encode
from forerun.include.stores.store import Store
from tests.include.days.day_cases import DAY

START_S = 10.0
ROWS = (("orders", 1000),)


def before(days: int) -> str:
    """The report date so many days before the day of day_cases."""
    return (DAY - dt.timedelta(days=days)).isoformat()


def ran(day: str, run: int, estimated_s: float, work_s: float, **other: object) -> LedgerEntry:
    """A run that was estimated at ``estimated_s``, and whose executors took ``work_s``."""
    values = {
        "report": "totals", "day": day, "generation": "1", "run": run,
        "weight": 0.25 if run == 1 else 1.0, "estimated_cost": round(estimated_s * 1e6),
        "batch_cost": 23_000_000, "executor_cpu_s": work_s, "process_cpu_s": START_S + work_s,
        "wall_s": 20.0, "arrived": ROWS, "state_bytes": 0, "committed_at": "", **other,
    }  # fmt: skip
    return LedgerEntry(**values)


def early_day(day: str, early_s: float, **other: object) -> list[LedgerEntry]:
    """A day whose early run took ``early_s`` for 10 s of work; its final run was as estimated, and
    so batch is expected to take 10 + 20 s."""
    other = {"method": "incremental", **other}
    return [ran(day, 1, 13.0, early_s, **other), ran(day, 2, 6.0, 3.0, **other)]


def losing(day: str, **other: object) -> list[LedgerEntry]:
    """0.25 * (10 + 100) + (10 + 3) = 40.5 s."""
    return early_day(day, 100.0, **other)


def winning(day: str, **other: object) -> list[LedgerEntry]:
    """0.25 * (10 + 10) + (10 + 3) = 18 s."""
    return early_day(day, 10.0, **other)


def batch(day: str, work_s: float, **other: object) -> list[LedgerEntry]:
    """A day that was batch: 20 s of work by estimate."""
    return [ran(day, 2, 23.0, work_s, **{"method": "batch", **other})]


def enter(store: Store, *days: list[LedgerEntry]) -> None:
    """Put days into a ledger."""
    for entry in (entry for day in days for entry in day):
        at = Generation(entry.report, entry.day, entry.generation)
        store.put(history_key(at, entry.run), encode(entry))
