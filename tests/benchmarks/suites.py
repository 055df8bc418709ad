"""The public suites of queries that benchmarks plan and execute: TPC-H, TPC-DS, and the demo's own
reports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from forerun.demo.data import generate_day
from forerun.include.machine.jvm import home_folder
from forerun.planner.request import Source
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks import tpcds
from tests.benchmarks.driver import say
from tests.benchmarks.page import ROOT


@dataclass(frozen=True, slots=True)
class Suite:
    """Queries by name over tables that are generated at a scale. ``changing`` tables arrive during
    the day, rows of ``together`` (``child.key=parent.key``) with the row they belong to."""

    name: str
    title: str
    changing: frozenset[str]
    together: tuple[str, ...]
    generate: Callable[[float], Path]
    texts: Callable[[], dict[str, str]]

    def sources(self, scale: float) -> tuple[Source, ...]:
        """The tables as the planner knows them, with the statistics of real files."""
        return with_statistics(find_tables(self.generate(scale)), self.changing)


def generate_tpch(scale: float) -> Path:
    """The eight tables of TPC-H at a scale, generated once."""
    folder = home_folder() / "bench" / f"tpch-{scale:g}"
    if not (folder / "done").exists():
        say(f"generating TPC-H at scale {scale:g}")
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(Path(sys.prefix) / "bin" / "tpchgen-cli"), "parquet", "-s", f"{scale:g}"]
        subprocess.run([*command, "--output-dir", str(folder)], check=True)
        (folder / "done").touch()
    return folder


def tpch_texts() -> dict[str, str]:
    """The 22 queries of TPC-H by name."""
    return _texts("tpch")


def _texts(folder: str) -> dict[str, str]:
    files = sorted((ROOT / "tests" / folder).glob("*.sql"))
    return {path.stem: path.read_text() for path in files}


TPCH = Suite(
    "tpch",
    "TPC-H",
    frozenset({"orders", "lineitem", "customer"}),
    ("lineitem.l_orderkey=orders.o_orderkey",),
    generate_tpch,
    tpch_texts,
)

TPCH_GROWING = replace(TPCH, changing=frozenset({"orders", "lineitem", "customer", "partsupp"}))
"""TPC-H whose suppliers deliver, too: more queries than Q1 to Q22's usual ones have to wait."""

TPCDS = Suite("tpcds", "TPC-DS", tpcds.FACTS, tpcds.TOGETHER, tpcds.tables, tpcds.texts_of_99)


ANALYSTS = replace(
    TPCH,
    name="analysts",
    title="analysts' constructs over TPC-H's tables",
    texts=lambda: _texts("analysts"),
)
"""What analysts write and TPC-H does not have, such as the latest row of a key."""


def _demo_tables(scale: float) -> Path:
    folder = home_folder() / "bench" / f"demo-{scale:g}"
    if not folder.exists():
        generate_day(folder, scale)
    return folder


def _demo_texts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((ROOT / "include/sql").glob("*.sql"))}


DEMO = Suite(
    "demo", "the demo", frozenset({"customer", "orders", "lineitem", "returns"}), (),
    _demo_tables, _demo_texts,
)  # fmt: skip
SUITES = {suite.name: suite for suite in (TPCH, TPCDS, ANALYSTS)}
