"""``make bench-tpch``, ``make bench-tpcds``: every query of a suite as an executed day.

A query is three runs, the user's own text as batch, and batch in stages of our own, each an
application of its own on Spark; the day and both batches have to give the same rows. With ``--in``
they run in a session that is there already, of Spark or of Sail, and are planned at its prices:
what the work takes, without what starting takes.

    python -m tests.benchmarks executed tpch --scale 10
    python -m tests.benchmarks executed tpch --scale 10 --only q05,q09 --again
    python -m tests.benchmarks executed tpcds --scale 1 --in session
    python -m tests.benchmarks executed tpch --scale 10 --in early

    python -m tests.benchmarks executed analysts --scale 3.5 --in session --arrivals hundredth

``--in early`` is as applications, but for the early runs that a small engine does. Of three runs
the last one brings 21 % of the rows, and 1 % with ``--arrivals hundredth``.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from forerun.include.machine.jvm import home_folder
from forerun.simulation.running import Runner, open_runner
from tests.benchmarks.calibrated import fitted, price_lines
from tests.benchmarks.days import POINTS, THREE_RUNS, Arrivals, Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, OneAtATime, table
from tests.benchmarks.figures import (
    MEASURES,
    Day,
    Estimates,
    Sums,
    csv_of,
    days_of,
    estimated,
    executor,
    figures_of,
    process,
    seconds,
    state_share,
)
from tests.benchmarks.plot import Bars, bars_svg
from tests.benchmarks.session_days import QueryDays, spark_session
from tests.benchmarks.suites import SUITES, Suite

MEMORY = "8g"
"""Of the driver, in which local executors live: Q4 as its own text does not get by with 4 GB."""
LIMIT_S = 900.0
"""A query whose day and both batches take longer is given up."""
APPLICATIONS, SESSION, SAIL, EARLY = "applications", "session", "sail", "early"
"""Where days run: each run in an application of its own, all in one Spark session, all in Sail; or
in applications, but early runs in Sail where they may be."""
WHERE = (APPLICATIONS, SESSION, SAIL, EARLY)
HUNDREDTH = Arrivals("hundredth", (POINTS[0], replace(POINTS[1], arrived=0.99), POINTS[2]))
"""The last hundredth of the rows arrives before the final run."""
ARRIVALS = {"three": THREE_RUNS, HUNDREDTH.name: HUNDREDTH}
_STORES = {APPLICATIONS: "stores", EARLY: "early-stores"}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument(
        "--in",
        dest="where",
        choices=WHERE,
        default=APPLICATIONS,
        help="each run an application (the default), or all in one session of Spark or of Sail; "
        "early: applications, but for the early runs that Sail may do",
    )
    parser.add_argument("--arrivals", choices=ARRIVALS, default="three", help="when rows come")


def conditions(
    suite: Suite, scale: float, master: str, memory: str = MEMORY, arrivals: Arrivals = THREE_RUNS
) -> str:
    """What figures of executed days must have in common."""
    return f"{suite.title} at scale {scale:g}, {master}, memory {memory}, arrived@weight {arrivals}"


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query of the suite as a day."""
    suite, where = SUITES[given.suite], given.where
    master = {
        SESSION: f"{given.master}, one session",
        SAIL: "Sail",
        EARLY: f"{given.master}, early runs on Sail",
    }.get(where, given.master)
    arrivals = ARRIVALS[given.arrivals]
    under = conditions(suite, given.scale, master, arrivals=arrivals)

    def session(_key: str) -> AbstractContextManager[Runner]:
        if where == SESSION:
            return spark_session(given.master, MEMORY)
        return open_runner(SAIL, _folder(suite, given.scale, f"in-{where}"), "")

    sessions: OneAtATime[str, Runner] = OneAtATime(session)

    def measure(query: str, _found: Found) -> Figures:
        days = Days.of(suite, given.scale, arrivals)
        if where in (APPLICATIONS, EARLY):
            return _as_applications(days, query, given.master, where)
        work = _folder(suite, given.scale, f"in-{where}")
        return figures_of(QueryDays(days, query, sessions.of(where), work).warm_day("auto"))

    for query in suite.texts():
        yield Cell(name=(query,), under=under, limit_s=LIMIT_S, measure=partial(measure, query))


def _as_applications(days: Days, query: str, master: str, where: str) -> Figures:
    """Execute a day whose runs are applications. What is kept and the ledger of a query's newest
    day stay: prices are fitted to them."""
    store = _folder(days.suite, days.scale, _STORES[where]) / query
    shutil.rmtree(store, ignore_errors=True)
    day = days.run(
        query,
        days.suite.texts()[query],
        master,
        MEMORY,
        own_batch=True,
        store=str(store),
        early_engine="sail" if where == EARLY else "",
    )
    return figures_of(day)


