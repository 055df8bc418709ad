"""``make bench-methods EXECUTED=1``: what :mod:`tests.benchmarks.methods` estimates, executed.

Every TPC-H query over the arrival patterns of Tempura 8.2, at both prices of the early run, by
``auto``, by each method that applies, as batch and as own batch; and over the day of Tempura 8.3,
at 14:00, 19:00 and 24:00. Days of a query run in one Spark session, so that the figures are of the
work and not of starting applications (``make bench-tpch`` has that), and each has to equal batch.
What has its figures by this code under these conditions is not run again, so the command may be
killed and started again. A day that is planned alike at both prices is executed once for both.

    python -m tests.benchmarks methods_executed --scale 1
    python -m tests.benchmarks methods_executed --scale 0.1 --only q03,q13 --over delta-big --page
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from forerun.include.machine.jvm import home_folder
from forerun.planner.algebra.node import walk
from forerun.planner.algebra.relational import Join
from forerun.planner.request import Method, TimePoint
from forerun.planner.rules.methods.catalog import SINGLE
from forerun.planner.sql.frontend import read_query
from forerun.simulation.accounts import DayAccount
from forerun.simulation.planning import sources
from forerun.simulation.running import Runner
from forerun.simulation.tables import find_tables
from tests.benchmarks import results
from tests.benchmarks.days import POINTS, TPCH, Arrivals, Days, say
from tests.benchmarks.executed import Progress, conditions_of, keep
from tests.benchmarks.line_plot import svg as lines_svg
from tests.benchmarks.methods import PATTERNS, WEIGHTS, Pattern
from tests.benchmarks.methods_executed_section import DAY, curves, label, scenario_bars, section
from tests.benchmarks.page import PAGE, ROOT, write_section
from tests.benchmarks.planning import TPCH_CHANGING
from tests.benchmarks.plot import svg as bars_svg
from tests.benchmarks.results import REFUSED, Conditions, Results
from tests.benchmarks.session_days import FirstRun, QueryDays, at_weight, spark_session

SUITE = replace(TPCH, changing=TPCH_CHANGING)
METHODS: tuple[Method, ...] = ("auto", *(cast("Method", method.name) for method in SINGLE))
MEMORY = "4g"
"""Of the driver, in which local executors live."""
NAME = "methods-executed"
THE_DAY = Arrivals(DAY, POINTS)


@dataclass(frozen=True, slots=True)
class Case:
    """A day that is to be executed."""

    query: str
    arrivals: Arrivals
    method: Method

    def __str__(self) -> str:
        return f"{self.query} {label(self.arrivals)} {self.method}"


def arrivals_of(pattern: Pattern, weight: float) -> Arrivals:
    """The two runs of a pattern, the early one at this price."""
    points = (TimePoint(weight=weight, arrived=pattern.first), TimePoint(weight=1.0))
    return Arrivals(pattern.name, points, frozenset(pattern.retracting))


def all_arrivals() -> list[Arrivals]:
    """The patterns at both prices, then the day of three runs."""
    both = [arrivals_of(pattern, weight) for pattern in PATTERNS for weight in WEIGHTS]
    return [*both, THE_DAY]


def cases(queries: Sequence[str]) -> Iterator[Case]:
    """Every day of these queries; those over the same deliveries follow one another, and of these
    the ones by the same method. The day of three runs is that of ``auto``."""
    for query in queries:
        for pattern in PATTERNS:
            for method in METHODS:
                for weight in WEIGHTS:
                    yield Case(query, arrivals_of(pattern, weight), method)
        yield Case(query, THE_DAY, "auto")


def joins_of(scale: float) -> dict[str, int]:
    """How many joins each query has as it is read, subqueries included."""
    known = sources(find_tables(SUITE.generate(scale)).values(), SUITE.changing)
    relations = {name: read_query(sql, known).relation for name, sql in SUITE.texts().items()}
    return {
        name: sum(isinstance(node, Join) for node in walk(relation))
        for name, relation in relations.items()
    }


class Measuring:
    """Executes the days of cases in turn and keeps the figures of each."""

    def __init__(self, kept: Results, scale: float, master: str, work: Path) -> None:
        self._kept, self.scale, self._master, self._work = kept, scale, master, work
        self._days: QueryDays | None = None
        self._over: tuple[str, str] = ("", "")
        self._done: dict[Method, list[tuple[FirstRun, DayAccount]]] = {}

    def conditions(self, arrivals: Arrivals) -> Conditions:
        """The conditions of what is measured now."""
        return conditions_of(SUITE.name, self.scale, self._master, arrivals, MEMORY)

    def missing(self, wanted: Sequence[Case]) -> list[Case]:
        """The cases that have no figures yet."""
        return [
            one
            for one in wanted
            if self._kept.missing(self.conditions(one.arrivals), [one.query], one.method)
        ]

    def all(self, wanted: Sequence[Case]) -> None:
        """Execute these cases, those of a query in one session."""
        progress = Progress(tuple(map(str, wanted)), time.time())
        for query in dict.fromkeys(case.query for case in wanted):
            with spark_session(self._master, MEMORY) as runner:
                for case in (one for one in wanted if one.query == query):
                    say(progress.line(str(case), time.time()))
                    self.one(case, runner)

    def one(self, case: Case, runner: Runner) -> None:
        """Execute a case and keep its figures, or why there are none."""
        conditions = self.conditions(case.arrivals)
        day = keep(self._kept, conditions, case.query, lambda: self._day(case, runner), case.method)
        if day is None:
            return
        unequal = "" if day.equal else f" NOT EQUAL: {'; '.join(day.differences)}"
        taken = ", ".join(f"{run.cpu_s:.2f}" for run in day.runs)
        say(f"{case}: {taken} CPU s of executors, batch {day.batch.cpu_s:.2f}{unequal}")

    def _day(self, case: Case, runner: Runner) -> DayAccount:
        """Execute the day of a case, or take over the one at another price if it begins alike:
        the final run is planned from what is kept, and its price is always 1."""
        days, weight = self._over_the_same(case, runner), case.arrivals.points[0].weight
        if case.arrivals == THE_DAY:
            return days.day(case.method)
        planned = days.first_run(case.method, weight)
        for known, day in self._done.get(case.method, ()):
            if known == planned:
                return at_weight(day, weight)
        day = days.day(case.method, weight)
        self._done.setdefault(case.method, []).append((planned, day))
        return day

    def _over_the_same(self, case: Case, runner: Runner) -> QueryDays:
        """The query over the deliveries of a case, with what is known of them already."""
        over = (case.query, case.arrivals.name)
        if self._days is None or over != self._over:
            days = Days.of(SUITE, self.scale, case.arrivals)
            self._days, self._over = QueryDays(days, case.query, runner, self._work), over
            self._done.clear()
        return self._days


def publish(measured: Measuring, kept: Results) -> None:
    """Write the section of the page, both plots and the rows themselves."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    found = {one: kept.of(measured.conditions(one)) for one in all_arrivals()}
    results.write_csv(PAGE.parent / f"{NAME}.csv", [row for rows in found.values() for row in rows])
    title = "TPC-H executed: weighted CPU of days by auto over batch, in sum"
    drawn = bars_svg(title, list(scenario_bars(found, METHODS)), "best single method, executors")
    (PAGE.parent / f"{NAME}.svg").write_text(drawn, encoding="utf-8")
    title = "A day at 14:00, 19:00 and 24:00: queries by CPU over batch, executors"
    drawn = lines_svg(title, "share of queries", "ratio to batch", curves(found))
    (PAGE.parent / f"{NAME}-day.svg").write_text(drawn, encoding="utf-8")
    lines = section(found, list(SUITE.texts()), METHODS, joins_of(measured.scale), machine)
    write_section(f"bench-{NAME}", lines)
    say(f"wrote {PAGE.relative_to(ROOT)}, and beside it {NAME}.csv, {NAME}.svg, {NAME}-day.svg")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--over", default="", help="arrivals, such as delta-big,day")


def main(given: argparse.Namespace) -> int:
    bench = home_folder() / "bench"
    kept = Results(given.csv or bench / f"{NAME}-{given.scale:g}.csv")
    work = bench / f"{NAME}-{given.scale:g}"
    queries = given.only or list(SUITE.texts())
    over = given.over.split(",") if given.over else [one.name for one in all_arrivals()]
    asked = [case for case in cases(queries) if case.arrivals.name in over]
    with kept.alone():
        measured = Measuring(kept, given.scale, given.master, work)
        wanted = measured.missing(asked)
        say(f"{len(wanted)} days to run; the others have figures in {kept.path}")
        measured.all(wanted)
        missing = measured.missing(list(cases(list(SUITE.texts()))))
    if given.page or not missing:
        publish(measured, kept)
    else:
        say(f"no page: {len(missing)} days have no figures")
    found = [row for one in all_arrivals() for row in kept.of(measured.conditions(one))]
    return int(bool(missing) or not all(row.equal or row.run == REFUSED for row in found))
