"""``make bench-methods EXECUTED=1``: what :mod:`tests.benchmarks.methods` estimates, executed.

Every TPC-H query over the arrival patterns of Tempura 8.2, at both prices of the early run, by
``auto``, by each method that applies, as batch and as own batch; and over the day of Tempura 8.3,
at 14:00, 19:00 and 24:00. Days of a query run in one Spark session, so that the figures are of the
work and not of starting applications (``make bench-tpch`` has that), and each has to equal batch. A
day that is planned alike at both prices is executed once for both.

    python -m tests.benchmarks methods_executed --scale 1
    python -m tests.benchmarks methods_executed --scale 0.1 --only q03,q13 --only delta-big --page
"""

from __future__ import annotations

import argparse
import operator
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from tests.benchmarks.days import POINTS, Arrivals, Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, Name, OneAtATime, table
from tests.benchmarks.executed import conditions
from tests.benchmarks.figures import (
    MEASURES,
    Day,
    Measure,
    Sums,
    csv_of,
    days_of,
    executor,
    figures_of,
    process,
)
from tests.benchmarks.methods import PATTERNS, WEIGHTS, Pattern
from tests.benchmarks.plot import Bars, Line, bars_svg, lines_svg
from tests.benchmarks.session_days import FirstRun, QueryDays, at_weight, spark_session
from tests.benchmarks.suites import TPCH_GROWING as SUITE

METHODS: tuple[Method, ...] = ("auto", *(cast("Method", method.name) for method in SINGLE))
MEMORY = "4g"
"""Of the driver, in which local executors live."""
NAME = "methods-executed"
DAY = "day"
"""The arrivals at 14:00, 19:00 and 24:00."""
THE_DAY = Arrivals(DAY, POINTS)
LEVEL = 0.03
"""So far from one another two executions of the same are still level, as a share."""
WORKLOADS: Mapping[str, tuple[int, int, int]] = {"W-A": (107, 84, 83), "W-B": (197, 213, 144)}
"""Queries without a join, with one, and with more: table 1 of the paper."""


@dataclass(frozen=True, slots=True)
class Case:
    """A day that is to be executed."""

    query: str
    arrivals: Arrivals
    method: Method

    @property
    def name(self) -> Name:
        return (self.query, *label(self.arrivals), self.method)


def arrivals_of(pattern: Pattern, weight: float) -> Arrivals:
    """The two runs of a pattern, the early one at this price."""
    points = (TimePoint(weight=weight, arrived=pattern.first), TimePoint(weight=1.0))
    return Arrivals(pattern.name, points, frozenset(pattern.retracting))


def label(arrivals: Arrivals) -> Name:
    """A pattern with the price of its early run; the day of three runs by its name."""
    return (DAY,) if arrivals == THE_DAY else (arrivals.name, f"{arrivals.points[0].weight:g}")


def cases(queries: Sequence[str]) -> Iterator[Case]:
    """Every day of these queries; those over the same deliveries follow one another, and of these
    the ones by the same method. The day of three runs is that of ``auto``."""
    for query in queries:
        for pattern in PATTERNS:
            for method in METHODS:
                for weight in WEIGHTS:
                    yield Case(query, arrivals_of(pattern, weight), method)
        yield Case(query, THE_DAY, "auto")


