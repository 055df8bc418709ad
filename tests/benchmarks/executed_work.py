"""How well prices fit what a suite's applications took, before and after they are fitted to them.

``forerun calibrate`` reads ledgers, which have the runs of days. Here batch and own batch count,
too: every run that was committed in the stores of a suite, its days beside both batches. All
applications of a query are left out together where prices are tried on what they were not fitted
to.

    python -m tests.benchmarks executed_work .forerun/bench/tpch-10-stores
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from forerun.include.state.commits import read_chain
from forerun.include.state.layout import Generation
from forerun.include.state.opening import open_store
from forerun.include.state.records import RunCommit
from forerun.include.state.store import StoreReader
from forerun.planner.cost.calibration import (
    Calibration,
    ExecutedRun,
    ExecutedStage,
    PriceFit,
    calibrate,
)
from forerun.planner.cost.prices import SPARK, STARTS, WORK
from forerun.simulation.accounts import read_plan

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


def lines(found: Calibration) -> Iterator[str]:
    """The fits, and the prices that changed, for the page."""
    yield "How well prices fit the CPU of these applications' processes, as shares of it:"
    yield ""
    yield "| prices | applications | median error | 9 of 10 below | rank correlation |"
    yield "| --- | --- | --- | --- | --- |"
    yield _line("that Forerun comes with", found.before)
    yield _line("fitted to them", found.after)
    if found.unseen is not None:
        yield _line("fitted to all other queries", found.unseen)
    yield ""
    factors = {name: found.prices.of(name) / SPARK.of(name) for name in (*STARTS, *WORK)}
    changed = (f"{name} {factor:.2f}" for name, factor in factors.items() if factor != 1.0)
    yield f"Fitted prices as shares of those: {', '.join(changed)}."


def _line(prices: str, fit: PriceFit) -> str:
    errors = f"{fit.median_error:.0%} | {fit.ninth_decile:.0%}"
    return f"| {prices} | {fit.runs} | {errors} | {fit.correlation:.2f} |"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="a folder of stores")


def main(given: argparse.Namespace) -> int:
    found = fitted(given.folder)
    print("\n".join(lines(found)) if found else "there are no runs")
    return int(found is None)
