"""``make bench-rolling``: a report over the last 28 days, day after day, against computing it anew.

The tables that grow have a folder for each of 31 days, each with an equal part of their rows. The
first day of a row is computed anew and leaves state; each of the next three inherits it, and takes
the oldest day's rows back. All in one Spark session, so figures are of the work: CPU seconds of
executors, beside those of the user's own text over the same 28 folders, run just before. Each
result is compared with that of the text.

    python -m tests.benchmarks rolling --scale 10
    python -m tests.benchmarks rolling --scale 0.1 --only q01 --no-page
    python -m tests.benchmarks rolling --scale 10 --tables delta --only q01,extremes --no-page
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from forerun.include.days.handle import Day
from forerun.include.machine.jvm import home_folder
from forerun.include.reports.spec import RunPolicy, RunTime, Trailing
from forerun.include.runs.prepare import open_generation, prepare_run, publish_result
from forerun.include.state.inherited import read_inherited
from forerun.include.state.records import RunCommit
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from forerun.planner.request import Settings, TimePoint
from forerun.simulation.accounts import last_commit
from forerun.simulation.day import plain_query, read_simulated
from forerun.simulation.deliveries import Splitter, parse_correlation
from forerun.simulation.plain import PlainQuery
from forerun.simulation.running import Runner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import Arrivals
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, OneAtATime, say, table
from tests.benchmarks.executed import conditions
from tests.benchmarks.methods_executed import MEMORY
from tests.benchmarks.page import ROOT
from tests.benchmarks.session_days import spark_session
from tests.benchmarks.suites import TPCDS, TPCH, Suite

RANGE, ROW = 28, 4
"""Days of the range, and days in a row that are computed, the first one anew."""
FIRST = dt.date(2026, 3, 1)
"""The first of the folders' days."""
TEXTS = {
    "extremes": "SELECT l_suppkey, max(l_extendedprice) AS most, min(l_extendedprice) AS least, "
    "count(*) AS n FROM lineitem GROUP BY l_suppkey",
    "latest": "SELECT l_shipmode, l_shipinstruct, max(l_receiptdate) AS latest, "
    "sum(l_quantity) AS quantity FROM lineitem GROUP BY l_shipmode, l_shipinstruct",
    "doubles": "SELECT n_name, avg(CAST(l_extendedprice AS DOUBLE)) AS price FROM lineitem "
    "JOIN supplier ON l_suppkey = s_suppkey JOIN nation ON s_nationkey = n_nationkey "
    "GROUP BY n_name",
    "sketch": "SELECT l_shipmode, hll_sketch_estimate(hll_sketch_agg(l_partkey)) AS parts "
    "FROM lineitem GROUP BY l_shipmode",
}
"""Texts with functions that take no row back, over TPC-H's tables."""
QUERIES = (
    (
        replace(
            TPCH, name="panes", changing=frozenset({"orders", "lineitem"}), texts=lambda: TEXTS
        ),
        tuple(TEXTS),
    ),
    (
        replace(TPCH, changing=frozenset({"orders", "lineitem"})),
        ("q01", "q03", "q05", "q06", "q10", "q12", "q14", "q19"),
    ),
    (
        replace(TPCDS, changing=frozenset({"store_sales"}), together=()),
        ("q3", "q7", "q42", "q43", "q52", "q55", "q96"),
    ),
)


@dataclass(frozen=True, slots=True)
class RollingDay:
    """What one day took, in CPU seconds of executors, and the bytes that its final run has kept.
    ``in_a_row``: how many days have inherited up to it."""

    in_a_row: int
    took_s: float
    batch_s: float
    kept: int


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tables",
        choices=("folders", "delta"),
        default="folders",
        help="what the days lie in: a folder each (the default), or one Delta table that is not "
        "partitioned, with a commit for each day; without the page",
    )


def folders_of(suite: Suite, scale: float) -> Path:
    """Split the growing tables into the folders of days, once."""
    folder = suite.generate(scale)
    incoming = folder.with_name(f"{folder.name}-by-day")
    if (incoming / "done").exists():
        return incoming
    shutil.rmtree(incoming, ignore_errors=True)
    count = RANGE + ROW - 1
    shares = tuple((place + 1) / count for place in range(count))
    together = tuple(map(parse_correlation, suite.together))
    tables = find_tables(folder)
    for name in tables.keys() - suite.changing:
        (incoming / name).mkdir(parents=True)
        for file in tables[name].files:
            (incoming / name / file.name).symlink_to(file)
    splitter = Splitter(tables, shares, 1, together)
    for name in sorted(suite.changing):
        say(f"splitting {name}")
        splitter.write(name, incoming / "split")
        for place in range(count):
            day = incoming / name / (FIRST + dt.timedelta(days=place)).isoformat()
            day.mkdir(parents=True)
            (incoming / "split" / f"run-{place + 1}.parquet").rename(day / "rows.parquet")
    (incoming / "done").touch()
    return incoming


