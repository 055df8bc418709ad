"""Domains, views and batches that are aggregated first: chosen where they are cheaper, and there
alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.algebra.types import BIGINT, DOUBLE, INT, STRING, DataType, decimal
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract.plan_v1 import SourceInput
from forerun.planner.request import (
    PDW,
    ColumnStats,
    Method,
    PlanRequest,
    Problem,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
    ivm,
)
from tests.planner.chosen_rules import chosen_rules
from tests.planner.sql.tpch import SOURCES as TPCH
from tests.planner.starts import OPEN

QUERIES = Path(__file__).parents[3] / "tpch"
DOMAIN = ("StatesOfDomain", "PartnersOfDomain", "GroupsOfDomain")
ROWS = {
    "region": 5, "nation": 25, "supplier": 10**5, "customer": 1_500_000, "part": 2_000_000,
    "partsupp": 8_000_000, "orders": 15_000_000, "lineitem": 60_000_000,
}  # fmt: skip
KEYS = {
    "supplier": "s_suppkey", "customer": "c_custkey", "part": "p_partkey", "orders": "o_orderkey",
}  # fmt: skip
GROWING = ("orders", "lineitem", "customer", "partsupp")
SCALE_10 = tuple(
    replace(
        source,
        changing=source.name in GROWING,
        rows=ROWS[source.name],
        bytes=ROWS[source.name] * 100,
        keys=((KEYS[source.name],),) if source.name in KEYS else (),
    )
    for source in TPCH
)
BIG, SMALL = (0.58, 0.79, 1.0), (0.98, 0.99, 1.0)


def tpch(
    number: int,
    arrived: tuple[float, ...],
    *,
    method: Method = "hov",
    problem: Problem = PDW,
    off: tuple[str, ...] = (),
) -> PlanResult:
    points = tuple(
        TimePoint(weight=w, arrived=a) for w, a in zip((0.25, 0.3, 1.0), arrived, strict=True)
    )
    return plan(
        PlanRequest(
            report="r",
            sql=(QUERIES / f"q{number:02d}.sql").read_text(),
            sources=SCALE_10,
            points=points,
            method=method,
            problem=problem,
            settings=Settings(prices=OPEN, rules_off=off),
        )
    )


def last_run(result: PlanResult) -> int:
    return result.plan.runs[-1].estimated_cost


@pytest.mark.parametrize(("number", "at_most"), [(17, 0.6), (18, 0.95), (15, 0.95)])
def test_small_deltas_touch_only_the_groups_of_their_domain(number: int, at_most: float) -> None:
    """TPC-H Q17, Q18 and Q15, whose aggregates are joined with rows: late in the day a few of their
    groups change. With results at every run, so that there is something to change; in the order
    of the query, since in another one the groups of Q18 are joined late and there is no need, and
    over all groups of Q17, few of which are looked up."""
    off = ("JoinOrders", "MagicSet")
    with_domain = tpch(number, SMALL, problem=ivm(3), off=off)
    without = tpch(number, SMALL, problem=ivm(3), off=(*DOMAIN, *off))
    assert chosen_rules(with_domain)["StatesOfDomain"]
    assert last_run(with_domain) <= at_most * last_run(without)


@pytest.mark.parametrize("number", [17, 20])
def test_only_groups_that_are_looked_up_are_made(number: int) -> None:
    """Q17 and Q20 look up a few parts that a table which does not grow is filtered for."""
    restricted = tpch(number, BIG, method="im1")
    assert restricted.trace.found["MagicSet"]
    assert last_run(restricted) <= 0.7 * last_run(
        tpch(number, BIG, method="im1", off=("MagicSet",))
    )


@pytest.mark.parametrize("number", [20, 21])
def test_a_domain_that_is_dearer_is_left(number: int) -> None:
    """Q20 and Q21 ask for existence alone: their sides are kept and looked at once more."""
    found = tpch(number, SMALL)
    assert found.trace.found["PartnersOfDomain"]
    assert not any(chosen_rules(found)[name] for name in DOMAIN)
    assert last_run(found) <= last_run(tpch(number, SMALL, off=DOMAIN))


@pytest.mark.parametrize(
    ("number", "pieces"),
    [
        (11, {"partsupp", "ps_partkey"}),
        (15, {"l_suppkey"}),
        (22, {"customer", "orders"}),
    ],
)
def test_uncorrelated_aggregates_are_kept_piece_by_piece(number: int, pieces: set[str]) -> None:
    """Q11, Q15 and Q22 compare with an aggregate of all rows, which has no domain: both sides are
    kept by themselves, and compared in the last run (Distributed IVM, example 3.3). With reduced
    partners the estimate is lower if Q22's orders are not kept but read again for few customers."""
    found = tpch(number, SMALL, method="im1", off=("ReducedPartners",))
    assert tpch(number, SMALL, method="im1").plan.estimated_cost <= found.plan.estimated_cost
    assert found.plan.method == "incremental"
    titles = " | ".join(family.title for family in found.plan.families)
    assert all(piece in titles for piece in pieces), titles
    (final,) = [run for run in found.plan.runs if run.index == 3]
    whole = {
        given.source
        for stage in final.stages
        for given in stage.inputs
        if isinstance(given, SourceInput) and given.version == "snapshot"
    }
    assert whole.isdisjoint(GROWING), "the last run reads only what came of what grows"


