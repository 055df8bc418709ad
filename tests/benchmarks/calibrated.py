"""How well prices fit what a suite's applications took, before and after they are fitted to them.

``forerun calibrate`` reads ledgers, which have the runs of days. Here batch and own batch count,
too: every run that was committed in the stores of a suite, its days beside both batches. All
applications of a query are left out together where prices are tried on what they were not fitted
to.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forerun.include.state.commits import read_chain
from forerun.include.state.layout import Generation
from forerun.include.state.records import RunCommit
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import StoreReader
from forerun.planner.cost.calibration import (
    Calibration,
    ExecutedRun,
    ExecutedStage,
    PriceFit,
    calibrate,
)
from forerun.planner.cost.prices import SPARK, STARTS, WORK
from forerun.simulation.accounts import read_plan
from tests.benchmarks.driver import table

_REPORTS = "reports"


def fitted(stores: Path) -> Calibration | None:
    """Fit the prices to all runs in the stores of a folder; None where there are none."""
    runs = [run for one in sorted(stores.glob("*")) for run in committed_runs(str(one))]
    return calibrate(runs, SPARK) if runs else None


def committed_runs(uri: str) -> Iterator[ExecutedRun]:
    """Yield every run that a store has committed, each of an application of its own."""
    store = open_store(uri)
    for report in store.folders(_REPORTS):
        for day in store.folders(f"{_REPORTS}/{report}"):
            for generation in store.folders(f"{_REPORTS}/{report}/{day}"):
                for commit in read_chain(store, Generation(report, day, generation)):
                    yield _executed(store, commit, report.partition("__")[0])


def _executed(store: StoreReader, commit: RunCommit, query: str) -> ExecutedRun:
    run = read_plan(store, commit).runs[commit.run - 1]
    took = {one.stage: one.executor_cpu_s for one in commit.metrics.stages}
    return ExecutedRun(
        query,
        tuple(ExecutedStage(dict(one.work), took.get(one.id, 0.0)) for one in run.stages),
        commit.metrics.executor_cpu_s,
        commit.metrics.process_cpu_s,
    )


def price_lines(found: Calibration | None) -> Iterator[str]:
    """The fits, and the prices that changed, for the page; none where nothing was executed."""
    if found is None:
        return
    yield "How well prices fit the CPU of these applications' processes, as shares of it:"
    yield ""
    rows = [_row("that Forerun comes with", found.before), _row("fitted to them", found.after)]
    if found.unseen is not None:
        rows.append(_row("fitted to all other queries", found.unseen))
    columns = ("prices", "applications", "median error", "9 of 10 below", "rank correlation")
    yield from table(columns, rows)
    yield ""
    factors = {name: found.prices.of(name) / SPARK.of(name) for name in (*STARTS, *WORK)}
    changed = (f"{name} {factor:.2f}" for name, factor in factors.items() if factor != 1.0)
    yield f"Fitted prices as shares of those: {', '.join(changed)}."


def _row(prices: str, fit: PriceFit) -> tuple[object, ...]:
    errors = (f"{fit.median_error:.0%}", f"{fit.ninth_decile:.0%}")
    return (prices, fit.runs, *errors, f"{fit.correlation:.2f}")
