"""``make bench-prices``: queries of a suite, each as batch and as a day with all early runs, in one
store, and how well the prices that Forerun comes with fit them.

Several scales may go into the one store, which ``forerun calibrate`` reads, too.

    python -m tests.benchmarks prices tpch --scale 3
    python -m tests.benchmarks prices tpch --scale 10 --only q03,q05,q18
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from forerun.include.machine.jvm import home_folder
from tests.benchmarks.calibrated import fitted, price_lines
from tests.benchmarks.days import Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found
from tests.benchmarks.executed import MEMORY, conditions
from tests.benchmarks.figures import figures_of
from tests.benchmarks.suites import SUITES


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=SUITES)


def _stores() -> Path:
    return home_folder() / "bench" / "prices"


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query of the suite."""
    suite = SUITES[given.suite]
    texts = suite.texts()

    def measure(query: str, _found: Found) -> Figures:
        report = f"{suite.name}_{given.scale:g}_{query}".replace(".", "_")
        days, store = Days.of(suite, given.scale), str(_stores() / "store")
        day = days.run(
            report, texts[query], given.master, MEMORY, method="progressive", store=store
        )
        return figures_of(day)

    under = conditions(suite, given.scale, given.master)
    for query in texts:
        yield Cell(name=(query,), under=under, measure=partial(measure, query))


def lines(_given: argparse.Namespace, _found: Found) -> Iterator[str]:
    """Yield how well prices fit all that is in the store."""
    yield from price_lines(fitted(_stores()))
    yield f"The store: {_stores() / 'store'}"


BENCHMARK = Benchmark(cells=cells, lines=lines)
