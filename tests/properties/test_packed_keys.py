"""Joins by a key that is cast to what Spark packs into a long: rows are those of the plain join."""

from __future__ import annotations

import random
from typing import Any

import pytest

from forerun.planner.algebra.relational import Join, Relation, walk
from forerun.planner.algebra.types import parse_type
from forerun.planner.exact.keys import with_packed_key
from forerun.planner.exact.narrowing import Narrowing
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from tests.oracles.bags import compare_bags
from tests.oracles.values import Row
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.sessions import sail_session, spark_session

COLUMNS = (("k", "BIGINT"), ("n", "INT"), ("s", "STRING"), ("v", "INT"))
LIMITS = {1: 2**7, 2: 2**15, 4: 2**31, 8: 2**63}
_KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
_MORE = ("", " AND a.v < b.v", " AND a.v = b.v", " AND a.s = b.s", " AND a.k <=> b.n")


def random_rows(rng: random.Random, least: int, most: int) -> list[Row]:
    """Few keys, at the ends of what a type holds, so that rows meet and a bit too few is seen."""

    def value(name: str) -> Any:
        if rng.random() < 0.1:
            return None
        if name == "k":
            return rng.choice((least, least + 1, -1, 0, 1, most - 1, most))
        return rng.choice("ab") if name == "s" else rng.choice((-2, 0, 1))

    return [tuple(value(name) for name, _ in COLUMNS) for _ in range(rng.choice((0, 5, 30)))]


def source(name: str, rows: list[Row]) -> Source:
    columns = tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS)
    stats = []
    for place, (column, _) in enumerate(COLUMNS):
        values = [row[place] for row in rows if row[place] is not None]
        if values:
            low, high = str(min(values)), str(max(values))
            stats.append((column, ColumnStats(minimum=low, maximum=high)))
    return Source(name=name, columns=columns, rows=1000, bytes=1, stats=tuple(stats))


def packed(relation: Relation, narrowing: Narrowing) -> Relation:
    below = tuple(packed(child, narrowing) for child in relation.inputs)
    node = relation.with_inputs(below) if below else relation
    return with_packed_key(node, narrowing) if isinstance(node, Join) else node


def forms(sql: str, given: tuple[Source, Source]) -> tuple[Relation, Relation]:
    """The query as it is bound, and with its joins by packed keys."""
    relation = read_query(sql, given).relation
    return relation, packed(relation, Narrowing(relation, given))


def check(seed: int, engine: Any) -> bool:
    """Compare one random query; say whether its key was packed."""
    rng = random.Random(f"packed-{seed}")
    limit = LIMITS[rng.choice((1, 2, 4, 4, 8))]
    tables = [random_rows(rng, -limit, limit - 1) for _ in range(2)]
    kind = rng.choice(_KINDS)
    items = "a.k, a.n, a.v" if "LEFT S" in kind or "ANTI" in kind else "a.k, a.v, b.n, b.v AS w"
    sql = f"SELECT {items} FROM a {kind} b ON a.k = b.k AND a.n = b.n{rng.choice(_MORE)}"
    plain, other = forms(sql, (source("a", tables[0]), source("b", tables[1])))
    for name, rows in zip("ab", tables, strict=True):
        engine.bind(name, COLUMNS, rows)
    compare_bags(engine.query(to_sql(plain)), engine.query(to_sql(other)))
    return to_sql(plain) != to_sql(other)


@pytest.mark.parametrize("start", [0, 100])
def test_on_sail(start: int):
    engine = PlainSailEngine(sail_session())
    found = [check(seed, engine) for seed in range(start, start + 100)]
    assert 20 <= sum(found) <= 80


@pytest.mark.spark
def test_on_spark():
    engine = PlainSparkEngine(spark_session())
    assert sum(check(seed, engine) for seed in range(1000, 1025)) >= 3


def bounded(least: int, most: int, name: str = "a") -> Source:
    return source(name, [(least, 0, "a", 0), (most, 7, "a", 0)])


ORDERS = "SELECT a.v FROM a JOIN b ON a.k = b.k AND a.n = b.n"


@pytest.mark.parametrize(
    ("most", "type_"),
    [(127, "TINYINT"), (128, "SMALLINT"), (2**31 - 1, "INT"), (2**31, None)],
)
def test_the_narrowest_type_that_holds_the_values_of_both_sides(most: int, type_: str | None):
    """A BIGINT beside a TINYINT has 9 bytes, one too many."""
    plain, other = forms(ORDERS, (bounded(1, 5), bounded(1, most, "b")))
    if type_ is None:
        assert to_sql(other) == to_sql(plain)
        return
    assert f"CAST(`a`.`k` AS {type_}) = CAST(`b`.`k` AS {type_})" in to_sql(other)
    assert "CAST(`a`.`n` AS TINYINT) = CAST(`b`.`n` AS TINYINT)" in to_sql(other)


@pytest.mark.parametrize(
    "condition",
    ["a.k = b.k", "a.k = b.k AND a.s = b.s", "a.k < b.k"],
)
def test_a_key_that_is_packed_anyway_or_cannot_be_stays_as_it_is(condition: str):
    sql = f"SELECT a.v FROM a JOIN b ON {condition}"
    plain, other = forms(sql, (bounded(1, 5), bounded(1, 5, "b")))
    assert to_sql(other) == to_sql(plain)


def test_without_bounds_nothing_changes():
    plain, other = forms(ORDERS, (bounded(1, 5), source("b", [])))
    assert to_sql(other) == to_sql(plain)


def test_a_wrong_bound_fails_and_loses_no_row():
    """The footer says that keys are at most 5: 300 is no TINYINT."""
    _, other = forms(ORDERS, (bounded(1, 5), bounded(1, 5, "b")))
    engine = PlainSailEngine(sail_session())
    for name in "ab":
        engine.bind(name, COLUMNS, [(300, 1, "a", 0)])
    with pytest.raises(Exception, match=r"(?i)overflow|out of range|too large|cast|convert"):
        engine.query(to_sql(other))


def test_both_joins_of_a_query_are_packed():
    sql = ORDERS + " JOIN b c ON b.k = c.k AND b.n = c.n"
    _, other = forms(sql, (bounded(1, 5), bounded(1, 5, "b")))
    assert sum(isinstance(node, Join) for node in walk(other)) == 2
    assert to_sql(other).count("TINYINT") == 8