def sums(kinds: float, *, method: Method = "hov", off: tuple[str, ...] = ()) -> PlanResult:
    """Sums of sales by the label of their kind, with so many kinds."""
    columns = (
        SourceColumn(name="kind", type=BIGINT),
        SourceColumn(name="x", type=decimal(12, 2)),
    )
    sales = Source(
        name="sales",
        columns=columns,
        changing=True,
        rows=5 * 10**7,
        bytes=10**9,
        stats=(("kind", ColumnStats(distinct=kinds)),),
    )
    names = Source(
        name="names",
        columns=(SourceColumn(name="kind", type=BIGINT), SourceColumn(name="label", type=STRING)),
        rows=int(kinds),
        bytes=int(kinds) * 40,
        keys=(("kind",),),
        stats=(
            ("kind", ColumnStats(distinct=kinds)),
            ("label", ColumnStats(distinct=kinds, width=30)),
        ),
    )
    sql = "SELECT n.label, sum(x) AS t FROM sales s JOIN names n ON s.kind = n.kind GROUP BY label"
    points = (TimePoint(weight=0.25, arrived=0.5), TimePoint(weight=1.0))
    settings = Settings(prices=OPEN, rules_off=off)
    return plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=(sales, names),
            points=points,
            method=method,
            settings=settings,
        )
    )


SUMMARY = """
SELECT cat, sum(CASE WHEN cost IS NULL THEN price ELSE -cost END) AS gross
FROM sales s LEFT JOIN returns r ON s.o_id = r.o_id GROUP BY cat
"""


def summary(
    method: Method,
    *,
    off: tuple[str, ...] = (),
    sql: str = SUMMARY,
    money: DataType = decimal(12, 2),  # noqa: B008 - a value
    most: str | None = None,
) -> PlanResult:
    """The paper's running example, of ten million orders with ten returns each."""
    orders = 10**7
    columns = {
        "cats": (("cat", STRING, 100), ("label", STRING, 10)),
        "kinds": (("cat", STRING, 100), ("kind", STRING, 10)),
        "sales": (("o_id", BIGINT, orders), ("cat", STRING, 100), ("price", money, 10**5)),
        "returns": (("o_id", BIGINT, orders), ("cost", money, 10**4)),
    }
    rows = {"sales": orders, "returns": 10 * orders, "cats": 100, "kinds": 100}
    sources = tuple(
        Source(
            name=name,
            columns=tuple(SourceColumn(name=n, type=type_) for n, type_, _ in given),
            changing=name in ("sales", "returns"),
            keys=() if name in ("sales", "returns") else (("cat",),),
            rows=rows[name],
            bytes=40 * rows[name],
            stats=tuple(
                (n, ColumnStats(distinct=distinct, minimum=most and "0", maximum=most))
                if type_ == money
                else (n, ColumnStats(distinct=distinct))
                for n, type_, distinct in given
            ),
        )
        for name, given in columns.items()
    )
    points = tuple(
        TimePoint(weight=w, arrived=a) for w, a in zip((0.25, 0.3, 1.0), (0.5, 0.8, 1), strict=True)
    )
    settings = Settings(prices=OPEN, rules_off=off)
    return plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=sources,
            points=points,
            method=method,
            settings=settings,
        )
    )


