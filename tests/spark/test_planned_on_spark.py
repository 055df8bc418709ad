"""What Spark's optimizer makes of the stages that we print: every stage of whole days is analyzed
and optimized by Spark over empty tables. Nothing is executed, so a query takes milliseconds; a text
that Spark cannot take would fail its run on every retry.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import RUN_COLUMN, WEIGHT_COLUMN, Plan
from forerun.planner.errors import ForerunError
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.spark_jobs.engine import ddl, quoted
from tests.benchmarks import tpcds
from tests.benchmarks.suites import TPCDS
from tests.properties.generate import random_case
from tests.spark.growing_queries import CUSTOMER, NATION, ORDERS, QUERIES

pytestmark = pytest.mark.spark
TPCH = sorted((Path(__file__).parents[1] / "tpch").glob("q*.sql"))
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.2, 0.4), (0.3, 0.8), (1.0, 1.0)))
GENERATED = 400


def day_of(sql: str, sources: Sequence[Source], *, early: bool = True) -> Plan:
    """A day of three runs in which whatever has a delta rule runs early."""
    settings = Settings(temporal="early" if early else "cost", tries=2, compare=0)
    return plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=tuple(sources),
            points=POINTS,
            method="progressive",
            settings=settings,
        )
    ).plan


class Optimizer:
    """Empty tables in a session of Spark, of which nothing is known, so that no part of a query is
    optimized away."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._made: set[str] = set()

    def table(self, name: str, columns: str) -> None:
        if name in self._made:
            return
        self._session.sql(f"CREATE TABLE {quoted(name)} ({columns}) USING parquet")
        self._made.add(name)

    def drop(self, name: str) -> None:
        if name in self._made:
            self._session.sql(f"DROP TABLE {quoted(name)}")
            self._made.remove(name)

    def clear(self) -> None:
        for name in tuple(self._made):
            self.drop(name)

    def refused(self, sql: str) -> str:
        """What Spark says against a text; nothing if it can plan it."""
        try:
            self._session.sql(sql)._jdf.queryExecution().executedPlan()
        except Exception as error:  # noqa: BLE001 - whatever Spark refuses is what is looked for
            return str(error).partition("\n\tat ")[0][:600]
        return ""

    def check_day(self, found: Plan, sources: Sequence[Source]) -> list[str]:
        """The stages of a day that Spark cannot plan, with what it says."""
        for source in sources:
            columns = ", ".join(f"{quoted(c.name)} {c.type.sql}" for c in source.columns)
            weight = f", {WEIGHT_COLUMN} BIGINT" if source.change == "changelog" else ""
            self.table(source.name, columns)
            self.table(f"{source.name}__delta", columns + weight)
        for family in found.families:
            self.table(family.id, f"{ddl(family.columns)}, {RUN_COLUMN} INT")
        wrong = []
        for run in found.runs:
            for stage in run.stages:
                for side in stage.small_sides:  # each stage has its own, of the same names
                    self.drop(side.view)
                    self.table(side.view, ddl(side.columns))
                if said := self.refused(stage.sql):
                    wrong.append(f"run {run.index}, {stage.title}: {said}\n{stage.sql}")
        return wrong


@pytest.fixture
def optimizer(spark):
    found = Optimizer(spark.session)
    yield found
    found.clear()


def test_the_optimizer_says_what_it_cannot_take(optimizer):
    """An alias that repeats its column's name beside a window function: Spark's own fault, for
    which names of columns are printed bare. Where it is gone, they may be printed as they like."""
    optimizer.table("a", "x INT, y INT")
    union = "SELECT x AS x, y AS y FROM a UNION ALL SELECT x AS x, y AS y FROM a"
    arm = f"SELECT u.x AS x, u.y AS y FROM ({union}) u"
    text = (
        "SELECT t.x AS x FROM (SELECT v.x AS x, v.y AS y, row_number() OVER (PARTITION BY v.x "
        f"ORDER BY v.y) AS n FROM (SELECT x AS x, y AS y FROM a UNION ALL {arm}) v) t WHERE n < 3"
    )
    assert "RemoveRedundantAliases" in optimizer.refused(text)
    assert not optimizer.refused(text.replace("v.x AS x, v.y AS y", "v.x, v.y"))


@pytest.mark.parametrize("name", sorted(QUERIES))
@pytest.mark.parametrize("growing", ["orders", "customer", "orders customer", "all"])
def test_days_of_queries_with_windows_can_be_planned(optimizer, name, growing):
    grows = growing.split()
    sources = [
        dataclasses.replace(source, changing=growing == "all" or source.name in grows)
        for source in (ORDERS, CUSTOMER, NATION)
    ]
    assert not optimizer.check_day(day_of(QUERIES[name], sources), sources)


