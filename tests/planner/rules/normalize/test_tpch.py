"""The normal form of the 22 TPC-H queries."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import Filter, Join, JoinKind, Relation, Scan, walk
from forerun.planner.algebra.scalar import conjuncts, references
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.rules.normalize.rule import ids_of
from forerun.planner.rules.normalize.safety import is_movable
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.planner.rules.normalize.trees import check_columns_unique
from tests.planner.sql.tpch import SOURCES, TEXTS

ROWS = {
    "region": 5, "nation": 25, "supplier": 10_000, "customer": 150_000, "part": 200_000,
    "partsupp": 800_000, "orders": 1_500_000, "lineitem": 6_000_000,
}  # fmt: skip
SIZED = tuple(replace(source, rows=ROWS[source.name]) for source in SOURCES)

# Joins without an equality that are in the query itself: scalar subqueries over everything, and
# NOT IN over columns that may be NULL.
NO_EQUALITY = {"q11": 1, "q16": 1, "q22": 1}


def normal_form(path: Path) -> tuple[Relation, Relation]:
    query = read_query(path.read_text(), SIZED)
    return query.relation, normalize(query.relation, SIZED, ColumnIds(query.last_id))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_normal_form(path: Path) -> None:
    before, after = normal_form(path)
    assert [c.type for c in after.columns] == [c.type for c in before.columns]
    check_columns_unique(path.stem, after)
    without = [
        node for node in walk(after) if isinstance(node, Join) and not split_condition(node).pairs
    ]
    assert len(without) == NO_EQUALITY.get(path.stem, 0)
    for node in walk(after):
        if isinstance(node, Join):
            check_condition(node)
        if isinstance(node, Filter):
            check_filter(node)


def check_condition(join: Join) -> None:
    """What belongs to one side is not in the condition."""
    if join.kind is JoinKind.INNER:
        for part in conjuncts(join.condition):
            read = references(part)
            assert read & ids_of(join.left)
            assert read & ids_of(join.right)
    assert join.kind is not JoinKind.RIGHT


def check_filter(node: Filter) -> None:
    """Over an inner join only what may not be evaluated earlier is left."""
    if isinstance(node.input, Join) and node.input.kind is JoinKind.INNER:
        assert not any(is_movable(part) for part in conjuncts(node.predicate))


def test_scans_read_what_is_needed() -> None:
    _, after = normal_form(TEXTS[5])
    (scan,) = [node for node in walk(after) if isinstance(node, Scan)]
    assert {column.name for column in scan.scanned} == {
        "l_quantity", "l_extendedprice", "l_discount", "l_shipdate",
    }  # fmt: skip


def test_joins_start_with_what_is_small() -> None:
    """Q5: the filtered orders before lineitem; nothing multiplies lineitem."""
    _, after = normal_form(TEXTS[4])
    order = [node.source for node in walk(after) if isinstance(node, Scan)]
    assert order.index("orders") < order.index("lineitem")


def test_time_of_normalization(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, not asserted: 20 ms a query is wanted."""
    slowest = 0.0
    for path in TEXTS:
        query = read_query(path.read_text(), SIZED)
        start = time.perf_counter()
        normalize(query.relation, SIZED, ColumnIds(query.last_id))
        slowest = max(slowest, time.perf_counter() - start)
    with capsys.disabled():
        print(f"\nslowest normalization: {slowest * 1000:.1f} ms")