def delta_of(incoming: Path, name: str) -> Path:
    """Write the days of a table as commits of a Delta table, once, with the column ``day``."""
    folder = incoming / f"{name}-delta"
    if not folder.exists():
        say(f"writing {name} as a Delta table")
        unfinished = folder.with_name(f"{name}-delta-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for each in sorted((incoming / name).iterdir()):
            rows = pq.read_table(each / "rows.parquet")
            day = pa.repeat(pa.scalar(dt.date.fromisoformat(each.name)), rows.num_rows)
            write_deltalake(unfinished, rows.append_column("day", day), mode="append")
        unfinished.rename(folder)
    return folder


class Executing:
    """Executes the days of queries in one session. ``tables``: what the days lie in."""

    def __init__(self, scale: float, master: str, tables: str) -> None:
        self._scale, self._tables = scale, tables
        self._sessions = OneAtATime[str, Runner](lambda _all: spark_session(master, MEMORY))

    def figures(self, suite: Suite, query: str, _found: Found) -> Figures:
        """Execute a row of days of a query."""
        runner = self._sessions.of("")
        work = home_folder() / "bench" / f"rolling-{suite.name}-{self._scale:g}"
        shutil.rmtree(work, ignore_errors=True)
        plain = _plain(suite, query, self._scale, work, runner)
        if self._tables == "delta":
            plain = _over_delta(plain, folders_of(suite, self._scale), suite.changing)
        first = FIRST + dt.timedelta(days=RANGE - 1)
        replace(plain, day=first).run()  # its code is compiled
        days = []
        for place in range(ROW):
            at = replace(plain, day=first + dt.timedelta(days=place))
            plain_at, _ = at.run()
            batch = last_commit(open_store(at.spec.store), plain_at)
            day, commit = _computed(at, runner)
            verdict = at.compare(day.at, plain_at)
            if not verdict.equal:
                raise AssertionError(f"{query}, {day.at.day}: {verdict}")
            days.append(
                RollingDay(
                    read_inherited(day.store, day.at).days,
                    commit.metrics.executor_cpu_s,
                    batch.metrics.executor_cpu_s,
                    sum(artifact.bytes for artifact in commit.artifacts),
                )
            )
        shutil.rmtree(work)
        return {"days": [asdict(day) for day in days]}


def _computed(plain: PlainQuery, runner: Runner) -> tuple[Day, RunCommit]:
    spec, now = plain.spec, plain.spec.points(plain.day)[-1]
    day = open_generation(spec.store, spec, plain.day, trigger="bench", now=now)
    settings = Settings(prices=runner.engine.prices)
    prepared = prepare_run(day, spec.runs, now=now, settings=settings)
    runner.run([prepared.plan_uri], "day", tiny=prepared.tiny)
    commit = day.commit(spec.runs)
    if commit is None:
        raise AssertionError(f"{spec.name} has not committed {plain.day}")
    publish_result(day, now=now)
    return day, commit


def _plain(suite: Suite, query: str, scale: float, work: Path, runner: Runner) -> PlainQuery:
    """The report of a query over the folders, whose days inherit."""
    folder = suite.generate(scale)
    incoming = folders_of(suite, scale)
    what = Simulation(
        name=query, sql=suite.texts()[query], tables=find_tables(folder),
        changing=suite.changing, points=(TimePoint(weight=1.0),), correlations=(), seed=1,
        work=work, store=str(work / "store"),
    )  # fmt: skip
    plain = plain_query(what, tuple(sorted(read_simulated(what).named)), runner)
    trailing = Trailing(days_back=RANGE)
    sources = tuple(
        replace(one, path=f"{incoming}/{one.name}/{{ds}}", over=trailing)
        if one.name in suite.changing
        else replace(one, path=f"{incoming}/{one.name}")
        for one in plain.spec.sources
    )
    policy = RunPolicy(runs=(RunTime(at="24:00"),), inherit_days=RANGE)
    return replace(plain, spec=replace(plain.spec, sources=sources, policy=policy))


def _over_delta(plain: PlainQuery, incoming: Path, changing: frozenset[str]) -> PlainQuery:
    """The same report, whose growing sources are tables that tell days by a column."""
    day = ColumnSpec(name="day", type="DATE")
    sources = tuple(
        replace(
            one, path=str(delta_of(incoming, one.name)), format="delta", day_by="day",
            columns=(*one.columns, day),
        )
        if one.name in changing
        else one
        for one in plain.spec.sources
    )  # fmt: skip
    return replace(plain, spec=replace(plain.spec, sources=sources))


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query."""
    executing = Executing(given.scale, given.master, given.tables)
    for suite, queries in QUERIES:
        under = conditions(
            suite, given.scale, given.master, MEMORY, Arrivals(f"by day in {given.tables}", ())
        )
        for query in queries:
            measure = partial(executing.figures, suite, query)
            yield Cell(name=(suite.name, query), under=under, measure=measure)


# -- the page --------------------------------------------------------------------------------------


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield what the first day took, and the mean of those after it, over batch."""
    columns = (
        "query",
        "batch",
        "first day",
        "over batch",
        "days after",
        "over batch",
        "kept a day",
    )
    yield from table(columns, map(_row, found.items()))


def _row(one: tuple[tuple[str, ...], Figures]) -> tuple[str, ...]:
    name, figures = one
    first, *after = (RollingDay(**day) for day in figures["days"])
    batch = sum(day.batch_s for day in (first, *after)) / ROW
    rest = sum(day.took_s for day in after) / len(after)
    inherits = all(day.in_a_row for day in after)
    return (
        " ".join(name),
        f"{batch:.2f}",
        f"{first.took_s:.2f}",
        f"{first.took_s / batch:.2f}",
        f"{rest:.2f}" + ("" if inherits else " (anew)"),
        f"{rest / batch:.2f}",
        f"{max(day.kept for day in after) / 1e6:,.1f} MB",
    )


ABOUT = f"""\
CPU seconds of executors in one session. *Batch*: the report's text over the {RANGE} folders, the
mean of {ROW} days. *First day*: computed anew, with the state that it leaves. *Days after*: the
mean of the next {ROW - 1} days, each with what it keeps for the day after. Each result was equal to
that of batch. Where nothing is inherited, keeping would not have paid by the estimates."""

BENCHMARK = Benchmark(
    cells=cells,
    lines=lines,
    about=ABOUT,
    section=lambda given: "bench-rolling" if given.tables == "folders" else "",
    page=ROOT / "docs" / "lab" / "benchmarks.md",
)
