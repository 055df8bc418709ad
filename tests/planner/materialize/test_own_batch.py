"""Where no early work pays, ``auto`` hands out one run in stages of our own if that is clearly
cheaper than the user's text; early work has to be clearly cheaper than that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.engines import ENGINES
from forerun.planner import api
from forerun.planner.algebra.types import DataType
from forerun.planner.contract.codec import decode_plan, encode_plan
from forerun.planner.contract.plan_v1 import Plan, SourceInput
from forerun.planner.cost.constants import CLEAREST
from forerun.planner.cost.prices import SPARK
from forerun.planner.explain import methods, tree
from forerun.planner.request import (
    ColumnStats,
    Committed,
    PlanRequest,
    Problem,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from tests.planner.sql.tpch import SOURCES

ROWS = {"orders": 15e6, "lineitem": 60e6, "customer": 1.5e6, "part": 2e6, "partsupp": 8e6}
GROWING = ("orders", "lineitem", "customer", "partsupp")
REWRITTEN = ("q17", "q18")
"""Averages of the parts that are asked for only; few orders before their lines."""
AS_DEAR = ("q06", "q14")


def request_of(query: str, early: float = 1.0, **changes: object) -> PlanRequest:
    """A day of three runs; by default early work costs what it costs at night."""
    sources = tuple(
        replace(s, changing=s.name in GROWING, rows=int(ROWS.get(s.name, 10_000))) for s in SOURCES
    )
    points = tuple(
        TimePoint(weight=weight, arrived=arrived)
        for weight, arrived in ((early, 0.58), (early, 0.79), (1.0, 1.0))
    )
    text = (Path(__file__).parents[2] / "tpch" / f"{query}.sql").read_text()
    asked = PlanRequest(report="r", sql=text, sources=sources, points=points)
    return replace(asked, **changes)


@pytest.mark.parametrize("query", REWRITTEN)
def test_auto_is_one_run_in_stages_of_our_own_where_that_is_clearly_cheaper(query: str) -> None:
    asked = request_of(query)
    found = api.plan(asked)
    plan = found.plan
    assert plan.method == found.decided == "own-batch"
    assert [run.opened for run in plan.runs] == [False, False, True]
    assert plan.families == ()
    (stage,) = plan.runs[-1].stages
    assert stage.sql != asked.sql
    assert all(isinstance(one, SourceInput) and one.version == "snapshot" for one in stage.inputs)
    assert plan.estimated_cost < CLEAREST * plan.batch_cost
    assert decode_plan(encode_plan(plan)) == plan
    assert "own batch, one run at the end in stages of our own" in tree.render(found)
    assert "of the text as it was written; worth it below" in tree.render(found)


@pytest.mark.parametrize("query", AS_DEAR)
def test_it_is_the_users_text_where_rewriting_saves_little(query: str) -> None:
    found = api.plan(request_of(query))
    assert found.plan.method == found.decided == "batch"
    assert found.plan.runs[-1].stages[0].sql == found.request.sql.strip().rstrip(";").rstrip()
    (own,) = [one for one in found.decision.rejected if one.kind == "own-batch"]
    assert own.limit <= own.total
    assert "own batch\n" in methods.why_not(found, ())


def test_the_last_run_of_a_day_is_written_by_us_too_unless_the_day_has_begun_early() -> None:
    last = request_of("q18", current=3)
    assert api.plan(last).plan.method == "own-batch"
    begun = replace(last, committed=(Committed(index=1, families=()),))
    assert api.plan(begun).plan.method == "batch"


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "batch"},
        {"batch_because": "on the last 3 days it cost more"},
        {"settings": Settings(own_batch="never")},
    ],
)
def test_what_is_the_users_text_whatever_it_costs(changes: dict[str, object]) -> None:
    assert api.plan(request_of("q18", **changes)).plan.method == "batch"


def test_a_text_with_hints_is_run_as_it_is() -> None:
    asked = request_of("q18")
    hinted = replace(asked, sql=asked.sql.replace("select", "select /*+ BROADCAST(customer) */", 1))
    assert api.plan(hinted).plan.method == "batch"


def test_early_results_are_the_users_text_or_early_work() -> None:
    asked = request_of("q18", problem=Problem(results_at=(1, 2)))
    decision = api.plan(asked).decision
    assert decision.late.is_text
    assert decision.late.opened == (1, 2, 3)


def test_a_method_that_is_asked_for_by_name_falls_back_on_the_users_text() -> None:
    found = api.plan(request_of("q18", method="progressive"))
    assert found.decision.late.is_text


def test_nothing_is_kept_so_a_state_budget_of_nothing_does_not_matter() -> None:
    found = api.plan(request_of("q18", settings=Settings(state_budget=0)))
    assert found.plan.method == "own-batch"


GROUPED = "(SELECT p_partkey, max(p_size) AS p_size FROM part GROUP BY p_partkey)"


LARGE = "(SELECT ps_partkey AS p_partkey, ps_availqty AS p_size FROM partsupp)"


@pytest.mark.parametrize(("side", "first"), [(LARGE, False), ("part", True), (GROUPED, True)])
def test_only_a_side_that_is_computed_first_is_priced_as_broadcast(side: str, first: bool) -> None:
    """Of tables as they lie Spark tells the size by itself, and sends neither of these. A run sends
    the one that fits in memory."""
    sql = f"SELECT l_orderkey, p_size FROM lineitem JOIN {side} p ON p_partkey = l_partkey"

    def planned(*, small_sides: bool) -> Plan:
        settings = Settings(own_batch="always", small_sides=small_sides)
        asked = request_of("q01", settings=settings, method="batch")
        return api.plan(replace(asked, sql=sql)).plan

    with_them, without = planned(small_sides=True), planned(small_sides=False)
    (stage,) = with_them.runs[-1].stages
    assert bool(stage.small_sides) == first
    assert (with_them.estimated_cost < 0.9 * without.estimated_cost) == first
    assert with_them.estimated_cost <= without.estimated_cost


RETURNED = """SELECT l_shipmode, count(*) AS sales, sum(r_cost) AS cost FROM lineitem
LEFT JOIN returns ON l_orderkey = r_orderkey AND l_linenumber = r_linenumber GROUP BY l_shipmode"""


def returned(orders: int) -> Plan:
    """Lines LEFT JOIN a quarter as many returns, where orders have numbers up to this one."""

    def source(name: str, rows: int, **columns: tuple[str, str]) -> Source:
        return Source(
            name=name,
            columns=tuple(SourceColumn(name=n, type=DataType(t)) for n, (t, _) in columns.items()),
            rows=rows,
            bytes=20 * rows,
            changing=True,
            stats=tuple(
                (n, ColumnStats(minimum="1", maximum=most)) for n, (_, most) in columns.items()
            ),
        )

    key, line = ("BIGINT", str(orders)), ("INT", "7")
    lines = source(
        "lineitem", 6_000_000, l_orderkey=key, l_linenumber=line, l_shipmode=("STRING", "TRUCK")
    )
    returns = source(
        "returns", 1_500_000, r_orderkey=key, r_linenumber=line, r_cost=("BIGINT", "100")
    )
    asked = PlanRequest(
        report="r", sql=RETURNED, sources=(lines, returns), points=(TimePoint(weight=1.0),)
    )
    return api.plan(asked).plan


def test_a_table_is_sent_as_it_lies_and_looked_up_by_a_key_in_one_long() -> None:
    plan = returned(6_000_000)
    assert plan.method == "own-batch"
    (stage,) = plan.runs[-1].stages
    (side,) = stage.small_sides
    assert side.rows == 1_500_000
    assert "CAST(`lineitem`.`l_orderkey` AS INT) = CAST(`__side_1`.`c0` AS INT)" in stage.sql
    assert decode_plan(encode_plan(plan)) == plan


def test_a_key_that_is_too_wide_for_a_long_is_not_cast() -> None:
    """A line number takes one byte, and an order number all eight."""
    (stage,) = returned(2**31).runs[-1].stages
    assert stage.small_sides
    assert "AS INT" not in stage.sql


def test_early_work_has_to_be_clearly_cheaper_than_own_batch() -> None:
    """Q18's early work is clearly below the user's text here, and not below own batch."""
    asked = request_of("q18", 0.25)
    text = api.plan(replace(asked, settings=Settings(own_batch="never")))
    assert text.plan.method == "incremental"
    found = api.plan(asked)
    assert found.plan.method == "own-batch"
    own = found.decision.late
    assert CLEAREST * own.total < text.plan.estimated_cost < own.total
    assert "no early work: at best (runs 2, 3)" in tree.render(found)


def test_what_the_normal_form_relies_on_is_verified() -> None:
    """Q16's NOT IN is an anti join where both sides are declared NOT NULL."""
    always = Settings(own_batch="always")
    asked = request_of("q16", settings=always)
    keys = {"ps_suppkey", "s_suppkey"}
    declared = tuple(
        replace(s, columns=tuple(replace(c, nullable=c.name not in keys) for c in s.columns))
        for s in asked.sources
    )
    found = api.plan(replace(asked, sources=declared))
    assert found.plan.method == "own-batch"
    relied = {t.name: t.relies_not_null for t in found.plan.sources if t.relies_not_null}
    assert relied == {"partsupp": ("ps_suppkey",), "supplier": ("s_suppkey",)}
    text = api.plan(replace(asked, sources=declared, method="batch", settings=Settings()))
    assert not any(table.relies_not_null for table in text.plan.sources)


def test_an_engine_whose_prices_do_not_tell_has_no_own_batch_by_cost() -> None:
    prices = replace(SPARK, own_batch=False)
    assert api.plan(request_of("q18", settings=Settings(prices=prices))).plan.method == "batch"
    always = Settings(prices=prices, own_batch="always")
    assert api.plan(request_of("q18", settings=always)).plan.method == "own-batch"
    assert not ENGINES["sail"].prices.own_batch
