"""``make bench-scale``: throughput by how many deliveries a day comes in, and by workers.

After section 6 of the paper on distributed maintenance with batch updates. A day comes in 1 to 64
even deliveries, and its result is wanted after each of them; and days of four deliveries run on one
and two local cores and on a standalone cluster of one and two workers with one core, over the same
rows (strong scaling) and over twice as many for two (weak). Shuffle partitions and buckets are the
same everywhere. Days run in one session per master, batch beside each, and each has to equal it.

    python -m tests.benchmarks scale --scale 1
    python -m tests.benchmarks scale --scale 0.1 --only q06 --only 1,4,16 --page
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from forerun.include.machine.jvm import home_folder
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.request import Problem, Settings, TimePoint
from forerun.planner.sql.frontend import read_query
from forerun.simulation.planning import sources
from forerun.simulation.running import Runner
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import Arrivals, Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, Name, OneAtATime, table
from tests.benchmarks.executed import conditions
from tests.benchmarks.figures import Day, csv_of, days_of, executor, figures_of
from tests.benchmarks.plot import Line, lines_svg
from tests.benchmarks.session_days import QueryDays, spark_session
from tests.benchmarks.suites import TPCH_GROWING as SUITE
from tests.spark.standalone import standalone

QUERIES = ("q01", "q03", "q06", "q11", "q15", "q17")
DELIVERIES = (1, 2, 4, 8, 16, 32, 64)
FOR_WORKERS = 4
"""Deliveries of a day that is run on other masters, too."""
COMPARED = 4
"""Up to so many deliveries, the result after each is compared with batch; else the final one."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A master with so many cores, and how many times the data it is given."""

    master: str
    cores: int
    times: int

    def __str__(self) -> str:
        return self.master if self.times == 1 else f"{self.master}*{self.times}"


