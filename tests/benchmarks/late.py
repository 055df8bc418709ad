"""``make bench-late``: results over data that is late or dirty, and days whose forecast is wrong.

Tempura 8.3 and 8.4, executed on TPC-H, each result compared with batch over the same rows. The days
of a query run in one Spark session, so that figures are of the work alone; late data once more
with an application for each result, by whole processes.

* *late*: all tables but region and nation grow; results over 90, 99, 99.9 and 100 % of them.
* *apart*: the same, in applications.
* *cleaned*: a fifth of five tables of Q8 is missing, and comes one table after the other.
* *wrong*: two results of Q8; what comes before the second is forecast wrong, or of which tables.

``auto`` keeps what it finds worth keeping, ``hov`` (DBToaster's higher-order views) all that its
rules want, and ``batch`` computes each result by the user's text.

    python -m tests.benchmarks late --scale 1
    python -m tests.benchmarks late --scale 0.1 --only wrong --no-page
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

from forerun.include.machine.jvm import home_folder
from forerun.planner.request import Method, Problem, TimePoint, ivm
from forerun.simulation.deliveries import Splitter, parse_correlation
from forerun.simulation.running import Runner, SparkRunner
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import Arrivals, Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, Name, OneAtATime, say, table
from tests.benchmarks.executed import conditions
from tests.benchmarks.figures import (
    Day,
    Measure,
    csv_of,
    days_of,
    executor,
    figures_of,
    process,
    seconds,
)
from tests.benchmarks.methods_executed import MEMORY
from tests.benchmarks.page import ROOT
from tests.benchmarks.plot import Line, lines_svg
from tests.benchmarks.session_days import QueryDays, spark_session
from tests.benchmarks.suites import TPCH

Q8 = "q08"
FIVE = ("part", "supplier", "customer", "orders", "lineitem")
"""The tables of Q8 that grow, in the order in which they are cleaned."""
SUITE = replace(TPCH, changing=frozenset({*FIVE, "partsupp"}))
LATE, APART, CLEANED, WRONG = "late", "apart", "cleaned", "wrong"
JOINS = ("q03", "q05", "q07", "q08", "q10")
"""Queries that join three to eight tables."""
LATE_AT = (0.9, 0.99, 0.999, 1.0)
DIRTY, THERE = 0.8, 0.7
METHODS: tuple[Method, ...] = ("auto", "hov", "batch")
Shares = Mapping[str, tuple[float, ...]]
"""How much of each growing table is there at each run; of a table that is not named, all."""


@dataclass(frozen=True, slots=True)
class Course:
    """How rows come (``shares``), and how planning is told that they do (``told``)."""

    name: Name
    weights: tuple[float, ...]
    shares: Shares
    told: Shares
    problem: Problem

    @property
    def points(self) -> tuple[TimePoint, ...]:
        """The runs as planning is told of them."""
        told = {**self.shares, **self.told}
        return tuple(
            TimePoint(
                weight=weight,
                arrived=min((share[run] for share in told.values()), default=1.0),
                by_source=tuple(sorted((name, share[run]) for name, share in told.items())),
            )
            for run, weight in enumerate(self.weights)
        )


def late(name: str = LATE) -> Course:
    """All growing tables have as much of their rows at each result."""
    return Course(
        (name,), (1.0,) * len(LATE_AT), dict.fromkeys(SUITE.changing, LATE_AT), {}, ivm(4)
    )


def cleaned() -> Course:
    """The rest of one table comes before each result but the first."""
    runs = len(FIVE) + 1
    shares = {
        name: tuple(1.0 if run > place else DIRTY for run in range(runs))
        for place, name in enumerate(FIVE)
    }
    return Course((CLEANED,), (1.0,) * runs, _with_others(shares, runs), {}, ivm(runs))


def wrong() -> Iterator[Course]:
    """A wrong size of what is to come, and wrong words on which tables are complete."""
    for actual in (0.01, 0.3):
        for told in (0.01, 0.3):
            name = (WRONG, f"{actual:.0%} comes", f"{told:.0%} forecast")
            yield _two(name, dict.fromkeys(FIVE, 1 - actual), dict.fromkeys(FIVE, 1 - told))
    for count in range(1, len(FIVE) + 1):
        said = {name: 1.0 if place < count else THERE for place, name in enumerate(FIVE)}
        grow = dict.fromkeys(FIVE, THERE)
        yield _two((WRONG, "all grow", f"{count} said complete"), grow, said)
        yield _two((WRONG, f"{count} complete", "all said to grow"), said, grow)
        yield _two((WRONG, f"{count} complete", "and said so"), said, said)


def _two(name: Name, there: Mapping[str, float], told: Mapping[str, float]) -> Course:
    shares, said = ({one: (part, 1.0) for one, part in of.items()} for of in (there, told))
    return Course(name, (1.0, 1.0), _with_others(shares, 2), said, ivm(2))


def _with_others(shares: Shares, runs: int) -> Shares:
    return {**dict.fromkeys(SUITE.changing, (1.0,) * runs), **shares}


def days_over(course: Course, scale: float) -> Days:
    """Split the deliveries of a course: of each table by itself, once for all courses in which it
    comes alike."""
    folder = SUITE.generate(scale)
    tables = find_tables(folder)
    splits = folder.with_name(f"{folder.name}-split")
    together = tuple(map(parse_correlation, SUITE.together))
    label = "-".join(course.name).replace(" ", "-").replace("%", "")
    incoming = splits / label
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    for name in sorted(SUITE.changing):
        shares = course.shares[name]
        split = splits / "-".join((name, *(f"{share:g}" for share in shares)))
        if not (split / "done").exists():
            shutil.rmtree(split, ignore_errors=True)
            say(f"splitting {name}")
            Splitter(tables, shares, 1, together).write(name, split)
            (split / "done").touch()
        (incoming / name).symlink_to(split)
    return Days(SUITE, scale, folder, tables, Arrivals(label, course.points), incoming)


class Executing:
    """Executes days in one session, or each of their runs in an application; those of one query
    over one course share their deliveries and batch."""

    def __init__(self, scale: float, master: str) -> None:
        self._scale = scale
        self._work = home_folder() / "bench" / f"{LATE}-{scale:g}"
        self._runners = OneAtATime[bool, Runner](partial(self._runner, master))
        self._over: tuple[str, Name] | None = None
        self._days: QueryDays | None = None

    def _runner(self, master: str, apart: bool) -> AbstractContextManager[Runner]:
        """A runner whose runs are applications of their own, or share a session."""
        if not apart:
            return spark_session(master, MEMORY)
        logs = self._work.with_name(f"{self._work.name}-logs")
        logs.mkdir(parents=True, exist_ok=True)
        return nullcontext(SparkRunner(logs, master, memory=MEMORY))

    def figures(self, query: str, course: Course, method: Method, _found: Found) -> Figures:
        """Execute a day."""
        if self._days is None or self._over != (query, course.name):
            days = days_over(course, self._scale)
            self._days = QueryDays(
                days, query, self._runners.of(course.name == (APART,)), self._work
            )
            self._over = (query, course.name)
        return figures_of(self._days.day(method, problem=course.problem))


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query over late data, Q8 cleaned, and Q8 with wrong forecasts."""
    executing = Executing(given.scale, given.master)
    under = conditions(SUITE, given.scale, given.master, MEMORY, Arrivals("by course", ()))
    days = [(query, late(), method) for query in JOINS for method in METHODS]
    days += [
        (query, late(APART), method) for query in JOINS for method in METHODS if method != "hov"
    ]
    days += [(Q8, cleaned(), method) for method in METHODS]
    days += [(Q8, course, "auto") for course in wrong()]
    for query, course, method in days:
        measure = partial(executing.figures, query, course, method)
        yield Cell(name=(query, *course.name, method), under=under, measure=measure)


