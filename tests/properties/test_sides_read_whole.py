"""Rows that a small side and the join above it both read, computed once: the result is that of the
plain query."""

from __future__ import annotations

import random
from typing import Any

import pytest

from forerun.planner.algebra.relational import Join, Project, Relation
from forerun.planner.rules.explore.reduced_partners import reduce_partners
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.stages.small_sides import SmallSides
from tests.oracles.bags import compare_bags
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.sessions import sail_session, spark_session
from tests.properties.test_packed_keys import COLUMNS, random_rows, source

_MORE = ("", " AND b.v < f.v", " AND b.s = f.s")


def held(node: Relation, sides: SmallSides) -> Relation:
    """The relation as a stage has it: what partners are reduced by is computed first."""
    below = tuple(held(child, sides) for child in node.inputs)
    if isinstance(node, Join):
        left, right = (sides.whole(child) for child in below)
        below = left, sides.first(right) if isinstance(right, Project) else right
    return node.with_inputs(below) if below else node


def few(rng: random.Random) -> str:
    """A filtered table, or two of them, with its columns in any order and at any rate the key."""
    names = ["k", *rng.sample(("n", "s", "v"), rng.randint(2, 3))]
    rng.shuffle(names)
    parts = [
        f"SELECT {', '.join(f'{name}.{column}' for column in names)} FROM {name} "
        f"WHERE {name}.{rng.choice('kn')} <> {rng.choice((0, 1))}"
        for name in rng.choice(("a", "ac"))
    ]
    return " UNION ALL ".join(parts)


def check(seed: int, engine: Any) -> bool:
    """Compare one random query; say whether a side was read for both."""
    rng = random.Random(f"whole-{seed}")
    tables = {name: random_rows(rng, -3, 3) for name in "abc"}
    word, more = rng.choice(("EXISTS", "NOT EXISTS")), rng.choice(_MORE)
    rows = few(rng)
    more = more if not more or more[-1] in rows.split("FROM")[0] else ""
    sql = f"SELECT f.* FROM ({rows}) f WHERE {word} (SELECT 1 FROM b WHERE b.k = f.k{more})"
    plain = read_query(sql, [source(name, rows) for name, rows in tables.items()]).relation
    reduced = reduce_partners(plain)
    assert reduced is not None
    sides = SmallSides(1, {})
    stage = held(reduced, sides)
    for name, given in tables.items():
        engine.bind(name, COLUMNS, given)
    expected = engine.query(to_sql(plain))
    for side in sides.made:
        engine.bind(
            side.view, tuple((c.name, c.type) for c in side.columns), engine.query(side.sql)
        )
    compare_bags(expected, engine.query(to_sql(stage)))
    (one,) = sides.made
    return to_sql(stage).count(f"`{one.view}`") > 1 and len(one.columns) > 1


@pytest.mark.parametrize("start", [0, 60])
def test_on_sail(start: int) -> None:
    engine = PlainSailEngine(sail_session())
    assert all(check(seed, engine) for seed in range(start, start + 60))


@pytest.mark.spark
def test_on_spark() -> None:
    engine = PlainSparkEngine(spark_session())
    assert all(check(seed, engine) for seed in range(1000, 1008))
