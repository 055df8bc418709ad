"""``make bench-prices``: queries of a suite, each as batch and as a day with all early runs, in one
store, and how well the prices that Forerun comes with fit them (``forerun calibrate``).

Days that are in the store already are not run again, so the command may be killed and started
again; several scales may go into one store. Run it on a machine that does nothing else.

    python -m tests.benchmarks prices tpch --scale 3
    python -m tests.benchmarks prices tpch --scale 10 --only q03,q05,q18
"""

from __future__ import annotations

import argparse
from pathlib import Path

from forerun.cli.calibrate import calibrate_command
from forerun.include.machine.jvm import home_folder
from forerun.include.state.layout import history_folder
from forerun.include.state.opening import open_store
from forerun.planner.request import Method
from tests.benchmarks.days import Days, say
from tests.benchmarks.executed import MEMORY, SUITES

_METHODS: tuple[Method, ...] = ("batch", "progressive")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--store", type=Path, help="a folder (default: below FORERUN_HOME/bench)")


def main(given: argparse.Namespace) -> int:
    suite = SUITES[given.suite]
    days, texts = Days.of(suite, given.scale), suite.texts()
    store = str((given.store or home_folder() / "bench" / "prices").absolute())
    queries = given.only or list(texts)
    for query in queries:
        for method in _METHODS:
            report = f"{suite.name}_{given.scale:g}_{query}_{method}".replace(".", "_")
            if open_store(store).list(history_folder(report)):
                say(f"{report} is in {store}")
                continue
            say(f"{report}: {queries.index(query) + 1} of {len(queries)}")
            days.run(report, texts[query], given.master, MEMORY, method=method, store=store)
    return calibrate_command([store])
