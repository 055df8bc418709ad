"""Prices that were fitted to the runs of a store, in the place of those that Forerun comes with.

They decide which plan is chosen and never what is published. So a record that cannot be read is
passed over with a warning, and the next plan is made with the prices that Forerun comes with.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from forerun.include.days.ledger import read_history
from forerun.include.machine.wall_clock import utc_now
from forerun.include.state.layout import HISTORY, PRICES_KEY
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import decode, encode
from forerun.include.stores.store import MissingKeyError, Store, StoreReader
from forerun.planner.cost.calibration import ExecutedRun, ExecutedStage
from forerun.planner.cost.prices import SPARK, STARTS, WORK, Prices
from forerun.planner.errors import ContractError

_LOG = logging.getLogger(__name__)
_ENGINE = "spark"
_ENTRIES = 2000
"""How many runs of a report are looked at, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedPrices:
    """Prices in millionths of a CPU second, by name, when they were fitted and to how many runs."""

    prices: tuple[tuple[str, float], ...]
    fitted_at: str
    runs: int


def executed_runs(store: StoreReader) -> Iterator[ExecutedRun]:
    """Yield every run in the ledger of a store that Spark did and that states the work of its
    stages."""
    for report in store.folders(HISTORY):
        for entry in read_history(store, report, _ENTRIES):
            if entry.stages and entry.engine == _ENGINE:
                yield _executed(entry)


def store_prices(store: Store, prices: Prices, runs: int) -> None:
    """Let every report of a store be planned with these prices from now on."""
    named = tuple((name, prices.of(name)) for name in (*WORK, *STARTS))
    fitted_at = utc_now().isoformat(timespec="seconds")
    store.put(PRICES_KEY, encode(FittedPrices(prices=named, fitted_at=fitted_at, runs=runs)))


def forget_prices(store: Store) -> None:
    """Go back to the prices that Forerun comes with."""
    store.delete(PRICES_KEY)


def prices_in(store: StoreReader, asked: Prices) -> Prices:
    """Return the prices to plan with: those fitted in the store, where Spark's are asked for."""
    if asked != SPARK or store.find(PRICES_KEY) is None:
        return asked
    try:
        fitted = decode(FittedPrices, store.get(PRICES_KEY), PRICES_KEY)
    except (ContractError, MissingKeyError) as error:
        _LOG.warning("planning with the prices that Forerun comes with: %s", error.message)
        return asked
    return asked.with_prices(dict(fitted.prices))


def _executed(entry: LedgerEntry) -> ExecutedRun:
    process_s = entry.process_cpu_s
    if entry.executor_cpu_s > process_s:  # executors on other machines: the process is the driver
        process_s += entry.executor_cpu_s
    return ExecutedRun(
        entry.report,
        tuple(ExecutedStage(dict(one.work), one.executor_cpu_s) for one in entry.stages),
        entry.executor_cpu_s,
        process_s if entry.runs_in_application == 1 else None,
    )
