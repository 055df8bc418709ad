"""Finds the best left-deep order of the leaves of a block by IKKBZ.

For an acyclic join graph, the left-deep tree without cross products whose intermediate results are
smallest is found in polynomial time: with a given first leaf, the precedence of the others is a
tree, and its chains are merged by rank::

    T(v) = rows of v times the selectivity of the edge it is reached by        T(uv) = T(u) T(v)
    C(v) = T(v), of the first leaf 0                                    C(uv) = C(u) + T(u) C(v)
    rank = (T - 1) / C

A leaf whose rank is above that of its successor is fused with it into one step, since it pays only
together with what it enables. A graph with cycles is reduced to its most selective spanning tree.
Sources: Ibaraki and Kameda, TODS 1984; Krishnamurthy, Boral and Zaniolo, VLDB 1986 (IKKBZ); as the
linearization of large blocks: Neumann and Radke, SIGMOD 2018.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Edge = tuple[int, int]
"""Two leaves that an equality connects, the smaller number first."""
STARTS = 10_000
"""The most leaves that are visited over all starts; up to 100 leaves, every leaf is a start."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A sequence of leaves with its T (``size``) and C (``cost``), as in the module docstring."""

    leaves: tuple[int, ...]
    size: float
    cost: float

    @property
    def rank(self) -> float:
        return (self.size - 1.0) / self.cost if self.cost else float("-inf")

    def then(self, other: _Step) -> _Step:
        return _Step(
            (*self.leaves, *other.leaves),
            self.size * other.size,
            self.cost + self.size * other.cost,
        )


def linear_order(rows: Sequence[float], edges: Mapping[Edge, float]) -> tuple[int, ...]:
    """Return all leaves in join order; each but the first has an edge to an earlier one.

    ``rows`` are the rows of the leaves, ``edges`` the selectivities of the edges, which must
    connect all leaves. Of equal orders, the one that starts with fewer rows wins, then the one that
    starts with the lower number."""
    count = len(rows)
    tree = _spanning_tree(count, edges)
    starts = sorted(range(count), key=lambda leaf: (rows[leaf], leaf))
    best: _Step | None = None
    for start in starts[: max(1, STARTS // count)]:
        found = _from(start, rows, tree)
        if best is None or found.cost < best.cost * (1.0 - 1e-9):
            best = found
    return best.leaves if best is not None else ()


def _spanning_tree(count: int, edges: Mapping[Edge, float]) -> list[dict[int, float]]:
    """Return the most selective spanning tree: the neighbours of each leaf with selectivities."""
    part = list(range(count))

    def root(leaf: int) -> int:
        while part[leaf] != leaf:
            part[leaf] = part[part[leaf]]
            leaf = part[leaf]
        return leaf

    tree: list[dict[int, float]] = [{} for _ in range(count)]
    for (one, other), share in sorted(edges.items(), key=lambda edge: (edge[1], edge[0])):
        if root(one) != root(other):
            part[root(other)] = root(one)
            tree[one][other] = tree[other][one] = share
    return tree


def _from(start: int, rows: Sequence[float], tree: Sequence[Mapping[int, float]]) -> _Step:
    """Return the best order that begins with a given leaf."""
    above: dict[int, int] = {start: start}
    down = [start]
    for leaf in down:
        for other in sorted(tree[leaf]):
            if other not in above:
                above[other] = leaf
                down.append(other)
    chains: dict[int, list[_Step]] = {leaf: [] for leaf in down}
    for leaf in reversed(down[1:]):
        size = max(rows[leaf] * tree[leaf][above[leaf]], 1e-9)
        chain = _falling(_Step((leaf,), size, size), chains.pop(leaf))
        chains[above[leaf]] = list(heapq.merge(chains[above[leaf]], chain, key=_order))
    whole = _Step((start,), max(rows[start], 1e-9), 0.0)
    for step in chains[start]:
        whole = whole.then(step)
    return whole


def _order(step: _Step) -> tuple[float, int]:
    return step.rank, step.leaves[0]


def _falling(first: _Step, rest: list[_Step]) -> list[_Step]:
    """Return a chain with ``first`` put before it, fused with the steps of lower rank, so that
    ranks ascend along the chain."""
    taken = 0
    while taken < len(rest) and first.rank > rest[taken].rank:
        first = first.then(rest[taken])
        taken += 1
    return [first, *rest[taken:]]
