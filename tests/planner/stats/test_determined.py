"""Groups of an aggregate whose keys determine each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Scan,
)
from planner.algebra.scalar import Ref, equals
from planner.algebra.types import BIGINT, DOUBLE, INT, STRING, Column, ColumnId
from planner.props.dependencies import closure, essential, facts
from planner.request import ColumnStats, Source, SourceColumn
from planner.stats.estimate import Estimator
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
    # The name says nothing of the nation.
    assert groups(NAME, NATION) == pytest.approx(2500, rel=0.01)


def test_rows_that_a_key_tells_apart_are_groups() -> None:
    assert groups(OK) == groups(OK, NAME) == Estimator((CUSTOMERS, ORDERS)).rows(JOINED)


def test_what_is_only_guessed_is_no_key() -> None:
    unknown = replace(CUSTOMERS, stats=CUSTOMERS.stats[1:])
    assert groups(CK, NATION, sources=(unknown, ORDERS)) > 2 * groups(CK)
    declared = replace(unknown, keys=(("ck",),))
    assert groups(CK, NATION, sources=(declared, ORDERS)) == pytest.approx(groups(CK), rel=0.01)


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
