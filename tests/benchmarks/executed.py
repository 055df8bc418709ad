"""``make bench-tpch``, ``make bench-tpcds``: every query of a suite as an executed day.

A query is three runs, the user's own text as batch, and batch in stages of our own, each an
application of its own on Spark; the day and both batches have to give the same rows. With ``--in``
they run in a session that is there already, of Spark or of Sail, and are planned at its prices:
what the work takes, without what starting takes. What has its figures by this code under these
conditions is not run again, so the command may be killed and started again. Run it on a machine
that does nothing else.

    python -m tests.benchmarks executed tpch --scale 10
    python -m tests.benchmarks executed tpch --scale 10 --only q05,q09 --again
    python -m tests.benchmarks executed tpcds --scale 1 --in session
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

from forerun.include.machine.jvm import home_folder
from forerun.planner.errors import ForerunError, MethodError
from forerun.simulation.accounts import DayAccount
from forerun.simulation.running import open_runner
from tests.benchmarks import results
from tests.benchmarks.days import THREE_RUNS, TPCH, Arrivals, Days, say
from tests.benchmarks.executed_section import section
from tests.benchmarks.executed_work import fitted, lines
from tests.benchmarks.figures import Day, days_of, executor, process
from tests.benchmarks.page import PAGE, ROOT, write_section
from tests.benchmarks.plot import Bars, svg
from tests.benchmarks.results import BATCH, Conditions, Results, Row
from tests.benchmarks.session_days import QueryDays, spark_session
from tests.benchmarks.tpcds import TPCDS

SUITES = {suite.name: suite for suite in (TPCH, TPCDS)}
MEMORY = "8g"
"""Of the driver, in which local executors live: Q4 as its own text does not get by with 4 GB."""

LIMIT_S = 900
"""A query whose day and both batches take longer is given up."""
APPLICATIONS, SESSION, SAIL = "applications", "session", "sail"
"""Where days run: each run in an application of its own, all in one Spark session, all in Sail."""
WHERE = (APPLICATIONS, SESSION, SAIL)

Execute = Callable[[str], DayAccount]
"""Executes the day of a query and both batches. Raises ForerunError for a day that did not end."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the command is: what it set out to do, and when it began."""

    queries: tuple[str, ...]
    started: float

    def line(self, query: str, now: float) -> str:
        """What is under way and how long it will all take, going by the queries that are done."""
        done = self.queries.index(query)
        elapsed = timedelta(seconds=round(now - self.started))
        text = f"{query}: {done + 1} of {len(self.queries)}, {elapsed} elapsed"
        if not done:
            return text
        left = (now - self.started) / done * (len(self.queries) - done)
        return f"{text}, end expected at {datetime.fromtimestamp(now + left):%H:%M}"


def conditions_of(
    suite: str,
    scale: float,
    master: str,
    arrivals: Arrivals = THREE_RUNS,
    memory: str = MEMORY,
) -> Conditions:
    """The conditions of what is measured now."""
    return Conditions(
        suite=suite,
        scale=f"{scale:g}",
        master=master,
        memory=memory,
        points=str(arrivals),
        code=results.code_version(),
    )


@contextmanager
def executing(where: str, days: Days, master: str, memory: str) -> Iterator[Execute]:
    """What executes the days of a suite, for the block. Where each run is an application, what is
    kept and the ledger of a query's newest day stay: ``forerun calibrate`` reads them."""
    if where == APPLICATIONS:
        texts, stores = days.suite.texts(), stores_of(days.folder)

        def execute(query: str) -> DayAccount:
            store = stores / query
            shutil.rmtree(store, ignore_errors=True)
            return days.run(query, texts[query], master, memory, own_batch=True, store=str(store))

        yield execute
        return
    work = days.folder.with_name(f"{days.folder.name}-in-{where}")
    session = spark_session(master, memory) if where == SESSION else open_runner(SAIL, work, "")
    with session as runner:
        yield lambda query: QueryDays(days, query, runner, work).warm_day("auto")


@contextmanager
def at_most(seconds: float, give_up: Callable[[], None]) -> Iterator[None]:
    """Give the block so many seconds. After them, ``give_up`` is called and the command starts
    itself again, since a session in this process cannot be stopped otherwise."""

    def end() -> None:
        give_up()
        say(f"not done in {seconds:g} s: going on with the next one")
        for child in psutil.Process().children(recursive=True):
            child.kill()
        given = [one for one in sys.orig_argv[1:] if one != "--again"]
        os.execv(sys.executable, [sys.executable, *given])

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def stores_of(tables: Path) -> Path:
    """The folder with a store for each query whose runs are applications over these tables."""
    return tables.with_name(f"{tables.name}-stores")