@pytest.mark.parametrize(
    ("method", "kind"), [("hov", "LEFT"), ("auto", "LEFT"), ("auto", "FULL"), ("ojv", "FULL")]
)
def test_returns_are_grouped_by_order_below_the_outer_join(method: Method, kind: str) -> None:
    """M of Tempura 4.2 (3): the returns of each order as states, kept run by run."""
    sql = SUMMARY.replace("LEFT", kind)
    found, without = summary(method, sql=sql), summary(method, off=("GroupedPartners",), sql=sql)
    assert chosen_rules(found)["GroupedPartners"]
    assert any("states of" in family.title and "o_id" in family.title
               for family in found.plan.families)  # fmt: skip
    assert found.plan.estimated_cost < 0.8 * without.plan.estimated_cost
    batch = summary("batch", sql=sql)
    assert found.plan.estimated_cost < 0.75 * batch.plan.estimated_cost


SUMS = "sum(price) AS p, sum(cost) AS c FROM sales s LEFT JOIN returns r ON s.o_id = r.o_id"
BY_HAND = """
sum(price * coalesce(m.n, 1)) AS p, sum(m.c) AS c FROM sales s LEFT JOIN (
    SELECT o_id, sum(cost) AS c, count(*) AS n FROM returns GROUP BY o_id
) m ON s.o_id = m.o_id
"""


@pytest.mark.parametrize("money", [INT, BIGINT, decimal(12, 2), decimal(18, 4), DOUBLE], ids=str)
def test_returns_are_grouped_by_order_whatever_money_is(money: DataType) -> None:
    """As a careful author would have written it."""
    found, by_hand = (
        summary("auto", sql=f"SELECT cat, {sums} GROUP BY cat", money=money)
        for sums in (SUMS, BY_HAND)
    )
    assert chosen_rules(found)["GroupedPartners"]
    assert found.plan.estimated_cost < 1.1 * by_hand.plan.estimated_cost


@pytest.mark.parametrize(("most", "is_wide"), [("100000", False), ("9000000000000", True)])
def test_sums_of_large_numbers_alone_are_decimals(most: str, is_wide: bool) -> None:
    """The footers say how large numbers are; a sum that may overflow is of DECIMALs."""
    found, by_hand = (
        summary("auto", sql=f"SELECT cat, {sums} GROUP BY cat", money=BIGINT, most=most)
        for sums in (SUMS, BY_HAND)
    )
    assert chosen_rules(found)["GroupedPartners"]
    texts = [stage.sql for run in found.plan.runs for stage in run.stages]
    assert any("DECIMAL" in text for text in texts) is is_wide
    if not is_wide:
        assert found.plan.estimated_cost < 1.05 * by_hand.plan.estimated_cost


