"""Join trees by dynamic programming over connected sets of leaves.

A set of leaves is an integer, one bit a leaf. An edge is an equality that joins two leaves; sets
that no edge joins are never paired, so no tree has a cross product. Exact enumeration: Moerkotte
and Neumann, "Analysis of two existing and one new dynamic programming algorithm for the generation
of optimal bushy join trees without cross products", VLDB 2006 (DPccp). For large blocks, the trees
that join neighbours of one order (:mod:`planner.rules.explore.linear_order`): Neumann and Radke,
"Adaptive optimization of very large join queries", SIGMOD 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice

Bits = int
Pair = tuple[Bits, Bits]
Price = Callable[[Bits, Bits], float]
"""Of joining two sets that have been made."""
Trees = dict[Bits, tuple[float, Pair]]
"""Per set the price of its best tree, and the two sets that are joined last."""


def bits(leaves: Bits) -> Iterator[int]:
    """The leaves of a set, in order."""
    while leaves:
        lowest = leaves & -leaves
        yield lowest.bit_length() - 1
        leaves ^= lowest


def around(neighbours: Sequence[Bits], leaves: Bits) -> Bits:
    """The leaves that an edge joins with some of the set."""
    found = 0
    for leaf in bits(leaves):
        found |= neighbours[leaf]
    return found & ~leaves


def is_connected(neighbours: Sequence[Bits]) -> bool:
    """Whether edges join all leaves."""
    reached = 1
    while more := around(neighbours, reached):
        reached |= more
    return reached == (1 << len(neighbours)) - 1


def connected_pairs(neighbours: Sequence[Bits], most: int) -> list[Pair] | None:
    """Every pair of disjoint connected sets that an edge joins, once, in either order of the two;
    pairs that a set can be made of come before those it is part of. None if there are more than
    ``most``."""
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
    """The set, and every connected one that it grows to without the ``closed`` leaves; smaller
    sets before those that contain them."""
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
    """The same for intervals of the leaves in an order. If there would be more than ``most`` to
    look at, only the widest intervals for which there are not, each with its neighbour or with all
    that stands before it; never less than the order itself, one leaf after another, and pairs of
    its leaves."""
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
    """Of the intervals that are looked at: all, if that is at most ``most`` pairs."""
    return next((width for width in range(count - 1, 1, -1) if _work(count, width) <= most), 1)


def _work(count: int, width: int) -> int:
    """Pairs of neighbouring intervals of at most some width, or of a beginning with one of them."""
    looked = 0
    for cut in range(1, count):
        right = min(width, count - cut)
        looked += right * (min(width, cut) + (cut > width))
    return looked


def best_trees(count: int, pairs: Sequence[Pair], price: Price) -> Trees:
    """The cheapest tree of every set of two or more leaves that the pairs make; of equal ones that
    which comes first."""
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
    """The joins of the best tree of a set, each after those it is made of."""
    if leaves in trees:
        one, other = trees[leaves][1]
        yield from joins_of(trees, one)
        yield from joins_of(trees, other)
        yield one, other