def measure(
    kept: Results, conditions: Conditions, queries: Sequence[str], where: str = APPLICATIONS
) -> None:
    """Execute the days of these queries and write down each when it is over."""
    days = Days.of(SUITES[conditions.suite], float(conditions.scale))
    progress = Progress(tuple(queries), time.time())
    master = conditions.master.partition(",")[0]
    with executing(where, days, master, conditions.memory) as execute:
        for query in queries:
            say(progress.line(query, time.time()))
            too_long = results.failed(
                conditions, now(), query, f"not done in {LIMIT_S} s", run=results.TOO_LONG
            )
            with at_most(LIMIT_S, lambda rows=too_long: kept.put(rows)):
                day = keep(kept, conditions, query, lambda query=query: execute(query))
            if day is not None:
                kept.put_account(query, day)
                say(_told(*days_of(results.rows_of(conditions, "", query, day))))


def now() -> str:
    """The instant as rows have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def keep(
    kept: Results,
    conditions: Conditions,
    query: str,
    execute: Callable[[], DayAccount],
    method: str = "auto",
) -> DayAccount | None:
    """Execute a query's day and keep its rows; where it does not end, or the method does not apply,
    keep why, and return None."""
    at = now()
    try:
        day = execute()
    except ForerunError as error:
        how = results.REFUSED if isinstance(error, MethodError) else results.FAILED
        say(f"{query} {method} {how.upper()}: {error}")
        kept.put(results.failed(conditions, at, query, str(error), method, how))
        return None
    kept.put(results.rows_of(conditions, at, query, day, method))
    return day


def _told(day: Day) -> str:
    lost = day.decided != BATCH and max(day.ratio(executor), day.ratio(process)) > 1
    above = " ABOVE BATCH" if lost else ""
    gaps = f" (not covered: {day.batch.not_covered})" if day.batch.not_covered else ""
    equal = "" if day.batch.equal else f" NOT EQUAL{gaps}: {day.batch.error}"
    return (
        f"{day.query}: {day.decided}, {day.ratio(executor):.3f} of batch by executors, "
        f"{day.ratio(process):.3f} by processes, final {day.final_ratio(executor):.3f}, "
        f"own batch {day.own_ratio(executor):.3f}{above}{equal}"
    )


def publish(
    conditions: Conditions, rows: Sequence[Row], queries: Sequence[str], where: str = APPLICATIONS
) -> None:
    """Write the section of the page, the plot and the rows themselves."""
    suite, days = SUITES[conditions.suite], days_of(rows)
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    folder, name = PAGE.parent, name_of(suite.name, where)
    results.write_csv(folder / f"{name}.csv", rows)
    bars = [Bars(d.query, d.ratio(executor), d.ratio(process), d.own_ratio(executor)) for d in days]
    title = f"{suite.title}, scale {conditions.scale}: weighted CPU of days over batch"
    (folder / f"{name}.svg").write_text(svg(title, bars), encoding="utf-8")
    found = None
    if where == APPLICATIONS:
        found = fitted(stores_of(home_folder() / "bench" / f"{suite.name}-{conditions.scale}"))
    prices = list(lines(found)) if found else []
    write_section(f"bench-{name}", section(name, conditions, rows, queries, machine, prices))
    say(f"wrote {PAGE.relative_to(ROOT)}, {name}.svg and {name}.csv beside it")


def name_of(suite: str, where: str) -> str:
    """What the files and the section of a suite that ran there are called."""
    return suite if where == APPLICATIONS else f"{suite}-{where}"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument(
        "--in",
        dest="where",
        choices=WHERE,
        default=APPLICATIONS,
        help="each run an application (the default), or all in one session of Spark or of Sail",
    )


def main(given: argparse.Namespace) -> int:
    suite, name = SUITES[given.suite], name_of(given.suite, given.where)
    master = {SESSION: f"{given.master}, one session", SAIL: "Sail"}.get(given.where, given.master)
    conditions = conditions_of(suite.name, given.scale, master)
    kept = Results(given.csv or home_folder() / "bench" / f"{name}-{given.scale:g}.csv")
    queries = list(suite.texts())
    asked = given.only or queries
    with kept.alone():
        wanted = asked if given.again else kept.missing(conditions, asked)
        say(f"{len(wanted)} queries to run, {len(asked) - len(wanted)} have figures in {kept.path}")
        measure(kept, conditions, wanted, given.where)
        rows, missing = kept.of(conditions), kept.missing(conditions, queries)
    if given.page or not missing:
        publish(conditions, rows, queries, given.where)
    else:
        say(f"no page: {len(missing)} of {len(queries)} have no figures: {', '.join(missing)}")
    return int(bool(missing) or not all(row.is_right for row in rows))
