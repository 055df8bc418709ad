"""The order of a join block, with costs given by hand."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import Scan
from forerun.planner.algebra.scalar import Call, Ref, Scalar, equals
from forerun.planner.algebra.types import BOOLEAN, INT, Column, ColumnId
from forerun.planner.rules.normalize.join_order import Block, Order, left_deep_order
from forerun.planner.stats.joins import block_selectivities
from forerun.planner.stats.values import ColumnEstimate, Estimate

COLUMNS = tuple(Column(ColumnId(i), f"c{i}", INT) for i in range(6))
LEAVES = tuple(Scan(f"t{i}", (column,)) for i, column in enumerate(COLUMNS))


def block(*pairs: tuple[int, int], residual: tuple[int, int] | None = None) -> Block:
    count = 1 + max(leaf for pair in pairs for leaf in pair)
    parts: list[Scalar] = [equals(COLUMNS[a], COLUMNS[b]) for a, b in pairs]
    reads = [frozenset(pair) for pair in pairs]
    if residual is not None:
        a, b = residual
        parts.append(Call("<", (Ref(COLUMNS[a]), Ref(COLUMNS[b])), BOOLEAN))
        reads.append(frozenset(residual))
        count = max(count, 1 + max(residual))
    return Block(LEAVES[:count], tuple(parts), tuple(reads))


def order_of(
    given: Block, *sizes: float, shares: dict[tuple[int, int], float] | None = None
) -> Order:
    return Order(given, sizes, {frozenset(pair): s for pair, s in (shares or {}).items()})


def test_a_chain_has_no_cross_product_even_if_one_were_cheap() -> None:
    chain = block((0, 1), (1, 2), (2, 3))
    asked = order_of(chain, 2.0, 1e6, 1e6, 2.0)
    order = left_deep_order(asked)
    for position in range(1, 4):
        assert asked.is_connected(frozenset(order[:position]), order[position])


def test_the_selective_join_comes_first_and_the_larger_leaf_left() -> None:
    star = block((0, 1), (0, 2), (0, 3))
    shares = {(0, 1): 1e-2, (0, 2): 1e-4, (0, 3): 1e-3}
    assert left_deep_order(order_of(star, 1e6, 10, 10, 10, shares=shares)) == (0, 2, 3, 1)


def test_inequalities_connect_nothing() -> None:
    lonely = block((0, 1), residual=(1, 2))
    asked = order_of(lonely, 10, 10, 10)
    assert not asked.is_connected(frozenset({0, 1}), 2)
    assert left_deep_order(asked) == (0, 1, 2)


def test_equal_costs_keep_the_order_of_the_text() -> None:
    clique = block((0, 1), (0, 2), (1, 2))
    assert left_deep_order(order_of(clique, 10, 10, 10)) == (0, 1, 2)


def test_of_a_large_block_not_every_start_is_tried() -> None:
    count = 300
    columns = tuple(Column(ColumnId(i), f"c{i}", INT) for i in range(count))
    leaves = tuple(Scan(f"t{i}", (column,)) for i, column in enumerate(columns))
    parts: tuple[Scalar, ...] = tuple(equals(columns[0], other) for other in columns[1:])
    star = Block(leaves, parts, tuple(frozenset({0, i}) for i in range(1, count)))
    order = left_deep_order(order_of(star, *(1000.0 + i for i in range(count))))
    assert sorted(order) == list(range(count))
    assert order[:3] == (299, 0, 1), "the largest, the one it is joined to, then by size"


@pytest.mark.parametrize("whole", [2e6, 2e5])
def test_a_filter_of_the_key_s_leaf_leaves_foreign_keys_without_a_partner(whole: float) -> None:
    """Two of 22 TPC-H queries joined their filtered parts last: of 60 million lines all seemed to
    find one of the tenth of the parts that was left."""
    rows, values = (6e7, 2e5), (2e6, 2e5)
    leaves = [
        Estimate(rows=count, columns={column.id: ColumnEstimate(distinct=distinct)})
        for count, distinct, column in zip(rows, values, COLUMNS, strict=False)
    ]
    given = block((0, 1))
    shares = block_selectivities(leaves, (6e7, whole), given.parts, given.reads)
    assert rows[0] * rows[1] * shares[frozenset((0, 1))] == pytest.approx(6e7 * 2e5 / whole)
