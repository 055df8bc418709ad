"""``make bench-scale``: throughput by how many deliveries a day comes in, and by workers.

After section 6 of the paper on distributed maintenance with batch updates. A day comes in 1 to 64
even deliveries, and its result is wanted after each of them; and days of four deliveries run on one
and two local cores and on a standalone cluster of one and two workers with one core, over the same
rows (strong scaling) and over twice as many for two (weak). Shuffle partitions and buckets are the
same everywhere. Days run in one session per master, batch beside each, and each has to equal it.
What has its figures by this code under these conditions is not run again, so the command may be
killed and started again.

    python -m tests.benchmarks scale --scale 1
    python -m tests.benchmarks scale --scale 0.1 --only q06 --most 16 --page
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from forerun.include.machine.jvm import home_folder
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.request import Problem, Settings, TimePoint
from forerun.planner.sql.frontend import read_query
from forerun.simulation.accounts import DayAccount
from forerun.simulation.planning import sources
from forerun.simulation.running import Runner
from forerun.simulation.tables import find_tables
from tests.benchmarks import results
from tests.benchmarks.days import TPCH, Arrivals, Days, say
from tests.benchmarks.executed import Progress, conditions_of, keep
from tests.benchmarks.line_plot import svg
from tests.benchmarks.page import PAGE, ROOT, write_section
from tests.benchmarks.planning import TPCH_CHANGING
from tests.benchmarks.results import Conditions, Results
from tests.benchmarks.scale_section import Measured, Worker, lines_of, section
from tests.benchmarks.session_days import QueryDays, spark_session
from tests.spark.standalone import standalone

SUITE = replace(TPCH, changing=TPCH_CHANGING)
QUERIES = ("q01", "q03", "q06", "q11", "q15", "q17")
DELIVERIES = (1, 2, 4, 8, 16, 32, 64)
FOR_WORKERS = 4
"""Deliveries of a day that is run on other masters, too."""
COMPARED = 4
"""Up to so many deliveries, the result after each is compared with batch; else the final one."""
LOCAL = "local[2]"
WORKERS = (
    Worker("local[1]", 1, 1),
    Worker(LOCAL, 2, 1),
    Worker("standalone[1]", 1, 1),
    Worker("standalone[2]", 2, 1),
    Worker(LOCAL, 2, 2),
    Worker("standalone[2]", 2, 2),
)
"""More than two mean nothing where there are two cores."""
PARTITIONS = 8
MEMORY = "4g"
EXECUTOR_MB = 1536
NAME = "scale"
_FIXED = (("spark.sql.shuffle.partitions", str(PARTITIONS)),)
_ON_CLUSTER = (
    ("spark.driver.host", "127.0.0.1"),
    ("spark.executor.memory", f"{EXECUTOR_MB}m"),
    ("spark.scheduler.minRegisteredResourcesRatio", "1.0"),
    ("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A query's day in so many deliveries on a master."""

    worker: Worker
    deliveries: int
    query: str

    def __str__(self) -> str:
        return f"{self.query}, {self.deliveries} deliveries on {self.worker}"


def arrivals_of(deliveries: int) -> Arrivals:
    """Even deliveries, at one price."""
    parts = range(1, deliveries + 1)
    points = tuple(TimePoint(weight=1.0, arrived=part / deliveries) for part in parts)
    return Arrivals(f"in-{deliveries}", points)


def cases(queries: Sequence[str], most: int) -> Iterator[Case]:
    """All days, those of few deliveries first, then those on other masters."""
    local = Worker(LOCAL, 2, 1)
    for deliveries in DELIVERIES:
        if deliveries <= most:
            yield from (Case(local, deliveries, query) for query in queries)
    for worker in WORKERS:
        if worker != local:
            yield from (Case(worker, FOR_WORKERS, query) for query in queries)


@contextmanager
def session_on(worker: Worker) -> Iterator[Runner]:
    """A runner on a master, for the block; a cluster lives as long."""
    with ExitStack() as stack:
        master, conf = worker.master, _FIXED
        if master.startswith("standalone"):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            memory = f"{EXECUTOR_MB + 64}m"
            cluster = standalone(folder, workers=worker.cores, memory=memory)
            master, conf = stack.enter_context(cluster).url, _FIXED + _ON_CLUSTER
        yield stack.enter_context(spark_session(master, MEMORY, conf))


