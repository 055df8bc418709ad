"""Days on Spark that benchmarks execute: the tables of a suite, their deliveries, runs, batch."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from forerun.planner.request import Method, TimePoint
from forerun.simulation.accounts import DayAccount
from forerun.simulation.day import simulate
from forerun.simulation.deliveries import Splitter, parse_correlation
from forerun.simulation.running import DRIVER_MEMORY, SparkRunner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.driver import say
from tests.benchmarks.suites import Suite

POINTS = (
    TimePoint(weight=0.25, arrived=0.58),
    TimePoint(weight=0.3, arrived=0.79),
    TimePoint(weight=1.0, arrived=1.0),
)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How the changing tables of a suite arrive: the time points of a day, and the tables whose
    deliveries also take rows back. ``name`` tells them from other arrivals, on disk and in
    figures."""

    name: str
    points: tuple[TimePoint, ...]
    changelogs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        points = " ".join(f"{p.arrived:.4g}@{p.weight:g}" for p in self.points)
        return f"{self.name}: {points}" if self.name else points


THREE_RUNS = Arrivals("", POINTS)


@dataclass(frozen=True, slots=True)
class Days:
    """The tables of a suite at a scale, and what of them is delivered for each run."""

    suite: Suite
    scale: float
    folder: Path
    tables: dict[str, Table]
    arrivals: Arrivals
    incoming: Path

    @staticmethod
    def of(suite: Suite, scale: float, arrivals: Arrivals = THREE_RUNS) -> Days:
        """Generate the tables and split the deliveries, each once."""
        folder = suite.generate(scale)
        tables = find_tables(folder)
        return Days(suite, scale, folder, tables, arrivals, _split(suite, tables, folder, arrivals))

    def simulation(self, name: str, sql: str, work: Path, store: str) -> Simulation:
        """A query's day, whose deliveries appear in ``work``."""
        return Simulation(
            name=name, sql=sql, tables=self.tables, changing=self.suite.changing,
            points=self.arrivals.points, changelogs=self.arrivals.changelogs,
            correlations=tuple(map(parse_correlation, self.suite.together)), seed=1,
            work=work, store=store, incoming=self.incoming,
        )  # fmt: skip

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
        early_engine: Literal["", "sail"] = "",
    ) -> DayAccount:
        """A query as a whole day and as batch, and as batch in stages of our own where asked. The
        folder of a day that failed stays until it is run again; without a ``store`` so does what
        the day keeps."""
        work = self.folder.with_name(f"{self.folder.name}-{name}")
        shutil.rmtree(work, ignore_errors=True)
        (work / "logs").mkdir(parents=True)
        what = self.simulation(name, sql, work, store or str(work / "store"))
        what = replace(what, own_batch=own_batch, method=method, early_engine=early_engine)
        runner = SparkRunner(work / "logs", master, memory=memory)
        day = simulate(what, runner, say, lambda _rows: None)
        shutil.rmtree(work)
        return day


def _split(suite: Suite, tables: dict[str, Table], folder: Path, arrivals: Arrivals) -> Path:
    """The deliveries of the changing tables, split once."""
    name = f"{folder.name}-deliveries"
    target = folder.with_name(f"{name}-{arrivals.name}" if arrivals.name else name)
    if not (target / "done").exists():
        shutil.rmtree(target, ignore_errors=True)
        together = tuple(map(parse_correlation, suite.together))
        arrived = tuple(point.arrived for point in arrivals.points)
        splitter = Splitter(tables, arrived, 1, together, arrivals.changelogs)
        for name in sorted(suite.changing):
            say(f"splitting {name}")
            splitter.write(name, target / name)
        (target / "done").touch()
    return target
