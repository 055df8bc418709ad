"""Days on Spark that benchmarks execute: the tables of a suite, their deliveries, runs, batch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forerun.accounts import DayAccount
from forerun.deliveries import Splitter, parse_correlation
from forerun.running import DRIVER_MEMORY, SparkRunner
from forerun.simulate import simulate
from forerun.simulated_day import Simulation
from forerun.tables import Table, find_tables
from include.machine.jvm import home_folder
from planner.request import Method, TimePoint
from tests.benchmarks.page import ROOT

POINTS = (
    TimePoint(weight=0.25, arrived=0.58),
    TimePoint(weight=0.3, arrived=0.79),
    TimePoint(weight=1.0, arrived=1.0),
)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


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
    folder = ROOT / "tests" / "tpch"
    return {path.stem: path.read_text() for path in sorted(folder.glob("q*.sql"))}


TPCH = Suite(
    "tpch",
    "TPC-H",
    frozenset({"orders", "lineitem", "customer"}),
    ("lineitem.l_orderkey=orders.o_orderkey",),
    generate_tpch,
    tpch_texts,
)


@dataclass(frozen=True, slots=True)
class Days:
    """The tables of a suite at a scale, and what of them is delivered for each run."""

    suite: Suite
    folder: Path
    tables: dict[str, Table]
    incoming: Path

    @staticmethod
    def of(suite: Suite, scale: float) -> Days:
        """Generate the tables and split the deliveries, each once."""
        folder = suite.generate(scale)
        tables = find_tables(folder)
        return Days(suite, folder, tables, _split(suite, tables, folder))

    def run(
        self,
        name: str,
        sql: str,
        master: str,
        memory: str = DRIVER_MEMORY,
        *,
        own_batch: bool = False,
        method: Method = "auto",
        store: str = "",
    ) -> DayAccount:
        """A query as a whole day and as batch, and as batch in stages of our own where asked. The
        folder of a day that failed stays until it is run again; without a ``store`` so does what
        the day keeps."""
        work = self.folder.with_name(f"{self.folder.name}-{name}")
        shutil.rmtree(work, ignore_errors=True)
        (work / "logs").mkdir(parents=True)
        what = Simulation(
            name=name, sql=sql, tables=self.tables, changing=self.suite.changing,
            points=POINTS, correlations=tuple(map(parse_correlation, self.suite.together)),
            seed=1, work=work, store=store or str(work / "store"),
            incoming=self.incoming, own_batch=own_batch, method=method,
        )  # fmt: skip
        runner = SparkRunner(work / "logs", master, memory=memory)
        day = simulate(what, runner, say, lambda _rows: None)
        shutil.rmtree(work)
        return day


def _split(suite: Suite, tables: dict[str, Table], folder: Path) -> Path:
    """The deliveries of the changing tables, split once."""
    target = folder.with_name(f"{folder.name}-deliveries")
    if not (target / "done").exists():
        shutil.rmtree(target, ignore_errors=True)
        together = tuple(map(parse_correlation, suite.together))
        splitter = Splitter(tables, tuple(point.arrived for point in POINTS), 1, together)
        for name in sorted(suite.changing):
            say(f"splitting {name}")
            splitter.write(name, target / name)
        (target / "done").touch()
    return target
