"""Sums in narrow types, and by groups of their factors: rows and types are those of plain sums."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from forerun.planner.algebra.relational import Aggregate, Relation, walk
from forerun.planner.algebra.scalar import Call
from forerun.planner.algebra.scalar import walk as parts
from forerun.planner.algebra.types import parse_type
from forerun.planner.exact.sums import ExactSums
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.values import Row
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.sessions import sail_session, spark_session
from tests.selection import few

COLUMNS = (
    ("k", "INT"), ("g", "STRING"), ("n", "INT"), ("price", "DECIMAL(15,2)"),
    ("discount", "DECIMAL(15,2)"), ("tax", "DECIMAL(12,3)"), ("wide", "DECIMAL(30,4)"),
)  # fmt: skip
_FEW = {"discount": ("0.00", "0.05", "0.10"), "tax": ("-0.010", "0.000", "0.025")}
_FACTORS = (
    "price", "wide", "discount", "tax", "(1 - discount)", "(1 + tax)", "(discount - tax)", "n",
    "-2", "CASE WHEN n > 1 THEN price ELSE 0 END", "CASE WHEN n > 2 THEN discount END",
    "CAST(price AS DECIMAL(20,2))", "coalesce(price, 0)", "(1 - discount * tax)",
    "-price", "-(discount - tax)", "CAST(-price AS DECIMAL(25,4))", "CAST(n AS DECIMAL(9,3))",
    "CASE WHEN n IS NULL THEN price * (1 - discount) ELSE -tax END",
    "CASE WHEN n > 2 THEN price * (1 - discount) WHEN n > 0 THEN wide * tax ELSE 0 END",
    "IF(n > 1, CAST(price AS DECIMAL(20,4)) * discount, CAST(-price AS DECIMAL(25,4)))",
    "CASE WHEN tax <> 0 THEN price * (1 / tax) ELSE price * discount END",
    "CAST(tax AS DECIMAL(12,1))", "IF(price IS NULL, -wide, CAST(discount AS DECIMAL(20,4)))",
)  # fmt: skip
_CALLS = (
    "count(*)", "count(price)", "min(wide)", "max(tax)", "sum(n)", "sum(discount)",
    "count(*) FILTER (WHERE n > 1)", "sum(price * (1 - discount)) FILTER (WHERE n < 3)",
)  # fmt: skip
_MEANS = (
    "avg(discount)", "avg(price)", "avg(tax)", "avg(price) FILTER (WHERE n > 1)",
    "avg(price * discount)", "avg(wide)", "avg(n)",
)  # fmt: skip
_COMPUTED = (
    "SELECT k, g, n, price * (1 - discount) AS price, discount, -tax AS tax, "
    "IF(n > 0, wide, 0) AS wide FROM t"
)
_OTHERS = ("sum(DISTINCT price)", "avg(DISTINCT price)", "sum(CAST(price AS DOUBLE))", "stddev(n)")


def random_rows(rng: random.Random) -> list[Row]:
    def value(name: str) -> Any:
        if rng.random() < 0.15:
            return None
        if name == "g":
            return rng.choice("ab")
        if name in ("k", "n"):
            return rng.randint(-1, 4)
        if name in _FEW:
            return Decimal(rng.choice(_FEW[name]))
        digits = rng.choice((3, 5, 9)) if name == "price" else rng.choice((5, 14, 22))
        scale = 2 if name == "price" else 4
        return Decimal(rng.randint(-(10**digits), 10**digits)).scaleb(-scale)

    return [tuple(value(name) for name, _ in COLUMNS) for _ in range(rng.choice((0, 1, 8, 40)))]


def stats_of(rng: random.Random, rows: list[Row]) -> tuple[tuple[str, ColumnStats], ...]:
    found = []
    for place, (name, type_) in enumerate(COLUMNS):
        values = [row[place] for row in rows if row[place] is not None]
        if values and type_ != "STRING" and rng.random() < 0.9:
            low, high = str(min(values)), str(max(values))
            found.append((name, ColumnStats(minimum=low, maximum=high)))
    return tuple(found)


def random_query(rng: random.Random) -> str:
    sums = []
    for _ in range(rng.randint(1, 4)):
        factors = [rng.choice(_FACTORS), *rng.sample(_FACTORS[2:7], rng.randint(0, 2))]
        sums.append(f"sum({' * '.join(factors)})")
    calls = sums + rng.sample(_CALLS, rng.randint(0, 3))
    if rng.random() < 0.3:
        calls += rng.sample(_MEANS, rng.randint(1, 2))
    if rng.random() < 0.15:
        calls.append(rng.choice(_OTHERS))
    keys = rng.choice(((), ("g",), ("g", "discount"), ("k",), ("n", "g")))
    items = [*keys, *(f"{call} AS c{i}" for i, call in enumerate(dict.fromkeys(calls)))]
    where = rng.choice(("", " WHERE n <> 2", " WHERE discount > 0"))
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    table = f"({_COMPUTED}) AS s" if rng.random() < 0.3 else "t"
    return f"SELECT {', '.join(items)} FROM {table}{where}{group}"


def rewritten(relation: Relation, sums: ExactSums) -> Relation:
    below = tuple(rewritten(child, sums) for child in relation.inputs)
    node = relation.with_inputs(below) if below else relation
    return sums.rewritten(node, 1e7, 1.0) if isinstance(node, Aggregate) else node


def source(stats: tuple[tuple[str, ColumnStats], ...] = ()) -> Source:
    columns = tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS)
    return Source(name="t", columns=columns, rows=1_000_000, bytes=1, stats=stats)


def forms(sql: str, given: Source) -> tuple[Relation, Relation]:
    """The query as it is bound, and with its sums rewritten."""
    query = read_query(sql, (given,))
    ids = ColumnIds(query.last_id)
    return query.relation, rewritten(query.relation, ExactSums(query.relation, (given,), ids))


def check(seed: int, engine: Any) -> tuple[bool, bool]:
    """Compare one random query; say whether its sums were narrowed, and whether regrouped."""
    rng = random.Random(f"exact-{seed}")
    rows, sql = random_rows(rng), random_query(rng)
    plain, exact = forms(sql, source(stats_of(rng, rows)))
    assert [(c.id, c.type) for c in exact.columns] == [(c.id, c.type) for c in plain.columns]
    engine.bind("t", COLUMNS, rows)
    try:
        expected, found = engine.query(to_sql(plain)), engine.query(to_sql(exact))
    except Exception as error:
        if "duplicate unqualified field name" not in str(error):
            raise
        return False, False  # Sail refuses two sums of one column in different types
    compare_bags(expected, found, magnitude=1e9)
    before, after = ([n for n in walk(r) if isinstance(n, Aggregate)] for r in (plain, exact))
    return len(after) == len(before) and casts(after) > casts(before), len(after) > len(before)


def casts(nodes: list[Aggregate]) -> int:
    calls = [call for node in nodes for _, call in node.calls]
    scalars = [scalar for call in calls for arg in call.args for scalar in parts(arg)]
    return sum(isinstance(s, Call) and s.name == "cast" for s in scalars)


@pytest.mark.parametrize(
    ("summed", "type_"),
    [
        ("IF(n IS NULL, price, -tax)", "DECIMAL(6,3)"),
        # Up to 1999.98: what is taken back of what is taken back is added.
        ("CAST(price - -price AS DECIMAL(20,4))", "DECIMAL(8,4)"),
        ("price * price", "DECIMAL(31,4)"),  # too many digits for longs
        ("CAST(-n AS DECIMAL(20,3))", "DECIMAL(20,3)"),  # no bounds of n
    ],
)
def test_what_is_taken_back_and_what_is_cast_is_narrowed_by_its_bounds(summed, type_):
    bounds = {"price": "999.99", "discount": "0.10", "tax": "0.025"}
    stats = tuple((n, ColumnStats(minimum="0.00", maximum=m)) for n, m in bounds.items())
    sql = f"SELECT sum({summed}) AS gross FROM t GROUP BY g"
    (call,) = [
        call
        for node in walk(forms(sql, source(stats))[1])
        if isinstance(node, Aggregate)
        for _, call in node.calls
    ]
    assert call.args[0].type.sql == type_


@pytest.mark.parametrize("start", few(range(0, 300, 100), 1))
def test_on_sail(start: int):
    engine = PlainSailEngine(sail_session())
    found = [check(seed, engine) for seed in range(start, start + 100)]
    assert sum(narrowed for narrowed, _ in found) >= 5
    assert sum(regrouped for _, regrouped in found) >= 5


@pytest.mark.spark
def test_on_spark():
    engine = PlainSparkEngine(spark_session())
    found = [check(seed, engine) for seed in range(1000, 1040)]
    assert any(narrowed for narrowed, _ in found)
    assert any(regrouped for _, regrouped in found)


@pytest.mark.parametrize("factor", ["(1 - discount)", "tax"])
def test_a_wrong_bound_fails_and_changes_no_sum(factor: str):
    """The footer says that prices are below 100: a greater one is no DECIMAL(4,2)."""
    wrong = (
        ("price", ColumnStats(minimum="0.00", maximum="99.99")),
        ("discount", ColumnStats(minimum="0.00", maximum="0.10")),
        ("tax", ColumnStats(minimum="0.000", maximum="0.100")),
    )
    plain, exact = forms(f"SELECT g, sum(price * {factor}) AS s FROM t GROUP BY g", source(wrong))
    assert plain is not exact
    engine = PlainSailEngine(sail_session())
    price, few = Decimal("100.00"), Decimal("0.10")
    engine.bind("t", COLUMNS, [(1, "a", 1, price, few, Decimal("0.100"), None)])
    with pytest.raises(Exception, match=r"(?i)overflow|out of range|too large|cast|convert"):
        engine.query(to_sql(exact))


def test_each_branch_of_a_case_is_summed_by_itself_with_its_own_factors():
    """Prices and what is taken back have 5 digits, which Spark adds up as longs."""
    bounds = {"price": "999.99", "discount": "0.10", "wide": "9.9999"}
    stats = tuple((n, ColumnStats(minimum="0.00", maximum=m)) for n, m in bounds.items())
    gross = "sum(IF(n IS NULL, price * (1 - discount), CAST(-price AS DECIMAL(31,4))))"
    _, exact = forms(f"SELECT {gross} AS gross FROM t GROUP BY g", source(stats))
    outer, inner = (node for node in walk(exact) if isinstance(node, Aggregate))
    assert [column.name for column in inner.keys] == ["g", "discount"]
    assert [call.args[0].type.sql for _, call in inner.calls] == ["DECIMAL(5,2)"] * 2
    assert len(outer.calls) == 2


def test_a_factor_that_may_fail_stays_in_its_branch():
    """1 / tax is computed for no row whose tax is 0."""
    stats = tuple((n, ColumnStats(minimum="0.000", maximum="0.100")) for n in ("price", "tax"))
    sql = "SELECT sum(IF(tax <> 0, price * (1 / tax), 0)) AS s FROM t GROUP BY g"
    plain, exact = forms(sql, source(stats))
    assert to_sql(plain) == to_sql(exact)


def test_without_bounds_nothing_changes():
    plain, exact = forms("SELECT g, sum(price * (1 - discount)) AS s FROM t GROUP BY g", source())
    assert to_sql(plain) == to_sql(exact)


def test_means_do_not_stand_in_the_way():
    """A mean is the sum that is there anyway, and a count."""
    stats = (
        ("price", ColumnStats(minimum="1.00", maximum="999.99")),
        ("discount", ColumnStats(minimum="0.00", maximum="0.10")),
    )
    text = "SELECT g, sum(price * (1 - discount)) AS s, sum(price) AS p, avg(price) AS m FROM t"
    plain, exact = forms(f"{text} GROUP BY g", source(stats))
    inner = [node for node in walk(exact) if isinstance(node, Aggregate)][-1]
    assert [call.name for _, call in inner.calls] == ["sum", "count"]
    assert [c.id for c in exact.columns] == [c.id for c in plain.columns]


def test_without_a_gain_means_stay_as_they_are():
    plain, exact = forms("SELECT g, avg(price) AS m FROM t GROUP BY g", source())
    assert to_sql(plain) == to_sql(exact)


def test_many_values_are_no_factor():
    """99,900 prices are too many to group by, whatever is multiplied with them."""
    stats = tuple(
        (name, ColumnStats(minimum="1.00", maximum="999.99")) for name in ("price", "discount")
    )
    _, exact = forms("SELECT g, sum(price * discount) AS s FROM t GROUP BY g", source(stats))
    assert sum(isinstance(node, Aggregate) for node in walk(exact)) == 1
