"""Grouped partners against the row interpreter: functions that read both sides of an outer join."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

import pytest

from forerun.planner.algebra.relational import Scan, walk
from forerun.planner.algebra.types import BIGINT, DOUBLE, INT, STRING, decimal
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.rules.explore.grouped_partners import group_partners
from forerun.planner.rules.explore.small_values import Magnitude, magnitudes
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import ArithmeticOverflowError

SOURCES = (
    Source(
        name="l",
        columns=(
            SourceColumn(name="k", type=INT),
            SourceColumn(name="g", type=STRING),
            SourceColumn(name="price", type=decimal(8, 2)),
            SourceColumn(name="i", type=INT),
            SourceColumn(name="wide", type=decimal(18, 2)),
            SourceColumn(name="small", type=decimal(30, 8)),
            SourceColumn(name="long", type=BIGINT),
            SourceColumn(name="double", type=DOUBLE),
        ),
        changing=True,
    ),
    Source(
        name="r",
        columns=(
            SourceColumn(name="k", type=INT),
            SourceColumn(name="cost", type=decimal(8, 2)),
            SourceColumn(name="h", type=STRING),
            SourceColumn(name="n", type=BIGINT),
            SourceColumn(name="f", type=DOUBLE),
        ),
        changing=True,
    ),
)
GROUPED = (
    "sum(CASE WHEN cost IS NULL THEN price ELSE -cost END)",  # the paper's
    "sum(CASE WHEN cost IS NULL THEN price ELSE 0 END) - coalesce(sum(cost), 0)",
    "sum(coalesce(cost, price))",
    "sum(if(h = 'u', price, cost))",
    "sum(CASE WHEN g = 'a' THEN cost WHEN h = 'u' THEN price WHEN h = 'v' THEN cost * 2 END)",
    "sum(CASE WHEN h = 'u' THEN i WHEN g = 'b' THEN 7 ELSE length(h) END)",
    "count(CASE WHEN h = 'u' THEN price WHEN n = 7 THEN cost END)",
    "count(*) + count(i) + count(n)",
    "sum(i) + sum(length(h))",
    "sum(coalesce(cost, 1.50))",
    "min(coalesce(n, 5))",
    "max(i) + max(n)",
    "sum(price * 2) - sum(CASE WHEN h IS NOT NULL THEN cost END)",
    "sum(CASE WHEN cost IS NULL THEN wide ELSE cost END)",
    "sum(CASE WHEN h = 'u' THEN n ELSE i END)",
    "sum(coalesce(n, long)) + count(n)",
    "sum(if(g = 'a', long, n))",
    "sum(n) - sum(long)",
    "sum(CASE WHEN h = 'u' THEN f ELSE i END)",
    "sum(f) + sum(double) + sum(CASE WHEN h IS NULL THEN double END)",
)
OF_SMALL_VALUES = (
    "sum(CASE WHEN h = 'u' THEN -n ELSE i END)",
    "sum(-n) - sum(abs(long))",
    "sum(CASE WHEN cost IS NULL THEN -i ELSE n * n - 7 END)",
    "sum(coalesce(-n, i * 2 + 1, 0)) + count(-i)",
    "max(-n) + min(n - 3)",
)
KEPT = (
    "sum(price)",  # nothing of the right side
    "sum(price + cost)",
    "sum(CASE WHEN price > cost THEN cost END)",
    "sum(CASE WHEN cost IS NULL THEN small ELSE cost END)",  # 8 digits after the point
    "sum(CASE WHEN h = 'u' THEN -n ELSE i END)",  # the least BIGINT has no opposite
    "sum(CASE WHEN h = 'u' THEN price / cost ELSE price END)",  # may fail
    "count(DISTINCT CASE WHEN h = 'u' THEN g ELSE h END)",
    "min(CASE WHEN h = 'u' THEN i ELSE n END)",
    "bit_xor(i) + max(n)",  # each value counts as often as it comes
    "count_if(n IS NULL)",
)
FROM, FULL = (f"FROM l {kind} JOIN r ON l.k = r.k" for kind in ("LEFT", "FULL"))


def rows(rng: random.Random) -> Inputs:
    def some(values: list) -> object:
        return rng.choice([*values, None])

    left = [
        (
            some([1, 2, 3]),
            some(["a", "b"]),
            some([Decimal("10.00"), Decimal("0.30")]),
            some([4, 9]),
            Decimal("1.00"),
            Decimal("1.00000000"),
            some([2**40, -(2**62)]),
            some([0.25, -2.0]),
        )
        for _ in range(rng.randrange(7))
    ]
    right = [
        (
            some([1, 2, 4]),
            some([Decimal("1.50"), Decimal("-2.25")]),
            some(["u", "v"]),
            some([7, 8]),
            0.5,
        )
        for _ in range(rng.randrange(9))
    ]
    columns = {source.name: tuple(c.name for c in source.columns) for source in SOURCES}
    return Inputs({"l": SourceData(columns["l"], left), "r": SourceData(columns["r"], right)})


def plans(sql: str, values: Mapping[str, Magnitude] = MappingProxyType({})):
    query = read_query(sql, SOURCES)
    ids = ColumnIds(query.last_id)
    plain = normalize(query.relation, SOURCES, ids)
    scanned = {c.id: c.name for scan in walk(plain) if isinstance(scan, Scan) for c in scan.columns}
    known = {id_: values[name] for id_, name in scanned.items() if name in values}
    return plain, group_partners(plain, ids, known)


def agree(sql: str, values: Mapping[str, Magnitude] = MappingProxyType({})) -> None:
    plain, grouped = plans(sql, values)
    assert grouped is not None
    assert [(c.id, c.type) for c in grouped.columns] == [(c.id, c.type) for c in plain.columns]
    for seed in range(60):
        inputs = rows(random.Random(seed))
        try:
            wanted = evaluate(plain, inputs)
        except ArithmeticOverflowError:
            with pytest.raises(ArithmeticOverflowError):
                evaluate(grouped, inputs)
            continue
        compare_bags(wanted, evaluate(grouped, inputs))


@pytest.mark.parametrize("by", ["g", "h", "g, h, l.k", ""])
@pytest.mark.parametrize("value", GROUPED)
@pytest.mark.parametrize("source", [FROM, FULL], ids=["left", "full"])
def test_same_rows(source: str, value: str, by: str) -> None:
    agree(f"SELECT {value} AS v {source}" + (f" GROUP BY {by}" if by else ""))


@pytest.mark.parametrize("value", OF_SMALL_VALUES)
@pytest.mark.parametrize("source", [FROM, FULL], ids=["left", "full"])
def test_what_is_computed_of_small_numbers(source: str, value: str) -> None:
    sql = f"SELECT {value} AS v {source} GROUP BY g"
    agree(sql, dict.fromkeys(("n", "i", "long"), Magnitude(8, 9)))
    large = dict.fromkeys(("n", "long"), Magnitude(2**62, 9)) | {"i": Magnitude(2**30, 9)}
    assert plans(sql, large)[1] is None
    assert plans(sql)[1] is None


def test_a_bound_that_is_no_number_of_its_type_is_not_known() -> None:
    bounds = {"k": ("-9", "7"), "i": ("x", "5"), "long": (None, "5"), "price": ("1", "2")}
    stats = tuple(
        (name, ColumnStats(minimum=low, maximum=high)) for name, (low, high) in bounds.items()
    )
    table = replace(SOURCES[0], stats=stats, rows=3)
    assert magnitudes((table,)) == {("l", "k"): Magnitude(9, 3)}


@pytest.mark.parametrize("value", [v for v in GROUPED if any(c in v for c in ("price", "(i"))])
def test_the_left_side_of_a_full_join_is_grouped_where_the_right_one_has_a_key(value: str) -> None:
    one = "WITH r AS (SELECT k, max(cost) cost, max(h) h, max(n) n, max(f) f FROM r GROUP BY k) "
    agree(f"{one} SELECT g, h, {value} AS v {FULL} GROUP BY g, h")


@pytest.mark.parametrize("kind", ["LEFT", "FULL"])
def test_partners_of_nobody_may_hold_more_than_a_sum_can(kind: str) -> None:
    """Their sum is no part of the query's own in a left join, and fails it in a full one."""
    plain, grouped = plans(f"SELECT g, sum(n) AS v FROM l {kind} JOIN r ON l.k = r.k GROUP BY g")
    assert grouped is not None
    columns = {source.name: tuple(c.name for c in source.columns) for source in SOURCES}
    left = [(1, "a", *[None] * (len(columns["l"]) - 2))] * 2
    right = [(key, None, None, n, None) for key, n in ((1, 2**62), (1, -5), (9, 2**63 - 1), (9, 9))]
    data = {"l": SourceData(columns["l"], left), "r": SourceData(columns["r"], right)}
    if kind == "LEFT":
        assert list(evaluate(grouped, Inputs(data))) == [("a", 2**63 - 10)]
        return
    for relation in (plain, grouped):
        with pytest.raises(ArithmeticOverflowError):
            evaluate(relation, Inputs(data))


def test_both_sides_of_a_key_and_a_filter_of_groups() -> None:
    agree(
        f"SELECT g, sum(coalesce(cost, price)) AS v, count(*) AS c {FROM} AND l.g = r.h "
        "GROUP BY g HAVING count(*) > 1"
    )


@pytest.mark.parametrize("value", KEPT)
def test_not_grouped(value: str) -> None:
    assert plans(f"SELECT g, {value} AS v {FROM} GROUP BY g")[1] is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, sum(coalesce(cost, price)) AS v FROM l JOIN r ON l.k = r.k GROUP BY g",
        f"SELECT g, sum(coalesce(cost, price)) AS v {FULL} AND price > cost GROUP BY g",
        f"SELECT g, sum(coalesce(cost, price)) AS v {FROM} AND price > cost GROUP BY g",
        f"WITH r AS (SELECT k, max(h) AS h FROM r GROUP BY 1) SELECT sum(if(h > '', i, 7)) {FROM}",
    ],
    ids=["inner", "full by more", "more than equalities", "one partner at most"],
)
def test_not_below_such_joins(sql: str) -> None:
    assert plans(sql)[1] is None