class Executing:
    """Executes the days of cases in turn, those of a query in one session."""

    def __init__(self, scale: float, session: Callable[[str], Runner], work: Path) -> None:
        self.scale, self._session, self._work = scale, session, work
        self._days: QueryDays | None = None
        self._over: tuple[str, str] = ("", "")
        self._done: dict[Method, list[tuple[FirstRun, DayAccount]]] = {}

    def figures(self, case: Case, _found: Found) -> Figures:
        """Execute the day of a case, or take over the one at another price if it begins alike:
        the final run is planned from what is kept, and its price is always 1."""
        days, weight = self._over_the_same(case), case.arrivals.points[0].weight
        if case.arrivals == THE_DAY:
            return figures_of(days.day(case.method))
        planned = days.first_run(case.method, weight)
        for known, day in self._done.get(case.method, ()):
            if known == planned:
                return figures_of(at_weight(day, weight))
        day = days.day(case.method, weight)
        self._done.setdefault(case.method, []).append((planned, day))
        return figures_of(day)

    def _over_the_same(self, case: Case) -> QueryDays:
        """The query over the deliveries of a case, with what is known of them already."""
        over = (case.query, case.arrivals.name)
        if self._days is None or over != self._over:
            days, runner = Days.of(SUITE, self.scale, case.arrivals), self._session(case.query)
            self._days, self._over = QueryDays(days, case.query, runner, self._work), over
            self._done.clear()
        return self._days


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query over every pattern at both prices by every method."""
    sessions = OneAtATime[str, Runner](lambda _query: spark_session(given.master, MEMORY))
    work = home_folder() / "bench" / f"{NAME}-{given.scale:g}"
    executing = Executing(given.scale, sessions.of, work)
    under = conditions(SUITE, given.scale, given.master, MEMORY, Arrivals("by pattern", ()))
    for case in cases(list(SUITE.texts())):
        yield Cell(name=case.name, under=under, measure=partial(executing.figures, case))


# -- the page --------------------------------------------------------------------------------------

ByMethod = Mapping[str, Mapping[str, Day]]
"""The days over some arrivals by method, and of each by query."""


def by_scenario(found: Found) -> dict[Name, ByMethod]:
    """The days of each pattern and price; the day of three runs is one of them."""
    scenarios: dict[Name, dict[str, dict[str, Day]]] = {}
    for day in days_of(found):
        _, *scenario, method = day.name
        scenarios.setdefault(tuple(scenario), {}).setdefault(method, {})[day.query] = day
    order = [label(arrivals_of(p, w)) for p in PATTERNS for w in WEIGHTS] + [(DAY,)]
    return {one: scenarios[one] for one in order if one in scenarios}


def best_single(of: ByMethod, query: str) -> tuple[str, Day] | None:
    """The method that was cheapest alone, by executors, and its day."""
    alone = [(m, days[query]) for m, days in of.items() if m != "auto" and query in days]
    return min(alone, key=lambda one: one[1].weighted(executor), default=None)


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield sums by pattern and method, each query, and the day of three runs."""
    scenarios = by_scenario(found)
    patterns = {name: of for name, of in scenarios.items() if name != (DAY,)}
    columns = (
        "arrivals, price", "method", "queries", "weighted, executors", "processes",
        "auto there, executors", "final runs, executors", "own batch, executors", "kept",
        "cheapest",
    )  # fmt: skip
    rows = (
        _sums_of(name, method, of)
        for name, of in patterns.items()
        for method in METHODS
        if method in of
    )
    yield from table(columns, rows)
    yield ""
    yield from table(("query", *map(" ".join, patterns)), _by_query(patterns))
    if days := list(scenarios.get((DAY,), {}).get("auto", {}).values()):
        yield ""
        yield from _day_of_three(days, joins_of(given.scale))


def _sums_of(name: Name, method: str, of: ByMethod) -> Iterator[object]:
    days = list(of[method].values())
    by_executors, by_processes = Sums.of(days, executor), Sums.of(days, process)
    auto = [of["auto"][day.query] for day in days if day.query in of.get("auto", {})]
    yield from (" ".join(name), method, len(days))
    yield from (f"{by_executors.weighted:.3f}", f"{by_processes.weighted:.3f}")
    yield f"{Sums.of(auto, executor).weighted:.3f}" if auto else ""
    yield from (f"{by_executors.final:.3f}", f"{by_executors.own:.3f}")
    yield f"{sum(day.kept for day in days) / 1e6:,.1f} MB"
    yield sum(
        day.weighted(executor)
        <= (1 + LEVEL) * min(d[day.query].weighted(executor) for d in of.values() if day.query in d)
        for day in days
    )


def _by_query(patterns: Mapping[Name, ByMethod]) -> Iterator[list[str]]:
    for query in SUITE.texts():
        cells = []
        for of in patterns.values():
            auto, best = of.get("auto", {}).get(query), best_single(of, query)
            told = [("auto", auto)] if auto else []
            told += [best] if best else []
            some = (f"{m} {day.ratio(executor):.2f} ({day.kept / 1e6:.1f} MB)" for m, day in told)
            cells.append(", ".join(some))
        if any(cells):
            yield [query, *cells]


def joins_of(scale: float) -> dict[str, int]:
    """How many joins each query has as it is read, subqueries included."""
    known = sources(find_tables(SUITE.generate(scale)).values(), SUITE.changing)
    relations = {name: read_query(sql, known).relation for name, sql in SUITE.texts().items()}
    return {
        name: sum(isinstance(node, Join) for node in walk(relation))
        for name, relation in relations.items()
    }


