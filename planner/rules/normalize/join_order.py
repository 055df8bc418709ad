"""Blocks of inner joins become left-deep trees without needless cross products.

A block is a maximal tree of inner joins; its leaves are everything else. Greedy from each leaf as
the start, always adding the connected leaf that gives the fewest rows; the start with the smallest
sum of intermediate results wins (C_out, Moerkotte and Neumann 2006), ties by the order of the text.
The full search is a later concern; it only has to replace :func:`left_deep_order`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.algebra.relational import Join, JoinKind, Relation
from planner.algebra.scalar import Call, Scalar, conjunction, conjuncts, references
from planner.rules.normalize.rule import Context, ids_of, reordered
from planner.stats.joins import block_selectivities

Leaves = frozenset[int]
Rows = Callable[[Leaves], float]


@dataclass(frozen=True, slots=True)
class Block:
    """Leaves of a join block, its conjuncts, and per conjunct the leaves that it reads."""

    leaves: tuple[Relation, ...]
    parts: tuple[Scalar, ...]
    reads: tuple[Leaves, ...]

    def is_connected(self, one: Leaves, other: int) -> bool:
        """True if an equality joins the leaf to some of the others."""
        both = one | {other}
        return any(
            other in read and len(read) > 1 and read <= both and _is_equality(part)
            for part, read in zip(self.parts, self.reads, strict=True)
        )


def _is_equality(part: Scalar) -> bool:
    return isinstance(part, Call) and part.name == "="


def left_deep_order(block: Block, rows: Rows) -> tuple[int, ...]:
    """The leaves in the order in which they are joined. ``rows`` estimates the join of a set of
    leaves; it is asked for O(n^3) sets. Deterministic: equal costs keep the order of the text,
    the larger leaf first."""
    count = len(block.leaves)
    by_size = sorted(range(count), key=lambda leaf: (-rows(frozenset({leaf})), leaf))
    best: tuple[float, tuple[int, ...]] | None = None
    for start in by_size:
        found = _greedy(block, rows, start)
        if best is None or found[0] < best[0] * (1.0 - 1e-9):
            best = found
    return best[1] if best is not None else ()


def _greedy(block: Block, rows: Rows, start: int) -> tuple[float, tuple[int, ...]]:
    order, joined, cost = [start], frozenset({start}), 0.0
    while len(order) < len(block.leaves):
        free = [leaf for leaf in range(len(block.leaves)) if leaf not in joined]
        connected = [leaf for leaf in free if block.is_connected(joined, leaf)]
        chosen = min(connected or free, key=lambda leaf: (rows(joined | {leaf}), leaf))
        joined |= {chosen}
        order.append(chosen)
        cost += rows(joined)
    return cost, tuple(order)


def reorder_blocks(relation: Relation, context: Context) -> Relation:
    """Every block of three or more leaves in its best left-deep order; smaller ones as written.

    ``(A join B) join C`` = ``(A join C) join B``: inner joins of bags commute and associate when
    each conjunct stays at or above the first join that has its columns.
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
    """The block's leaves if the node is the top of one, else its inputs."""
    if not _is_inner(node):
        return node.inputs
    return tuple(
        leaf for side in node.inputs for leaf in (_leaves(side) if _is_inner(side) else (side,))
    )


def _parts(node: Relation) -> tuple[Scalar, ...]:
    if not isinstance(node, Join) or node.kind is not JoinKind.INNER:
        return ()
    return (*_parts(node.left), *_parts(node.right), *conjuncts(node.condition))


def _ordered(node: Relation, inputs: tuple[Relation, ...], context: Context) -> Relation:
    if not _is_inner(node):
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        return node if same else node.with_inputs(inputs)
    block = _block(inputs, tuple(dict.fromkeys(_parts(node))))
    order = left_deep_order(block, _estimated_rows(block, context)) if len(inputs) > 2 else (0, 1)
    return reordered(_rebuilt(block, order), node.columns)


def _block(leaves: tuple[Relation, ...], parts: tuple[Scalar, ...]) -> Block:
    owner = {id_: i for i, leaf in enumerate(leaves) for id_ in ids_of(leaf)}
    reads = tuple(frozenset(owner[id_] for id_ in references(part)) for part in parts)
    return Block(leaves, parts, reads)


def _rebuilt(block: Block, order: tuple[int, ...]) -> Relation:
    """The left-deep tree; each conjunct at the first join that has all of its leaves."""
    tree, joined = block.leaves[order[0]], frozenset({order[0]})
    placed: set[int] = set()
    for leaf in order[1:]:
        joined |= {leaf}
        now = [i for i, read in enumerate(block.reads) if i not in placed and read <= joined]
        placed.update(now)
        condition = conjunction(tuple(block.parts[i] for i in now))
        tree = Join(JoinKind.INNER, tree, block.leaves[leaf], condition)
    return tree


def _estimated_rows(block: Block, context: Context) -> Rows:
    """Rows of a set of leaves: the product of their rows and of the selectivities of the conjuncts
    within. Memoized: greedy asks again and again."""
    estimates = [context.estimator.estimate(leaf) for leaf in block.leaves]
    factors = block_selectivities(estimates, block.parts, block.reads)
    known: dict[Leaves, float] = {}

    def rows(leaves: Leaves) -> float:
        if leaves not in known:
            product = math.prod(max(1.0, estimates[leaf].rows) for leaf in sorted(leaves))
            product *= math.prod(share for read, share in factors.items() if read <= leaves)
            known[leaves] = product
        return known[leaves]

    return rows