@pytest.mark.parametrize("money", [INT, BIGINT], ids=str)
@pytest.mark.parametrize(("most", "is_grouped"), [("100000", True), ("2000000000000000000", False)])
def test_whole_numbers_are_negated_before_they_are_joined_where_they_are_small(
    money: DataType, most: str, is_grouped: bool
) -> None:
    """The opposite of the least number of a type is none of it: the footers say how near one is."""
    found, without = (summary("auto", money=money, most=most, off=off)
                      for off in ((), ("GroupedPartners",)))  # fmt: skip
    assert ("GroupedPartners" in chosen_rules(found)) is is_grouped
    if is_grouped:
        assert found.plan.estimated_cost < 0.8 * without.plan.estimated_cost


@pytest.mark.parametrize("money", [INT, BIGINT], ids=str)
@pytest.mark.parametrize(
    "joined",
    [
        "label, {} JOIN cats c ON c.cat = s.cat GROUP BY label",
        "label, {} LEFT JOIN cats c ON c.cat = s.cat GROUP BY label",
        "label, kind, {} JOIN cats c ON c.cat = s.cat JOIN kinds k ON k.cat = s.cat GROUP BY 1, 2",
    ],
    ids=["one join above", "an outer one", "two"],
)
def test_returns_are_grouped_by_order_below_other_joins(joined: str, money: DataType) -> None:
    sql = f"SELECT {joined.format(SUMS)}"
    found, without = (summary("auto", sql=sql, money=money, off=off)
                      for off in ((), ("GroupedPartners",)))  # fmt: skip
    assert chosen_rules(found)["GroupedPartners"]
    assert found.plan.estimated_cost < 0.6 * without.plan.estimated_cost


def test_returns_of_returns_are_grouped_too() -> None:
    """A left join among the partners of a left join."""
    sql = """
    SELECT cat, sum(price) AS p, sum(cost) AS c, sum(back) AS b FROM sales s LEFT JOIN (
        SELECT r.o_id, r.cost, b.cost AS back FROM returns r LEFT JOIN returns b ON r.o_id = b.o_id
    ) x ON s.o_id = x.o_id GROUP BY cat
    """
    found, without = (summary("auto", sql=sql, off=off) for off in ((), ("GroupedPartners",)))
    assert found.plan.estimated_cost < 0.4 * without.plan.estimated_cost


def test_a_batch_is_aggregated_first_where_that_makes_it_small() -> None:
    """Without the eager aggregate, which does the same to the whole query."""
    few, many = (sums(n, off=("EagerAggregate",)) for n in (1_000, 4 * 10**7))
    assert chosen_rules(few)["PreAggregation"]
    assert not chosen_rules(many)["PreAggregation"]
    plain = sums(1_000, off=("EagerAggregate", "PreAggregation"))
    assert few.plan.estimated_cost < plain.plan.estimated_cost


@pytest.mark.parametrize(("customers", "kept"), [(10**6, True), (15 * 10**6, False)])
def test_first_rows_are_kept_where_partitions_are_large(customers: int, kept: bool) -> None:
    """The latest order of each customer, of 15 orders each or of one: of these, all are the
    first. What is kept for the window does not wait, nor does the filter over it."""
    known = (("o_custkey", ColumnStats(distinct=customers)),)
    orders = next(replace(source, stats=known) for source in SCALE_10 if source.name == "orders")
    result = plan(
        PlanRequest(
            report="r",
            sql="SELECT o_orderkey, o_custkey FROM (SELECT *, row_number() OVER (PARTITION BY "
            "o_custkey ORDER BY o_orderdate DESC) AS n FROM orders) WHERE n = 1",
            sources=(orders,),
            points=tuple(
                TimePoint(weight=w, arrived=a) for w, a in zip((0.25, 0.3, 1.0), BIG, strict=True)
            ),
            method="im1",
            settings=Settings(prices=OPEN),
        )
    )
    assert bool(chosen_rules(result)["ContendersOfWindow"]) is kept
    waiting = {item.operator for item in result.plan.not_incremental}
    assert waiting == ({"Project"} if kept else {"Project", "Filter", "Window"})
    if kept:
        batch = result.plan.batch_cost
        assert last_run(result) <= 0.25 * batch