def _day_of_three(days: Sequence[Day], joins: Mapping[str, int]) -> Iterator[str]:
    columns = (*(f"at {point.arrived:.0%}" for point in POINTS), "weighted", "batch", "saved")
    rows = []
    for name, measure in MEASURES:
        parts = [sum(measure(day.runs[i]) for day in days) for i in range(len(POINTS))]
        batch = sum(day.batch_cost(measure) for day in days)
        weighted = sum(day.weighted(measure) for day in days)
        shares = (f"{1 - weighted / batch:.1%}", f"{sum(parts) / batch - 1:.1%}")
        rows.append((name, *(f"{part:.1f}" for part in (*parts, weighted, batch)), *shares))
    yield from table(("CPU seconds of", *columns, "overhead unweighted"), rows)
    yield ""
    rows = []
    for name, ratio in RATIOS:
        ratios = [ratio(day) for day in days]
        shares = [sum(r < bound for r in ratios) / len(ratios) for bound in (1.0, 0.75, 0.65)]
        shares.append(sum(r > 1.5 for r in ratios) / len(ratios))
        rows.append((name, *(f"{share:.0%}" for share in shares)))
    bounds = ("below batch", "by more than 25%", "by more than 35%", "above by over 50%")
    yield from table(("by executors", *bounds), rows)
    kinds = [[day for day in days if min(joins[day.query], 2) == many] for many in range(3)]
    if all(kinds):
        yield ""
        yield from _as_in_workloads(kinds)


def _as_in_workloads(kinds: Sequence[Sequence[Day]]) -> Iterator[str]:
    """The mean ratios of queries without a join, with one and with more, each counted as often as
    the paper's workloads have such queries."""
    rows = []
    for name, counts in WORKLOADS.items():
        share = ", ".join(f"{count / sum(counts):.0%}" for count in counts)
        means = [[statistics.fmean(map(ratio, kind)) for kind in kinds] for _, ratio in RATIOS]
        mixed = (sum(map(operator.mul, mean, counts)) / sum(counts) for mean in means)
        rows.append((name, share, *(f"{one:.3f}" for one in mixed)))
    over = ("weighted over batch, executors", "at 24:00 over batch")
    yield from table(("mix", "no join, one, more", *over), rows)


RATIOS: tuple[tuple[str, Callable[[Day], float]], ...] = (
    ("weighted", lambda day: day.ratio(executor)),
    ("at 24:00", lambda day: day.final_ratio(executor)),
)


def scenario_bars(found: Found) -> Iterator[Bars]:
    """For each pattern and price, days by auto in sum; the mark is what the best single method of
    each of these queries takes."""
    for name, of in by_scenario(found).items():
        best = {query: best_single(of, query) for query in of.get("auto", {})}
        both = [(of["auto"][query], one[1]) for query, one in best.items() if one is not None]
        if both and name != (DAY,):
            auto, single = ([pair[i] for pair in both] for i in range(2))
            yield Bars(" ".join(name), *(_sum(auto, m) for _, m in MEASURES), _sum(single))


def _sum(days: Sequence[Day], measure: Measure = executor) -> float:
    return Sums.of(days, measure).weighted


def curves(found: Found) -> Iterator[Line]:
    """Of the day of three runs, the share of queries up to each ratio to batch."""
    days = by_scenario(found).get((DAY,), {}).get("auto", {}).values()
    for name, ratio in RATIOS if days else ():
        at = sorted(map(ratio, days))
        yield Line(name, [(r, (i + 1) / len(at)) for i, r in enumerate(at)])


def beside(_given: argparse.Namespace, found: Found) -> dict[str, str]:
    """Both plots and all rows."""
    title = "TPC-H executed: weighted CPU of days by auto over batch, in sum"
    bars = bars_svg(title, list(scenario_bars(found)), "best single method, executors")
    title = "A day at 14:00, 19:00 and 24:00: queries by CPU over batch, executors"
    drawn = lines_svg(title, "share of queries", "ratio to batch", curves(found))
    return {f"{NAME}.svg": bars, f"{NAME}-day.svg": drawn, f"{NAME}.csv": csv_of(days_of(found))}


ABOUT = f"""\
![by pattern]({NAME}.svg) ![the day of three runs]({NAME}-day.svg)

One session for all days of a query, planning not counted. All rows: [{NAME}.csv]({NAME}.csv).
Sums over the queries that a method applies to, as ratios to batch (the user's own text over the
same deliveries). *Auto there*: `auto` over the same queries. *Cheapest*: of how many queries the
method is, within {LEVEL:.0%}, no dearer than any other. Then each query: `auto` over batch by
executors, and the cheapest method alone over batch; in brackets what each keeps; above 1 is a loss.
Last the day of Tempura 8.3, by `auto`. W-A and W-B are not public; these are TPC-H's
queries, counted by their joins as often as there (table 1 of the paper), each query alike whatever
it costs."""

BENCHMARK = Benchmark(
    cells=cells, lines=lines, about=ABOUT, section=lambda _given: f"bench-{NAME}", beside=beside
)