class Measuring:
    """Executes the days of cases in turn and keeps the figures of each."""

    def __init__(self, kept: Results, scale: float, work: Path) -> None:
        self._kept, self._scale, self._work = kept, scale, work

    def conditions(self, case: Case) -> Conditions:
        """The conditions of what is measured now."""
        scale = self._scale * case.worker.times
        points = f"{case.deliveries} deliveries, {PARTITIONS} partitions"
        found = conditions_of(SUITE.name, scale, case.worker.master, memory=MEMORY)
        return replace(found, points=points)

    def missing(self, wanted: Sequence[Case]) -> list[Case]:
        """The cases that have no figures yet."""
        return [case for case in wanted if self._kept.missing(self.conditions(case), [case.query])]

    def all(self, wanted: Sequence[Case]) -> None:
        """Execute these cases, those on a master in one session."""
        progress = Progress(tuple(map(str, wanted)), time.time())
        for worker in dict.fromkeys(case.worker for case in wanted):
            with session_on(worker) as runner:
                for case in (one for one in wanted if one.worker == worker):
                    say(progress.line(str(case), time.time()))
                    self.one(case, runner)

    def one(self, case: Case, runner: Runner) -> None:
        """Execute a case and keep its figures, or why there are none."""
        day = keep(self._kept, self.conditions(case), case.query, lambda: self._day(case, runner))
        if day is None:
            return
        unequal = "" if day.equal else f" NOT EQUAL: {'; '.join(day.differences)}"
        used, wall = sum(run.cpu_s for run in day.runs), sum(run.wall_s for run in day.runs)
        say(f"{case}: {used:.1f} CPU s of executors, {wall:.1f} s, batch {day.batch.cpu_s:.1f}")
        if unequal:
            say(unequal)

    def _day(self, case: Case, runner: Runner) -> DayAccount:
        over = Days.of(SUITE, float(self.conditions(case).scale), arrivals_of(case.deliveries))
        return QueryDays(over, case.query, runner, self._work).day(
            "auto",
            problem=Problem(results_at=tuple(range(1, case.deliveries))),
            settings=Settings(buckets=PARTITIONS),
            compare_early=case.deliveries <= COMPARED,
        )

    def measured(self, case: Case) -> Measured | None:
        """The figures of a case; None without."""
        rows = [row for row in self._kept.of(self.conditions(case)) if row.query == case.query]
        return Measured.of(case.worker, case.deliveries, case.query, rows) if rows else None


def delivered_rows(scale: float) -> dict[str, int]:
    """Rows that come during a day, by query: those of the changing tables that it reads."""
    tables = find_tables(SUITE.generate(scale))
    known, texts = sources(tables.values(), SUITE.changing), SUITE.texts()
    return {
        query: sum(
            tables[name].rows
            for name in sources_of(read_query(texts[query], known).relation)
            if name in SUITE.changing
        )
        for query in QUERIES
    }


def publish(measured: Measuring, wanted: Sequence[Case], scale: float) -> None:
    """Write the section of the page, the plot and the rows themselves."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    found = [one for one in map(measured.measured, wanted) if one is not None]
    rows = delivered_rows(scale)
    results.write_csv(PAGE.parent / f"{NAME}.csv", [row for one in found for row in one.rows])
    title = f"TPC-H at scale {scale:g}: rows a CPU second of executors, over one delivery a day"
    drawn = svg(title, "deliveries a day", "throughput", lines_of(found), powers=True)
    (PAGE.parent / f"{NAME}.svg").write_text(drawn, encoding="utf-8")
    write_section(f"bench-{NAME}", section(found, len(wanted), rows, machine))
    say(f"wrote {PAGE.relative_to(ROOT)}, {NAME}.svg and {NAME}.csv beside it")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--most", type=int, default=DELIVERIES[-1], help="deliveries a day")


def main(given: argparse.Namespace) -> int:
    bench = home_folder() / "bench"
    kept = Results(given.csv or bench / f"{NAME}-{given.scale:g}.csv")
    queries = given.only or list(QUERIES)
    every = list(cases(QUERIES, DELIVERIES[-1]))
    with kept.alone():
        measured = Measuring(kept, given.scale, bench / f"{NAME}-{given.scale:g}")
        wanted = measured.missing(list(cases(queries, given.most)))
        say(f"{len(wanted)} days to run; the others have figures in {kept.path}")
        measured.all(wanted)
        missing = measured.missing(every)
    if given.page or not missing:
        publish(measured, every, given.scale)
    else:
        say(f"no page: {len(missing)} days have no figures")
    rows = [row for one in map(measured.measured, every) if one for row in one.rows]
    return int(bool(missing) or not all(row.equal for row in rows))
