"""Enumeration of join trees against all of them, on random graphs."""

from __future__ import annotations

import random
from collections.abc import Callable

from forerun.planner.rules.explore.connected import (
    Bits,
    around,
    best_trees,
    connected_pairs,
    is_connected,
    joins_of,
    neighbouring_pairs,
)
from forerun.planner.rules.explore.linear_order import linear_order

GRAPHS = 200


def random_graph(rng: random.Random, count: int) -> list[Bits]:
    """Connected: a tree, and a few more edges."""
    found = [0] * count
    edges = [(i, rng.randrange(i)) for i in range(1, count)]
    edges += [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randrange(4))]
    for one, other in edges:
        if one != other:
            found[one] |= 1 << other
            found[other] |= 1 << one
    return found


def chain(count: int) -> list[Bits]:
    whole = (1 << count) - 1
    return [((1 << n >> 1) | (1 << n << 1)) & whole for n in range(count)]


def holds_together(graph: list[Bits], leaves: Bits) -> bool:
    reached = leaves & -leaves
    while more := around(graph, reached) & leaves:
        reached |= more
    return reached == leaves


def all_pairs(graph: list[Bits]) -> set[frozenset[Bits]]:
    sets = [s for s in range(1, 1 << len(graph)) if holds_together(graph, s)]
    return {
        frozenset((one, other))
        for one in sets
        for other in sets
        if one < other and not one & other and around(graph, one) & other
    }


def cheapest(graph: list[Bits], leaves: Bits, price: Callable[[Bits, Bits], float]) -> float:
    """By trying every tree without a cross product."""
    if leaves.bit_count() == 1:
        return 0.0
    found = []
    one = (leaves - 1) & leaves
    while one:
        other = leaves ^ one
        if holds_together(graph, one) and holds_together(graph, other):
            below = cheapest(graph, one, price) + cheapest(graph, other, price)
            found.append(below + price(one, other))
        one = (one - 1) & leaves
    return min(found)


def test_every_pair_once_and_after_those_it_is_made_of() -> None:
    for seed in range(GRAPHS):
        rng = random.Random(seed)
        graph = random_graph(rng, rng.randrange(2, 8))
        expected = all_pairs(graph)
        found = connected_pairs(graph, len(expected))
        assert found is not None
        assert len(found) == len(expected)
        assert {frozenset(pair) for pair in found} == expected
        missing = dict.fromkeys(expected)
        for one, other in found:
            made_of = [p for p in missing if sum(p) in (one, other)]
            assert not made_of, f"graph {seed}: {one:b} and {other:b} before {made_of}"
            del missing[frozenset((one, other))]
        assert connected_pairs(graph, len(expected) - 1) is None


def test_the_best_tree_is_the_cheapest_of_all() -> None:
    for seed in range(GRAPHS // 4):
        rng = random.Random(seed)
        graph = random_graph(rng, rng.randrange(2, 7))
        prices: dict[frozenset[Bits], float] = {}

        def price(one: Bits, other: Bits) -> float:
            return prices.setdefault(frozenset((one, other)), rng.randrange(1, 100))  # noqa: B023

        whole = (1 << len(graph)) - 1
        pairs = connected_pairs(graph, 10_000)
        assert pairs is not None
        trees = best_trees(len(graph), pairs, price)
        assert trees[whole][0] == cheapest(graph, whole, price)
        joins = list(joins_of(trees, whole))
        assert sum(price(*join) for join in joins) == trees[whole][0]
        made = {1 << leaf for leaf in range(len(graph))}
        for one, other in joins:
            assert {one, other} <= made
            made.add(one | other)
        assert whole in made


def test_intervals_of_a_chain_are_all_of_its_connected_sets() -> None:
    for count in range(2, 9):
        linear = neighbouring_pairs(chain(count), range(count), 10_000)
        assert {frozenset(pair) for pair in linear} == all_pairs(chain(count))
        assert len(linear) == len(all_pairs(chain(count)))


def test_pairs_of_neighbours_are_made_of_pairs_before_them_and_counted() -> None:
    for seed in range(GRAPHS):
        rng = random.Random(f"order-{seed}")
        count = rng.randrange(2, 40)
        graph = random_graph(rng, count)
        most = rng.choice((10, 100, 1000, 10_000))
        order = linear_order([1.0] * count, dict.fromkeys(edges_of(graph), 0.5))
        pairs = neighbouring_pairs(graph, order, most)
        assert len(pairs) <= max(most, 2 * count)
        made = {1 << leaf for leaf in range(count)}
        for one, other in pairs:
            assert {one, other} <= made
            made.add(one | other)
        assert (1 << count) - 1 in made, "at least the order itself is a tree"


def test_wider_intervals_where_there_is_work_for_them() -> None:
    budgets = (0, 200, 500, 10_000)
    sizes = [len(neighbouring_pairs(chain(30), range(30), most)) for most in budgets]
    assert sizes[0] == 29 + 28
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == (30**3 - 30) // 6


def edges_of(graph: list[Bits]) -> list[tuple[int, int]]:
    count = len(graph)
    return [(a, b) for a in range(count) for b in range(a + 1, count) if graph[a] >> b & 1]


def test_large_graphs_give_up_early() -> None:
    clique = [((1 << 60) - 1) ^ (1 << n) for n in range(60)]
    star = [((1 << 60) - 1) ^ 1, *([1] * 59)]
    for graph in (clique, star):
        assert connected_pairs(graph, 1000) is None


def test_connected() -> None:
    assert is_connected(chain(5))
    assert not is_connected([2, 1, 8, 4])