LOCAL = Worker("local[2]", 2, 1)
WORKERS = (
    Worker("local[1]", 1, 1),
    LOCAL,
    Worker("standalone[1]", 1, 1),
    Worker("standalone[2]", 2, 1),
    Worker("local[2]", 2, 2),
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

    @property
    def name(self) -> Name:
        return self.query, str(self.deliveries), str(self.worker)


def arrivals_of(deliveries: int) -> Arrivals:
    """Even deliveries, at one price."""
    parts = range(1, deliveries + 1)
    points = tuple(TimePoint(weight=1.0, arrived=part / deliveries) for part in parts)
    return Arrivals(f"in-{deliveries}", points)


def cases() -> Iterator[Case]:
    """All days, those of few deliveries first, then those on other masters."""
    for deliveries in DELIVERIES:
        yield from (Case(LOCAL, deliveries, query) for query in QUERIES)
    for worker in WORKERS:
        if worker != LOCAL:
            yield from (Case(worker, FOR_WORKERS, query) for query in QUERIES)


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


def execute(case: Case, scale: float, runner: Runner, work: Path) -> Figures:
    """Execute the day of a case."""
    over = Days.of(SUITE, scale * case.worker.times, arrivals_of(case.deliveries))
    day = QueryDays(over, case.query, runner, work).day(
        "auto",
        problem=Problem(results_at=tuple(range(1, case.deliveries))),
        settings=Settings(buckets=PARTITIONS),
        compare_early=case.deliveries <= COMPARED,
    )
    return figures_of(day)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query in every number of deliveries, and on every master."""
    sessions = OneAtATime[Worker, Runner](session_on)
    work = home_folder() / "bench" / f"{NAME}-{given.scale:g}"
    under = conditions(SUITE, given.scale, f"{PARTITIONS} partitions", MEMORY, Arrivals("even", ()))

    def measure(case: Case, _found: Found) -> Figures:
        return execute(case, given.scale, sessions.of(case.worker), work)

    for case in cases():
        yield Cell(name=case.name, under=under, measure=partial(measure, case))


# -- the page ------------------------------------------------------------------------------------


def executors_s(day: Day) -> float:
    """CPU seconds of executors over all runs of the day."""
    return sum(map(executor, day.runs))


def wall_s(day: Day) -> float:
    """Seconds that its runs took, without planning them."""
    return sum(float(run["wall_s"]) for run in day.runs)


def by_deliveries(days: Sequence[Day]) -> dict[str, dict[int, Day]]:
    """The days on two local cores, by query and deliveries."""
    found: dict[str, dict[int, Day]] = {}
    for day in days:
        if day.name[2] == str(LOCAL):
            found.setdefault(day.query, {})[int(day.name[1])] = day
    return found


def by_worker(days: Sequence[Day]) -> dict[str, dict[str, Day]]:
    """The days of four deliveries, by query and master."""
    found: dict[str, dict[str, Day]] = {}
    for day in days:
        if day.name[1] == str(FOR_WORKERS):
            found.setdefault(day.query, {})[day.name[2]] = day
    return found


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


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the tables by deliveries and by workers."""
    days = days_of(found)
    yield from _deliveries(by_deliveries(days), delivered_rows(given.scale))
    yield ""
    yield from _workers(by_worker(days))


def _deliveries(
    by_query: Mapping[str, Mapping[int, Day]], rows: Mapping[str, int]
) -> Iterator[str]:
    counts = sorted({count for days in by_query.values() for count in days})
    yield f"![Throughput by deliveries a day]({NAME}.svg)"
    yield ""
    found = []
    for query, days in by_query.items():
        arrived = rows[query] / 1000
        cells = [f"{arrived / executors_s(days[n]):,.0f}" if n in days else "" for n in counts]
        few, many = days[min(days)], days[max(days)]
        planning = sum(run["plan_ms"] or 0.0 for run in many.runs) / 1000 / len(many.runs)
        cells += [f"{executors_s(many) / executors_s(few):.1f}", f"{planning:.2f} s"]
        found.append((query, f"{rows[query]:,}", *cells, f"{arrived / wall_s(many):,.0f}"))
    head = ("query", "rows a day", *map(str, counts), "fewest / most", "planning", "by the clock")
    yield from table(head, found)


def _workers(by_query: Mapping[str, Mapping[str, Day]]) -> Iterator[str]:
    found = []
    for query, days in by_query.items():
        cells = [_clock(days.get(str(worker))) for worker in WORKERS]
        for kind in ("local", "standalone"):
            one = days.get(str(Worker(f"{kind}[1]", 1, 1)))
            for times in (1, 2):
                other = days.get(str(Worker(f"{kind}[2]", 2, times)))
                cells.append(f"{wall_s(one) / wall_s(other):.2f}" if one and other else "")
        found.append((query, *cells))
    over = ("strong, local", "weak, local", "strong, standalone", "weak, standalone")
    yield from table(("query", *map(str, WORKERS), *over), found)


def _clock(day: Day | None) -> str:
    if day is None:
        return ""
    return f"{wall_s(day):.1f} / {day.batch['wall_s']:.1f} ({executors_s(day):.1f})"


def lines_of(days: Sequence[Day]) -> Iterator[Line]:
    """For each query, how many rows a CPU second takes in by the number of deliveries, over that of
    one delivery."""
    for query, of in by_deliveries(days).items():
        if 1 in of:
            one = executors_s(of[1])
            yield Line(query, [(n, one / executors_s(of[n])) for n in sorted(of)])


def beside(given: argparse.Namespace, found: Found) -> dict[str, str]:
    """The plot and all rows."""
    days = days_of(found)
    title = f"TPC-H at scale {given.scale:g}: rows a CPU second of executors, over one delivery"
    drawn = lines_svg(title, "deliveries a day", "throughput", lines_of(days), powers=True)
    return {f"{NAME}.svg": drawn, f"{NAME}.csv": csv_of(days)}


ABOUT = f"""\
A result after every delivery, at one price, by `auto`, in a Spark session that is there. All
rows are in [{NAME}.csv]({NAME}.csv). First thousands of rows that came for each CPU second of
executors, by deliveries a day; in the last columns how many times that is for the fewest deliveries
as for the most, seconds of planning for each of the most, and thousands of rows for each second of
the clock then. Next days of {FOR_WORKERS} deliveries: seconds of the clock of all runs / of batch,
in brackets CPU seconds of executors; `*2` with twice the rows. *Strong*: one core over two, same
rows, 2 at best. *Weak*: one core over two with twice the rows, 1 at best."""

BENCHMARK = Benchmark(
    cells=cells, lines=lines, about=ABOUT, section=lambda _given: f"bench-{NAME}", beside=beside
)