@pytest.mark.slow
@pytest.mark.parametrize("path", TPCH, ids=lambda path: path.stem)
def test_days_of_tpch_with_all_tables_growing_can_be_planned(optimizer, path):
    sources = tpch_sources()
    found = day_of(path.read_text().strip().rstrip(";"), sources)
    assert not optimizer.check_day(found, sources)


@pytest.mark.slow
@pytest.mark.parametrize("growing", ["facts", "all"])
@pytest.mark.parametrize("part", range(9))
def test_days_of_tpcds_can_be_planned(optimizer, part, growing):
    """All 135 texts, with the tables that grow in a shop's day and with all of them growing."""
    wrong, planned = [], 0
    sources = [
        dataclasses.replace(source, changing=source.changing or growing == "all")
        for source in TPCDS.sources(0.01)
    ]
    for name, text in sorted(tpcds.queries().items())[part::9]:
        try:
            found = day_of(text.strip().rstrip(";"), sources)
        except ForerunError:
            continue
        planned += 1
        wrong += [f"{name}: {one}" for one in optimizer.check_day(found, sources)]
    assert planned > 10
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(70_000, 70_000 + GENERATED, 50))
def test_generated_days_can_be_planned(optimizer, start):
    """Of the generator's queries, each with all of its tables growing."""
    wrong, planned = [], 0
    for seed in range(start, start + 50):
        case = random_case(seed, "")
        sources = [dataclasses.replace(source, changing=True) for source in case.sources]
        try:
            found = day_of(case.query.sql, sources)
        except ForerunError:
            continue
        optimizer.clear()
        refused_anyway = optimizer.check_day(dataclasses.replace(found, runs=()), sources)
        if refused_anyway or optimizer.refused(case.query.sql):
            continue
        planned += 1
        wrong += [f"seed {seed}: {one}" for one in optimizer.check_day(found, sources)]
    assert planned > 25
    assert not wrong, "\n\n".join(wrong)


def tpch_sources() -> list[Source]:
    """The tables of TPC-H, all growing, with as many rows as at scale 1."""
    decimal = "DECIMAL(12,2)"
    tables = {
        "lineitem": "l_orderkey BIGINT l_partkey BIGINT l_suppkey BIGINT l_linenumber INT "
        f"l_quantity {decimal} l_extendedprice {decimal} l_discount {decimal} l_tax {decimal} "
        "l_returnflag STRING l_linestatus STRING l_shipdate DATE l_commitdate DATE "
        "l_receiptdate DATE l_shipinstruct STRING l_shipmode STRING l_comment STRING",
        "orders": f"o_orderkey BIGINT o_custkey BIGINT o_orderstatus STRING o_totalprice {decimal} "
        "o_orderdate DATE o_orderpriority STRING o_clerk STRING o_shippriority INT "
        "o_comment STRING",
        "customer": "c_custkey BIGINT c_name STRING c_address STRING c_nationkey BIGINT c_phone "
        f"STRING c_acctbal {decimal} c_mktsegment STRING c_comment STRING",
        "part": "p_partkey BIGINT p_name STRING p_mfgr STRING p_brand STRING p_type STRING "
        f"p_size INT p_container STRING p_retailprice {decimal} p_comment STRING",
        "supplier": "s_suppkey BIGINT s_name STRING s_address STRING s_nationkey BIGINT s_phone "
        f"STRING s_acctbal {decimal} s_comment STRING",
        "partsupp": "ps_partkey BIGINT ps_suppkey BIGINT ps_availqty INT "
        f"ps_supplycost {decimal} ps_comment STRING",
        "nation": "n_nationkey BIGINT n_name STRING n_regionkey BIGINT n_comment STRING",
        "region": "r_regionkey BIGINT r_name STRING r_comment STRING",
    }
    rows = {"lineitem": 6_000_000, "orders": 1_500_000, "partsupp": 800_000, "part": 200_000}
    return [
        Source(
            name=name,
            columns=tuple(
                SourceColumn(name=one, type=parse_type(type_))
                for one, type_ in zip(words.split()[::2], words.split()[1::2], strict=True)
            ),
            changing=True,
            rows=rows.get(name, 10_000),
            bytes=100 * rows.get(name, 10_000),
        )
        for name, words in tables.items()
    ]
