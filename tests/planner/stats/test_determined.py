"""Groups of an aggregate whose keys determine each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Scan,
)
from forerun.planner.algebra.scalar import Ref, equals
from forerun.planner.algebra.types import BIGINT, DOUBLE, INT, STRING, Column, ColumnId
from forerun.planner.props.dependencies import closure, essential, facts
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.stats.estimate import Estimator
from tests.planner.scalars import call, literal

BOUNDS = ColumnStats(minimum="1", maximum="1000")
CUSTOMERS = Source(
    name="c",
    columns=tuple(
        SourceColumn(name=n, type=t)
        for n, t in (("ck", BIGINT), ("name", STRING), ("nation", INT), ("score", DOUBLE))
    ),
    rows=1000,
    stats=(("ck", BOUNDS), ("nation", ColumnStats(minimum="0", maximum="24"))),
)
WITHOUT_KEY = replace(CUSTOMERS, stats=CUSTOMERS.stats[1:])
ORDERS = Source(
    name="o",
    columns=tuple(SourceColumn(name=n, type=BIGINT) for n in ("ok", "oc")),
    rows=20_000,
    changing=True,
    stats=(("ok", ColumnStats(minimum="1", maximum="80000")), ("oc", BOUNDS)),
)
CK, NAME, NATION, SCORE = (
    Column(ColumnId(i), c.name, c.type) for i, c in enumerate(CUSTOMERS.columns, 1)
)
OK, OC = (Column(ColumnId(i), c.name, c.type) for i, c in enumerate(ORDERS.columns, 11))
OUT = Column(ColumnId(21), "out", BIGINT)
COUNT = ((OUT, AggregateCall("count", ())),)
JOINED = Join(
    JoinKind.INNER, Scan("o", (OK, OC)), Scan("c", (CK, NAME, NATION, SCORE)), equals(OC, CK)
)


def groups(*keys: Column, sources: tuple[Source, ...] = (CUSTOMERS, ORDERS)) -> float:
    return Estimator(sources).rows(Aggregate(JOINED, keys, COUNT))


def test_what_a_key_determines_makes_no_more_groups() -> None:
    """As TPC-H Q10: GROUP BY c_custkey, c_name, ... has a group per customer."""
    assert groups(CK) == pytest.approx(1000)
    assert groups(CK, NAME, NATION) == groups(CK)
    assert groups(OC, NAME) == groups(OC)
    assert groups(OC, CK) == groups(CK)


def test_columns_of_one_table_make_no_more_groups_than_it_has_rows() -> None:
    """As TPC-DS Q4: GROUP BY c_customer_id, c_first_name, c_last_name, ..., d_year."""
    # The name says nothing of the nation; 100 names of 25 nations are more than 1,000 customers.
    assert groups(NAME, NATION) == pytest.approx(1000, rel=0.01)
    assert groups(NATION) == pytest.approx(25, rel=0.01)
    # Of two tables, pairs of rows.
    assert groups(NAME, NATION, OK) == groups(OK)
    assert groups(NATION, OC, sources=(WITHOUT_KEY, ORDERS)) > 2 * groups(OC)
    # What is computed of a table's columns is of its rows, too.
    twice = Column(ColumnId(31), "twice", STRING)
    items = (*((c, Ref(c)) for c in JOINED.columns), (twice, call("concat", Ref(NAME), Ref(NAME))))
    computed = Aggregate(Project(JOINED, items), (twice, NATION), COUNT)
    assert Estimator((CUSTOMERS, ORDERS)).rows(computed) == groups(NAME, NATION)


def test_a_join_leaves_of_a_table_what_has_partners() -> None:
    """As TPC-DS Q59: sales of five years meet five years of a calendar of two hundred."""
    day, week, sold = (Column(ColumnId(51 + i), n, INT) for i, n in enumerate("dws"))
    days = Source(
        name="days", rows=70_000,
        columns=tuple(SourceColumn(name=c.name, type=INT) for c in (day, week)),
        stats=tuple(
            (c.name, ColumnStats(minimum="1", maximum=last))
            for c, last in ((day, "70000"), (week, "10000"))
        ),
    )  # fmt: skip
    sales = Source(
        name="sales", rows=1_000_000, columns=(SourceColumn(name=sold.name, type=INT),),
        stats=((sold.name, ColumnStats(minimum="1", maximum="1750")),),
    )  # fmt: skip
    sides = Scan("sales", (sold,)), Scan("days", (day, week))
    inner = Estimator((days, sales)).estimate(Join(JoinKind.INNER, *sides, equals(sold, day)))
    assert inner.rows == pytest.approx(1_000_000)
    assert inner.distinct(day.id) == inner.distinct(sold.id) == pytest.approx(1750)
    # Seven days of 10,000 weeks, drawn at random, as far as the estimate knows; not all weeks.
    assert 250 <= inner.distinct(week.id) < 1750
    whole = Estimator((days, sales)).estimate(Join(JoinKind.RIGHT, *sides, equals(sold, day)))
    assert whole.distinct(week.id) == pytest.approx(10_000)


def test_rows_that_a_key_tells_apart_are_groups() -> None:
    assert groups(OK) == groups(OK, NAME) == Estimator((CUSTOMERS, ORDERS)).rows(JOINED)


def test_what_is_only_guessed_is_no_key() -> None:
    assert groups(OC, NATION, sources=(WITHOUT_KEY, ORDERS)) > 2 * groups(OC)
    declared = replace(WITHOUT_KEY, keys=(("ck",),))
    assert groups(OC, NATION, sources=(declared, ORDERS)) == pytest.approx(groups(OC), rel=0.01)


def test_zeros_of_both_signs_are_one_group_with_two_reciprocals() -> None:
    """0.0 and -0.0 are one group, and are two values of what is computed of them."""
    scan = Scan("c", (CK, NATION, SCORE))
    computed = (call("/", literal("1"), Ref(SCORE)), call("+", Ref(NATION), literal("1")))
    one, other = (Column(ColumnId(31 + i), f"x{i}", s.type) for i, s in enumerate(computed))
    items = (*((c, Ref(c)) for c in (NATION, SCORE)), (one, computed[0]), (other, computed[1]))
    known = facts(Project(scan, items), {}, {}).dependencies
    assert closure((SCORE.id,), known) == {SCORE.id}
    assert closure((NATION.id,), known) == {NATION.id, other.id}


def test_what_a_side_of_an_outer_join_determines_may_end_there() -> None:
    left, right = Scan("o", (OK, OC)), Scan("c", (CK, NAME, NATION))
    keys = {"c": (("name",),)}
    nullable = facts(Join(JoinKind.LEFT, left, right, equals(OC, CK)), keys, {}).dependencies
    full = facts(Join(JoinKind.LEFT, left, right, equals(OC, CK)), keys, {"c": {"name"}})
    assert NATION.id not in closure((NAME.id,), nullable)  # a NULL name has a nation
    assert NATION.id in closure((NAME.id,), full.dependencies)
    # Orders of one customer find the same customer, or none.
    assert CK.id in closure((OC.id,), nullable)
    assert OC.id not in closure((CK.id,), nullable)


def test_keys_are_without_what_the_rest_of_them_determines() -> None:
    pairs = {"o": (("ok", "oc"),)}
    scan = Scan("o", (OK, OC))
    assert facts(scan, pairs, {}).keys == {frozenset({OK.id, OC.id})}
    doubled = Column(ColumnId(41), "doubled", INT)
    computed = call("+", Ref(OC), Ref(OC))
    made = Project(scan, ((OK, Ref(OK)), (OC, Ref(OC)), (doubled, computed)))
    grouped = Aggregate(made, (OK, OC, doubled), ())
    assert facts(grouped, {}, {}).keys == {frozenset({OK.id, OC.id})}
    constant = Filter(scan, equals(OK, OC))
    assert facts(constant, pairs, {}).keys == {frozenset({OK.id}), frozenset({OC.id})}


def test_of_two_that_determine_each_other_the_first_goes() -> None:
    known = facts(JOINED, {}, {}).dependencies
    assert essential((OC.id, CK.id, NAME.id), known) == (CK.id, NAME.id)
    assert essential((CK.id, OC.id, NAME.id), known) == (OC.id, NAME.id)
