"""``python -m tests.benchmarks checks``: expectations on all rows of a day, by run.

A day of TPC-H's ``lineitem`` in two runs, 79 % of the rows first, or at once. Compared is Great
Expectations over all rows with what the runs do: they evaluate stand-ins, and the final one goes on
from what the early one has found. Figures are CPU seconds of the executors.

    python -m tests.benchmarks checks --scale 10
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from forerun.include.engines import ENGINES
from forerun.include.reports.expectations import Expectation, expect
from forerun.planner.errors import ForerunError
from forerun.spark_jobs.checks.evaluation import evaluate
from forerun.spark_jobs.checks.stand_ins import About, CheckedRows, evaluate_all
from forerun.spark_jobs.engine import Engine, start_engine
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.suites import TPCH

SUITES: dict[str, tuple[Expectation, ...]] = {
    "unique key of two columns": (
        expect("expect_compound_columns_to_be_unique", column_list=["l_orderkey", "l_linenumber"]),
    ),
    "sum, bounds and distinct values": (
        expect("expect_column_sum_to_be_between", column="l_quantity", min_value=0),
        expect("expect_column_max_to_be_between", column="l_shipdate", min_value="1992-01-01"),
        expect(
            "expect_column_distinct_values_to_be_in_set",
            column="l_returnflag",
            value_set=["A", "N", "R"],
        ),
    ),
}
ARRIVED = 0.79


def measured(scale: float, master: str, suite: Sequence[Expectation], _found: Found) -> Figures:
    """CPU seconds of the executors for a suite: over all rows, at once, early and last."""
    engine = start_engine(ENGINES["spark"], master=master, name="checks")
    session = engine.session
    rows = session.read.parquet(str(TPCH.generate(scale) / "lineitem.parquet"))
    last = int(rows.selectExpr("max(l_orderkey)").collect()[0][0])
    count = rows.count()
    came = rows.where(f"l_orderkey > {int(last * ARRIVED)}")
    earlier = rows.where(f"l_orderkey <= {int(last * ARRIVED)}")
    types = {one.name: one.dataType.simpleString().upper() for one in rows.schema.fields}
    whole = CheckedRows(engine, rows, count, types)
    with engine.working_on("imports"):
        evaluate(rows.limit(1), suite)
    with engine.working_on("all rows"):
        plain = evaluate(rows, suite)
    with engine.working_on("at once"):
        at_once, _ = evaluate_all(whole, suite)
    with engine.working_on("early"):
        _, figures = evaluate_all(replace(whole, frame=earlier, for_later=True), suite)
    known = {About(one.of, one.columns): one for one in figures}
    with engine.working_on("last"):
        final, _ = evaluate_all(replace(whole, came=came, earlier=earlier, figures=known), suite)
    if not plain == at_once == final:
        raise ForerunError("the findings differ", hint=f"{plain} and {at_once} and {final}")
    return _cpu_s(engine)


def _cpu_s(engine: Engine) -> Figures:
    used = engine.used()
    engine.stop()
    return {name: used.stage(name).cpu_s for name in ("all rows", "at once", "early", "last")}


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield each suite of expectations."""
    for name, suite in SUITES.items():
        yield Cell(
            name=(name,),
            under=f"lineitem at scale {given.scale:g}",
            measure=partial(measured, given.scale, given.master, suite),
        )


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield a row for each suite."""
    yield f"`lineitem` of TPC-H at scale {given.scale:g}, CPU seconds of the executors:"
    yield ""
    heads = ("", "Great Expectations over all rows", "at once", f"early, {ARRIVED:.0%}", "last")
    yield from table(
        heads,
        (
            (name[0], *(f"{one[stage]:.1f}" for stage in ("all rows", "at once", "early", "last")))
            for name, one in found.items()
        ),
    )


BENCHMARK = Benchmark(cells=cells, lines=lines, section=lambda _given: "bench-checks")
