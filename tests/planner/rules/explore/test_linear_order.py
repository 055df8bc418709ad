"""The linear order of a block against every order there is, on random graphs."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import pytest

from forerun.planner.rules.explore.linear_order import Edge, linear_order

GRAPHS = 150


def random_block(
    rng: random.Random, count: int, cycles: int
) -> tuple[list[float], dict[Edge, float]]:
    rows = [float(10 ** rng.randrange(1, 6)) for _ in range(count)]
    edges = {}
    for leaf in range(1, count):
        edges[rng.randrange(leaf), leaf] = 10.0 ** -rng.uniform(0.0, 5.0)
    for _ in range(cycles):
        one, other = sorted(rng.sample(range(count), 2))
        edges.setdefault((one, other), 10.0 ** -rng.uniform(0.0, 5.0))
    return rows, edges


def orders(count: int, edges: dict[Edge, float], begun: tuple[int, ...] = ()) -> Iterator[Sequence]:
    """Every order without a cross product."""
    if len(begun) == count:
        yield begun
    for leaf in set(range(count)) - set(begun):
        if not begun or any(joins(edges, done, leaf) for done in begun):
            yield from orders(count, edges, (*begun, leaf))


def joins(edges: dict[Edge, float], one: int, other: int) -> bool:
    return (min(one, other), max(one, other)) in edges


def results(order: Sequence[int], rows: list[float], edges: dict[Edge, float]) -> float:
    """The sum of the rows of all joins."""
    total, size, done = 0.0, rows[order[0]], {order[0]}
    for leaf in order[1:]:
        done.add(leaf)
        shares = (s for e, s in edges.items() if leaf in e and set(e) <= done)
        size *= rows[leaf] * math.prod(shares)
        total += size
    return total


@pytest.mark.parametrize("count", [2, 3, 5, 6])
def test_without_cycles_it_is_the_best_order_of_all(count: int) -> None:
    for seed in range(GRAPHS):
        rows, edges = random_block(random.Random(f"{count}-{seed}"), count, 0)
        found = linear_order(rows, edges)
        best = min(results(order, rows, edges) for order in orders(count, edges))
        assert math.isclose(results(found, rows, edges), best, rel_tol=1e-6), seed


def test_with_cycles_it_is_an_order_without_cross_products() -> None:
    for seed in range(GRAPHS):
        rng = random.Random(seed)
        rows, edges = random_block(rng, rng.randrange(3, 60), rng.randrange(6))
        found = linear_order(rows, edges)
        assert sorted(found) == list(range(len(rows)))
        for place, leaf in enumerate(found[1:], 1):
            assert any(joins(edges, done, leaf) for done in found[:place])


def test_where_all_are_equal_it_is_the_order_of_the_query() -> None:
    star = {(0, leaf): 1e-3 for leaf in range(1, 12)}
    assert linear_order([1000.0] * 12, star) == tuple(range(12))


def test_a_very_large_block_starts_from_fewer_leaves() -> None:
    rows = [1000.0 + leaf for leaf in range(400)]
    chain = {(leaf, leaf + 1): 1e-3 for leaf in range(399)}
    assert linear_order(rows, chain)[0] == 0
