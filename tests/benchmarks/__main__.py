"""``python -m tests.benchmarks SUITE``: the commands that measure, by one table.

What several suites take is declared here once; what a suite takes besides, its ``options`` say. A
suite whose days are executed keeps what it has measured by code and conditions, so it may be killed
and started again. Without a suite, all are listed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SUITES: dict[str, tuple[float | None, str]] = {
    "backfill": (1.0, "master only"),
    "choosing": (None, "only no-page"),
    "common_work": (10.0, ""),
    "deciding": (None, "no-page"),
    "endpoint_cost": (None, ""),
    "executed": (10.0, "master only again csv page"),
    "executed_work": (None, ""),
    "exploration": (1.0, "no-page"),
    "fixed_cost": (None, "no-page"),
    "large_group": (10.0, ""),
    "methods": (10.0, "only json no-page"),
    "methods_executed": (1.0, "master only again csv page"),
    "night": (3.0, "master only again"),
    "parsing": (None, ""),
    "planning": (1.0, "only no-page"),
    "prices": (3.0, "master only"),
    "repair": (1.0, "master only again"),
    "samples": (1.0, "no-page"),
    "scale": (1.0, "only again csv page"),
    "schedule": (None, "no-page"),
    "smoke": (10.0, "master only no-page"),
    "stored_nights": (None, ""),
    "streaming": (1.0, "only no-page"),
    "warned_nights": (None, ""),
    "wrong": (10.0, "only json no-page"),
}
"""Each suite by its module: the scale of its tables by default, None without tables, and which of
:data:`OPTIONS` it takes."""

OPTIONS: dict[str, dict[str, Any]] = {
    "master": {"default": "local[2]", "help": "of Spark"},
    "only": {
        "default": [],
        "type": lambda text: [name for name in text.split(",") if name],
        "help": "queries, such as q03,q09",
    },
    "again": {"action": "store_true", "help": "also what has its figures"},
    "csv": {"type": Path, "help": "where the rows are (below FORERUN_HOME/bench)"},
    "page": {"action": "store_true", "help": "write docs/ although days are missing, and say so"},
    "no-page": {"action": "store_true", "help": "print, leave docs/ as it is"},
    "json": {"type": Path, "help": "also write all figures to this file"},
}


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return what reads the arguments of a suite."""
    suite, (scale, takes) = importlib.import_module(f"tests.benchmarks.{name}"), SUITES[name]
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.benchmarks {name}",
        description=suite.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if scale is not None:
        parser.add_argument("--scale", type=float, default=scale, help="of the tables")
    for option in takes.split():
        parser.add_argument(f"--{option}", **OPTIONS[option])
    if hasattr(suite, "options"):
        suite.options(parser)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the suite that is named first with the arguments after it."""
    if not arguments or arguments[0] not in SUITES:
        for name in SUITES:
            says = importlib.import_module(f"tests.benchmarks.{name}").__doc__ or ""
            print(f"{name:<18}{' '.join(says.partition(chr(10) * 2)[0].split())}")
        return int(bool(arguments))
    given = parser_of(arguments[0]).parse_args(arguments[1:])
    return importlib.import_module(f"tests.benchmarks.{arguments[0]}").main(given) or 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
