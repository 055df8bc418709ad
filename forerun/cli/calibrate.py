"""``forerun calibrate``: fit the prices that plans are chosen by to what runs have taken."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from forerun import console
from forerun.include.runs.fitted_prices import executed_runs, forget_prices, prices_in, store_prices
from forerun.include.stores.opening import open_store
from forerun.planner.cost.calibration import Calibration, ExecutedRun, PriceFit, calibrate
from forerun.planner.cost.prices import SPARK, STARTS, WORK, Prices
from forerun.planner.errors import ForerunError, RequestError

_LEAST_RUNS = 10
"""Fewer runs tell nothing that Forerun's own prices do not know better."""


class NotEnoughRunsError(ForerunError):
    """A store has too few runs to fit prices to."""

    code = "calibrate"


def calibrate_command(
    stores: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE", help="Folder, file:// or s3://. Of several, the first is changed."
        ),
    ],
    apply: Annotated[
        bool, typer.Option("--apply", help="Plan all reports of the first store with the outcome.")
    ] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Plan with the prices that Forerun comes with again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as JSON.")] = False,
) -> int:
    """Fit the prices of rows, bytes and starts to the runs in the ledgers of stores, and show how
    well the prices fit them before and after. Nothing changes without --apply."""
    if reset and (apply or as_json):
        raise RequestError(
            "--reset fits nothing", hint="Give it alone, or --apply to plan with fitted prices."
        )
    opened = [open_store(uri) for uri in stores]
    if reset:
        forget_prices(opened[0])
        console.say(f"{stores[0]} is planned with the prices that Forerun comes with from now on")
        return 0
    runs = [run for store in opened for run in executed_runs(store)]
    _enough(runs)
    now = prices_in(opened[0], SPARK)
    found = calibrate(runs, now)
    if apply:
        store_prices(opened[0], found.prices, len(runs))
    if as_json:
        console.say_json(_record(found, now, applied=apply))
    else:
        _show(found, now)
        console.say(
            f"{stores[0]} is planned with the new prices from now on"
            if apply
            else "nothing is changed; --apply plans with the new prices"
        )
    return 0


def _enough(runs: list[ExecutedRun]) -> None:
    alone = sum(run.process_s is not None for run in runs)
    if alone < _LEAST_RUNS:
        raise NotEnoughRunsError(
            f"there are {alone} runs with an application of their own, and {len(runs)} in all",
            hint=f"At least {_LEAST_RUNS} are needed. Runs of a version of Forerun before this one "
            "do not say what their cost was made of; let some more days go by.",
        )


def _show(found: Calibration, now: Prices) -> None:
    table = Table("price", "now", "fitted", "factor", title="millionths of a CPU second")
    for name in (*STARTS, *WORK):
        old, new = now.of(name), found.prices.of(name)
        table.add_row(name, f"{old:,.6g}", f"{new:,.6g}", f"{new / old:.2f}" if old else "")
    fits = Table("CPU of processes", "runs", "median error", "9 of 10 below", "rank correlation")
    unseen = () if found.unseen is None else (("of a report not fitted to", found.unseen),)
    for title, fit in (("now", found.before), ("fitted", found.after), *unseen):
        fits.add_row(
            title,
            str(fit.runs),
            f"{fit.median_error:.0%}",
            f"{fit.ninth_decile:.0%}",
            f"{fit.correlation:.2f}",
        )
    for one in (table, fits):
        console.output().print(one)


def _record(found: Calibration, now: Prices, *, applied: bool) -> dict[str, object]:
    def fit(of: PriceFit | None) -> dict[str, object] | None:
        return None if of is None else asdict(of)

    names = (*STARTS, *WORK)
    return {
        "now": {name: now.of(name) for name in names},
        "fitted": {name: found.prices.of(name) for name in names},
        "before": fit(found.before),
        "after": fit(found.after),
        "unseen": fit(found.unseen),
        "applied": applied,
    }
