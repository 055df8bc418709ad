"""Orders blocks of inner joins as left-deep trees without needless cross products.

A block is a maximal tree of inner joins; its leaves are everything else. The order is greedy: from
each leaf as the start, it repeatedly adds the connected leaf that gives the fewest rows. The start
with the smallest sum of intermediate results wins (C_out, Moerkotte and Neumann 2006). The memo
explores other orders, also bushy ones (:mod:`forerun.planner.rules.explore.join_orders`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from forerun.planner.algebra.relational import Filter, Join, JoinKind, Project, Relation
from forerun.planner.algebra.scalar import Call, Scalar, conjunction, conjuncts, references
from forerun.planner.rules.normalize.rule import NormalizeContext, ids_of, reordered
from forerun.planner.stats.joins import block_selectivities

Leaves = frozenset[int]
MOST_STEPS = 12_000
"""The most leaves that are looked at in ordering one block, over all starts. A block of 20 leaves
is tried from every start, one of 300 only from its largest leaf."""


@dataclass(frozen=True, slots=True)
class Block:
    """A join block: its leaves, its conjuncts, and for each conjunct the leaves that it reads."""

    leaves: tuple[Relation, ...]
    parts: tuple[Scalar, ...]
    reads: tuple[Leaves, ...]


class Order:
    """An index of a block for ordering it: whether a leaf is connected to those joined already, and
    how many rows it gives. Each question takes time linear in the conjuncts of the leaf, however
    many leaves the block has."""

    def __init__(self, block: Block, rows: Sequence[float], shares: Mapping[Leaves, float]) -> None:
        self.rows = tuple(max(1.0, of_leaf) for of_leaf in rows)
        self._equalities: list[list[Leaves]] = [[] for _ in block.leaves]
        self._shares: list[list[tuple[Leaves, float]]] = [[] for _ in block.leaves]
        for part, read in zip(block.parts, block.reads, strict=True):
            if len(read) > 1 and _is_equality(part):
                for leaf in read:
                    self._equalities[leaf].append(read - {leaf})
        for read, share in shares.items():
            for leaf in read:
                self._shares[leaf].append((read - {leaf}, share))

    def is_connected(self, joined: AbstractSet[int], leaf: int) -> bool:
        """Return whether an equality connects a leaf to the joined leaves."""
        return any(others <= joined for others in self._equalities[leaf])

    def grown(self, rows: float, joined: AbstractSet[int], leaf: int) -> float:
        """Return the rows after one more leaf is joined: ``rows`` times the rows of the leaf, times
        the selectivities of the conjuncts that it completes."""
        return rows * self.rows[leaf] * math.prod(
            share for others, share in self._shares[leaf] if others <= joined
        )  # fmt: skip


def _is_equality(part: Scalar) -> bool:
    return isinstance(part, Call) and part.name == "="


def left_deep_order(order: Order) -> tuple[int, ...]:
    """Return the leaves in join order. It is deterministic: of equal costs, the start with more
    rows wins, then the one that is first in the text."""
    count = len(order.rows)
    by_size = sorted(range(count), key=lambda leaf: (-order.grown(1.0, frozenset(), leaf), leaf))
    best: tuple[float, tuple[int, ...]] | None = None
    for start in by_size[: max(1, MOST_STEPS // count**2)]:
        found = _greedy(order, start)
        if best is None or found[0] < best[0] * (1.0 - 1e-9):
            best = found
    return best[1] if best is not None else ()


def _greedy(order: Order, start: int) -> tuple[float, tuple[int, ...]]:
    chosen, joined, cost = [start], {start}, 0.0
    rows = order.grown(1.0, frozenset(), start)
    free = [leaf for leaf in range(len(order.rows)) if leaf != start]
    while free:
        connected = [leaf for leaf in free if order.is_connected(joined, leaf)]
        rows, best = min((order.grown(rows, joined, leaf), leaf) for leaf in connected or free)
        joined.add(best)
        chosen.append(best)
        free.remove(best)
        cost += rows
    return cost, tuple(chosen)


def reorder_blocks(relation: Relation, context: NormalizeContext) -> Relation:
    """Put every block of three or more leaves in its best left-deep order; keep others as written.

    ``(A join B) join C`` = ``(A join C) join B``: inner joins of bags commute and associate if each
    conjunct stays at or above the first join that has its columns.
    """
    results: list[Relation] = []
    stack: list[tuple[Relation, bool]] = [(relation, False)]
    while stack:
        node, ready = stack.pop()
        below = _leaves(node)
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(below))
            continue
        count = len(below)
        inputs = tuple(results[len(results) - count :])
        del results[len(results) - count :]
        results.append(_ordered(node, inputs, context))
    return results[0]


def _is_inner(node: Relation) -> bool:
    return isinstance(node, Join) and node.kind is JoinKind.INNER


def _leaves(node: Relation) -> tuple[Relation, ...]:
    """Return the leaves of the block that the node is the top of, or else its inputs."""
    if not _is_inner(node):
        return node.inputs
    found: list[Relation] = []
    stack = list(reversed(node.inputs))
    while stack:
        side = stack.pop()
        if _is_inner(side):
            stack.extend(reversed(side.inputs))
        else:
            found.append(side)
    return tuple(found)


def _parts(node: Relation) -> tuple[Scalar, ...]:
    """Return the conjuncts of the block, lower joins before the joins that read them."""
    found: list[tuple[Scalar, ...]] = []
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Join) and current.kind is JoinKind.INNER:
            found.append(conjuncts(current.condition))
            stack.extend(current.inputs)
    return tuple(part for own in reversed(found) for part in own)


def _ordered(node: Relation, inputs: tuple[Relation, ...], context: NormalizeContext) -> Relation:
    if not _is_inner(node):
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        return node if same else node.with_inputs(inputs)
    block = _block(inputs, tuple(dict.fromkeys(_parts(node))))
    order = left_deep_order(_order(block, context)) if len(inputs) > 2 else (0, 1)
    return reordered(_rebuilt(block, order), node.columns)


def _block(leaves: tuple[Relation, ...], parts: tuple[Scalar, ...]) -> Block:
    owner = {id_: i for i, leaf in enumerate(leaves) for id_ in ids_of(leaf)}
    reads = tuple(frozenset(owner[id_] for id_ in references(part)) for part in parts)
    return Block(leaves, parts, reads)


def _rebuilt(block: Block, order: tuple[int, ...]) -> Relation:
    """Build the left-deep tree, with each conjunct at the first join that has all its leaves."""
    tree, joined = block.leaves[order[0]], frozenset({order[0]})
    placed: set[int] = set()
    for leaf in order[1:]:
        joined |= {leaf}
        now = [i for i, read in enumerate(block.reads) if i not in placed and read <= joined]
        placed.update(now)
        condition = conjunction(tuple(block.parts[i] for i in now))
        tree = Join(JoinKind.INNER, tree, block.leaves[leaf], condition)
    return tree


def _order(block: Block, context: NormalizeContext) -> Order:
    estimates = [context.estimator.estimate(leaf) for leaf in block.leaves]
    whole = [context.estimator.estimate(_unfiltered(leaf)).rows for leaf in block.leaves]
    shares = block_selectivities(estimates, whole, block.parts, block.reads)
    return Order(block, [estimate.rows for estimate in estimates], shares)


def _unfiltered(leaf: Relation) -> Relation:
    while isinstance(leaf, Filter | Project):
        leaf = leaf.input
    return leaf
