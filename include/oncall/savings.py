"""The savings of a report: its days by what they took, beside what batch would have taken.

What a day took is measured. What batch would have taken on it is not, as it did not run:
:mod:`forerun.include.runs.losing_days` says how it is worked out, and that days on which batch did
run make it a measured figure. Those days are here, too, and marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forerun.include.days.ledger import read_history
from forerun.include.engines import ENGINES
from forerun.include.oncall.catalogue import newest_spec
from forerun.include.runs.losing_days import judge_days
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.stores.store import StoreReader
from forerun.planner.cost.constants import MICRO
from forerun.planner.cost.prices import Prices
from forerun.planner.request import Settings

_DAYS = 30
"""So many days are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentDay:
    """A published day: CPU seconds of whole processes times prices, as measured, and what batch
    would have taken, None where nothing tells. ``is_batch``: batch itself ran. ``kept_bytes`` is
    what its runs kept in the store, ``rows`` what its final run saw of each source, ``wall_s`` how
    long that took."""

    day: str
    runs: tuple[int, ...]
    measured_s: float
    batch_s: float | None
    is_batch: bool
    kept_bytes: int
    rows: tuple[tuple[str, int], ...]
    wall_s: float


@dataclass(frozen=True, slots=True)
class Savings:
    """The newest days of a report, oldest first; batch was measured in ``batch_runs`` of its runs,
    0 where it is only estimated."""

    days: tuple[SpentDay, ...]
    batch_runs: int

    @property
    def judged(self) -> tuple[tuple[float, float], ...]:
        """Return (measured, batch) CPU seconds of the days that can be compared."""
        return tuple((d.measured_s, d.batch_s) for d in self.days if d.batch_s is not None)

    @property
    def share(self) -> float | None:
        """Return what all of them took, as a share of what batch would have taken; None without
        any."""
        batch = sum(batch for _, batch in self.judged)
        return sum(measured for measured, _ in self.judged) / batch if batch else None


def read_savings(store: StoreReader, report: str) -> Savings:
    """The savings of a report, from its ledger. Days with another number of runs than the newest
    one has are left out: nothing says which of their runs was the final one."""
    spec = newest_spec(store, report)
    return savings(read_history(store, report), spec.runs) if spec else Savings((), 0)


def savings(history: Sequence[LedgerEntry], runs: int) -> Savings:
    """The savings by a ledger, oldest entry first, of days with so many runs."""
    prices = _prices([entry for entry in history if entry.run == runs])
    opening_s = (prices.run_start + prices.stage_start) / MICRO
    judged, batch_runs = judge_days(history, runs=runs, opening_s=opening_s)
    batch = {one.day: one for one in judged}
    days: dict[str, dict[str, list[LedgerEntry]]] = {}
    for entry in history:
        days.setdefault(entry.day, {}).setdefault(entry.generation, []).append(entry)
    found = []
    for day, generations in sorted(days.items()):
        entries = generations[max(generations, key=int)]
        if entries[-1].run != runs or not all(entry.process_cpu_s for entry in entries):
            continue  # it is not whole, or what it took was not measured
        is_batch = entries[-1].method == "batch"
        measured = sum(e.weight * max(e.process_cpu_s, e.executor_cpu_s) for e in entries)
        other = batch[day].batch_s if day in batch else None
        found.append(
            SpentDay(
                day=day,
                runs=tuple(entry.run for entry in entries),
                measured_s=measured,
                batch_s=measured if is_batch else other,
                is_batch=is_batch,
                kept_bytes=sum(entry.state_bytes for entry in entries),
                rows=entries[-1].arrived,
                wall_s=entries[-1].wall_s,
            )
        )
    return Savings(tuple(found[-_DAYS:]), batch_runs)


def _prices(finals: Sequence[LedgerEntry]) -> Prices:
    """Return what work was priced at on the engine of the last final run; that of a ledger which
    does not say is Spark."""
    engine = ENGINES.get(finals[-1].engine) if finals else None
    return engine.prices if engine else Settings().prices
