"""``python -m tests.benchmarks SUITE``: the commands that measure, by one table.

What all take is declared here once; what a suite takes besides, its ``options`` say. How they
measure, go on after a kill and write their page: :mod:`tests.benchmarks.driver`. Without a suite,
all are listed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from tests.benchmarks.driver import run

SUITES: dict[str, float | None] = {
    "backfill": 1.0,
    "checkpoints": 10.0,
    "checks": 10.0,
    "choosing": None,
    "deciding": None,
    "endpoint_cost": None,
    "executed": 10.0,
    "exploration": 1.0,
    "fixed_cost": None,
    "large_group": 10.0,
    "late": 1.0,
    "methods": 10.0,
    "methods_executed": 1.0,
    "night": 3.0,
    "night_sweep": None,
    "parsing": None,
    "planning": 1.0,
    "prices": 3.0,
    "repair": 1.0,
    "rolling": 10.0,
    "samples": 1.0,
    "scale": 1.0,
    "schedule": None,
    "smoke": 10.0,
    "sources": None,
    "stored_nights": None,
    "streaming": 1.0,
    "warned_nights": None,
    "wrong": 10.0,
}
"""Each suite by its module, which has a ``BENCHMARK``: the scale of its tables by default, None
without tables."""


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return what reads the arguments of a suite."""
    suite, scale = importlib.import_module(f"tests.benchmarks.{name}"), SUITES[name]
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.benchmarks {name}",
        description=suite.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if scale is not None:
        parser.add_argument("--scale", type=float, default=scale, help="of the tables")
        parser.add_argument("--master", default="local[2]", help="of Spark")
    parser.add_argument(
        "--only",
        action="append",
        type=_words,
        default=[],
        help="words of cells, such as q03,q09; given again, those with one of each list",
    )
    parser.add_argument("--again", action="store_true", help="also what has its figures")
    parser.add_argument(
        "--page", action="store_true", help="write docs/ although figures are missing"
    )
    parser.add_argument("--no-page", action="store_true", help="print, leave docs/ as it is")
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
    name, given = arguments[0], parser_of(arguments[0]).parse_args(arguments[1:])
    return run(name, importlib.import_module(f"tests.benchmarks.{name}").BENCHMARK, given)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
