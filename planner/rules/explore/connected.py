"""Enumerates join trees by dynamic programming over connected sets of leaves.

A set of leaves is an integer with one bit per leaf. An edge is an equality between two leaves; sets
that no edge connects are never paired, so no tree has a cross product. The exact enumeration is
DPccp (Moerkotte and Neumann, "Analysis of two existing and one new dynamic programming algorithm
for the generation of optimal bushy join trees without cross products", VLDB 2006). For large blocks
only trees that join neighbours in one linear order are enumerated
(:mod:`forerun.planner.rules.explore.linear_order`; Neumann and Radke, "Adaptive optimization of
very large join queries", SIGMOD 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice

Bits = int
Pair = tuple[Bits, Bits]
Price = Callable[[Bits, Bits], float]
"""The cost of joining two sets, without the cost of making them."""
Trees = dict[Bits, tuple[float, Pair]]
"""For each set, the cost of its best tree and the two sets that the tree joins last."""


def bits(leaves: Bits) -> Iterator[int]:
    """Yield the numbers of the leaves in a set, in ascending order."""
    while leaves:
        lowest = leaves & -leaves
        yield lowest.bit_length() - 1
        leaves ^= lowest


def around(neighbours: Sequence[Bits], leaves: Bits) -> Bits:
    """Return the leaves outside a set that an edge connects to it. ``neighbours`` has, for each
    leaf, the set of leaves that it shares an edge with."""
    found = 0
    for leaf in bits(leaves):
        found |= neighbours[leaf]
    return found & ~leaves


def is_connected(neighbours: Sequence[Bits]) -> bool:
    """Return whether the join graph is connected."""
    reached = 1
    while more := around(neighbours, reached):
        reached |= more
    return reached == (1 << len(neighbours)) - 1


def connected_pairs(neighbours: Sequence[Bits], most: int) -> list[Pair] | None:
    """Return all pairs of disjoint connected sets with an edge between them, each pair once; None
    if there are more than ``most``. The pairs that make a set come before those that contain it, as
    dynamic programming needs."""
    found = list(islice(_pairs(neighbours), most + 1))
    return found if len(found) <= most else None


def _pairs(neighbours: Sequence[Bits]) -> Iterator[Pair]:
    for first in reversed(range(len(neighbours))):
        start = 1 << first
        for one in _grown(neighbours, start, (start << 1) - 1):
            # The other set has no leaf before the first of this one: each pair is found once.
            closed = ((start << 1) - 1) | one
            free = around(neighbours, one) & ~closed
            for leaf in reversed(list(bits(free))):
                below = free & ((1 << leaf) - 1)
                for other in _grown(neighbours, 1 << leaf, closed | below | (1 << leaf)):
                    yield one, other


def _grown(neighbours: Sequence[Bits], leaves: Bits, closed: Bits) -> Iterator[Bits]:
    """Yield a connected set and all its connected supersets without further ``closed`` leaves, each
    after the sets that it was grown from."""
    yield leaves
    yield from _larger(neighbours, leaves, closed)


def _larger(neighbours: Sequence[Bits], leaves: Bits, closed: Bits) -> Iterator[Bits]:
    free = around(neighbours, leaves) & ~closed
    if not free:
        return
    added = -free & free
    while added:
        yield leaves | added
        added = (added - free) & free
    added = -free & free
    while added:
        yield from _larger(neighbours, leaves | added, closed | free)
        added = (added - free) & free


def neighbouring_pairs(neighbours: Sequence[Bits], order: Sequence[int], most: int) -> list[Pair]:
    """Return the pairs of connected sets that are neighbouring intervals of a linear order.

    If there are more than ``most`` candidates, intervals get a maximal width: the largest with at
    most ``most`` candidates, at least 1. An interval within that width is then paired with a
    neighbour within it, or with all leaves before it. So the left-deep tree of the order is always
    included."""
    count = len(order)
    width = _width(count, most)
    before = list(accumulate((1 << leaf for leaf in order), initial=0))
    found: list[Pair] = []
    made = {1 << leaf for leaf in order}
    for length in range(2, count + 1):
        for start in range(count - length + 1 if length <= 2 * width else 1):
            first = max(1, length - width)
            last = length if start == 0 else min(length, width + 1)
            for cut in range(first, last):
                one = before[start + cut] - before[start]
                other = before[start + length] - before[start + cut]
                if one in made and other in made and around(neighbours, one) & other:
                    found.append((one, other))
                    made.add(one | other)
    return found


def _width(count: int, most: int) -> int:
    """Return the largest width of intervals with at most ``most`` candidate pairs, at least 1."""
    return next((width for width in range(count - 1, 1, -1) if _work(count, width) <= most), 1)


def _work(count: int, width: int) -> int:
    """Count the candidate pairs: neighbouring intervals of at most a width, or a prefix of the
    order with such an interval after it."""
    looked = 0
    for cut in range(1, count):
        right = min(width, count - cut)
        looked += right * (min(width, cut) + (cut > width))
    return looked


def best_trees(count: int, pairs: Sequence[Pair], price: Price) -> Trees:
    """Return the cheapest tree of every set of two or more leaves that the pairs can make. Of equal
    trees the first wins. Pairs whose parts come later are a KeyError."""
    costs: dict[Bits, float] = {1 << leaf: 0.0 for leaf in range(count)}
    trees: Trees = {}
    for one, other in pairs:
        cost = costs[one] + costs[other] + price(one, other)
        whole = one | other
        known = costs.get(whole)
        if known is None or cost < known:
            costs[whole] = cost
            trees[whole] = (cost, (one, other))
    return trees


def joins_of(trees: Trees, leaves: Bits) -> Iterator[Pair]:
    """Yield the joins of the best tree of a set, inputs before the joins that read them."""
    if leaves in trees:
        one, other = trees[leaves][1]
        yield from joins_of(trees, one)
        yield from joins_of(trees, other)
        yield one, other