# -- the page --------------------------------------------------------------------------------------


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield what each result took, of late and of cleaned data, and the days of wrong forecasts."""
    days = days_of(found)
    shares = [f"{share:.1%}" for share in LATE_AT]
    for kind, at, measure in (
        (LATE, shares, executor), (APART, shares, process), (CLEANED, ["dirty", *FIVE], executor)
    ):  # fmt: skip
        of = [day for day in days if day.name[1] == kind]
        if of:
            by = "processes" if measure is process else "executors"
            yield from table((by, *at, "refreshes over batch", "kept"), _results(of, measure))
            yield ""
    forecast = [day for day in days if day.name[1] == WRONG]
    if forecast:
        columns = ("what comes", "forecast", "first run", "refresh", "both over batch", "kept")
        yield from table(columns, (_of_forecast(day) for day in forecast))


def _results(days: Sequence[Day], measure: Measure) -> Iterator[Sequence[str]]:
    """Each result, and all after the first over batch's."""
    batch = {day.query: day for day in days if day.name[-1] == "batch"}
    for day in days:
        took = [measure(run) for run in day.runs]
        other = [measure(run) for run in batch[day.query].runs] if day.query in batch else []
        share = f"{sum(took[1:]) / sum(other[1:]):.3f}" if other else ""
        method = day.name[-1]
        yield (f"{day.query} {method}", *map(seconds, took), share, f"{day.kept / 1e6:,.1f} MB")


def _of_forecast(day: Day) -> Sequence[str]:
    _, _, comes, forecast, _ = day.name
    first, last = (seconds(executor(run)) for run in day.runs)
    return comes, forecast, first, last, f"{_of_both(day):.2f}", f"{day.kept / 1e6:,.1f} MB"


def _of_both(day: Day) -> float:
    """Return both results over batch of the second one, twice."""
    return day.weighted(executor) / (2 * day.batch_cost(executor))


def curves(found: Found) -> Iterator[Line]:
    """For each method, what the results of Q8 take while its tables are cleaned."""
    for day in days_of(found):
        if day.name[1] == CLEANED:
            points = [(float(at), executor(run)) for at, run in enumerate(day.runs)]
            yield Line(day.name[-1], points)


def beside(_given: argparse.Namespace, found: Found) -> dict[str, str]:
    """The plot of Q8 cleaned, and all rows."""
    title = "Q8 while five tables are cleaned one after the other"
    drawn = lines_svg(title, "executor CPU seconds", "tables that are whole", curves(found))
    return {f"{LATE}.svg": drawn, f"{LATE}.csv": csv_of(days_of(found))}


ABOUT = f"""\
![Q8 cleaned]({LATE}.svg)

CPU seconds of executors in one session, so without what an application of its own adds to each run;
the second table is of whole processes, an application for each result. All rows:
[{LATE}.csv]({LATE}.csv). *Refreshes over batch*: every result but the first, over what batch took
for them. *Kept*: bytes in the store after the last early run. Each result was equal to batch over
the same rows, also where the forecast was wrong."""

BENCHMARK = Benchmark(
    cells=cells,
    lines=lines,
    about=ABOUT,
    section=lambda _given: "bench-late",
    page=ROOT / "docs" / "lab" / "late.md",
    beside=beside,
)