def _folder(suite: Suite, scale: float, what: str) -> Path:
    return home_folder() / "bench" / f"{suite.name}-{scale:g}-{what}"


def name_of(given: argparse.Namespace) -> str:
    """What the files and the section of a suite that ran there are called."""
    where = () if given.where == APPLICATIONS else (given.where,)
    when = () if ARRIVALS[given.arrivals] == THREE_RUNS else (given.arrivals,)
    return "-".join((given.suite, *where, *when))


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the sums, the estimates and a row for each query."""
    name, days = name_of(given), days_of(found)
    yield f"![weighted CPU of days over batch, by query]({name}.svg)"
    yield ""
    yield from _sums(days)
    yield ""
    yield from _estimates(days)
    if given.where == APPLICATIONS:
        yield ""
        stores = _folder(SUITES[given.suite], given.scale, _STORES[given.where])
        yield from price_lines(fitted(stores))
    yield ""
    yield "CPU seconds of executors, then of whole processes; runs that were not opened are 0. *Own"
    yield f"batch* is batch in stages of our own. All rows are in [{name}.csv]({name}.csv)."
    yield ""
    columns = (
        "query", "by", "runs", "batch", "own batch", "weighted", "final", "own batch / batch",
        "processes", "batch", "own batch", "weighted", "kept",
    )  # fmt: skip
    yield from table(columns, map(_row, days))


def _row(day: Day) -> Iterator[str]:
    yield day.query
    yield day.final["decided"]
    for _, measure in MEASURES:
        yield day.taken(measure)
        yield from (seconds(measure(day.batch)), seconds(measure(day.own)))
        yield f"{day.ratio(measure):.3f}"
        if measure is executor:
            yield from (f"{day.final_ratio(measure):.3f}", f"{day.own_ratio(measure):.3f}")
    yield f"{day.kept / 1e6:,.0f} MB" if day.kept else ""


def _sums(days: Sequence[Day]) -> Iterator[str]:
    early = [day for day in days if any(process(run) for run in day.runs[:-1])]
    yield f"Sums over {len(days)} queries, as ratios to batch; {len(early)} of them work early:"
    yield ""
    names, rows = {day.query for day in early}, []
    for name, measure in MEASURES:
        sums = Sums.of(days, measure)
        some = f"{Sums.of(early, measure).weighted:.3f}" if early else ""
        above = [query for query in sums.above if query in names]
        figures = (sums.final, sums.own, sums.weighted / sums.own)
        rows.append(
            (name, f"{sums.weighted:.3f}", some, *(f"{one:.3f}" for one in figures),
             _listed(sums.above), _listed(above), _listed(sums.final_above))
        )  # fmt: skip
    columns = (
        "CPU of", "weighted", "weighted, of those that work early", "final runs", "own batch",
        "weighted over own batch", "above 1.0", "of these work early", "final above 1.0",
    )  # fmt: skip
    yield from table(columns, rows)


def _listed(queries: Sequence[str]) -> str:
    return f"{len(queries)}: {', '.join(queries)}" if queries else "0"


def _estimates(days: Sequence[Day]) -> Iterator[str]:
    yield "Estimated cost of applications against what they took, after one fitted factor:"
    yield ""
    rows = []
    for name, measure in MEASURES:
        of = Estimates.of(list(estimated(days, measure)))
        error = f"{of.median_error:.0%}"
        rows.append((name, of.runs, f"{of.rank_correlation:.2f}", f"{of.factor:.2f}", error))
    yield from table(("CPU of", "applications", "rank correlation", "factor", "median error"), rows)
    if (share := state_share(days)) is not None:
        yield ""
        yield f"What a day keeps over what batch reads: {share:.1%} of the bytes (median)."


def beside(given: argparse.Namespace, found: Found) -> dict[str, str]:
    """The plot and all rows."""
    name, days = name_of(given), days_of(found)
    suite = SUITES[given.suite]
    bars = [Bars(d.query, d.ratio(executor), d.ratio(process), d.own_ratio(executor)) for d in days]
    title = f"{suite.title}, scale {given.scale:g}: weighted CPU of days over batch"
    return {f"{name}.svg": bars_svg(title, bars), f"{name}.csv": csv_of(days)}


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda given: f"bench-{name_of(given)}", beside=beside
)
