"""Adds other orders of the inner joins of a block as alternatives in the memo.

::

    (A join B) join C   =   (A join C) join B   =   A join (B join C)

Normalization gives each block one left-deep order, good for computing the query once. Here each
block is looked at once as a whole, by dynamic programming over its connected sets of leaves: exact
up to a budget of pairs of sets, and beyond it restricted to neighbours in the best linear order.
Every join that is added brings its deltas and its kept states into the search space, so only the
joins of these trees are added:

* the cheapest bushy tree over all rows of the day: it joins unchanging inputs once;
* the cheapest tree for the last run if every intermediate result is kept: for ``L join R`` it joins
  dL with R and the kept L with dR, so inputs that arrive late are joined late;
* for each of the leaves that change most, the cheapest tree of all others, joined with it last.

Correct for bags: inner joins commute and associate if each conjunct is applied as soon as its
columns are together, as it is here. A block with a conjunct that could fail is left alone. A group
stands for one set of leaves, whichever tree made it, so trees share their common parts. Sources:
:mod:`forerun.planner.rules.explore.connected`; Tempura 5.4 on exploring only what can matter to the
cost.
"""

from __future__ import annotations

from collections.abc import Iterator

from forerun.planner.algebra.predicates import equality
from forerun.planner.algebra.relational import Filter, Join, JoinKind, Project
from forerun.planner.algebra.scalar import Scalar, conjunction, conjuncts, references
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.rules import join_block
from forerun.planner.rules.explore.connected import (
    Bits,
    Pair,
    best_trees,
    bits,
    connected_pairs,
    is_connected,
    joins_of,
    neighbouring_pairs,
)
from forerun.planner.rules.explore.linear_order import Edge, linear_order
from forerun.planner.rules.join_block import (
    ORDER,
    Branch,
    Tree,
    branches,
    leaves,
    projected,
    tvr_of,
)
from forerun.planner.rules.normalize.safety import is_movable
from forerun.planner.stats.estimate import Estimator
from forerun.planner.stats.joins import block_selectivities
from forerun.planner.stats.values import Estimate

PAIRS = 2_000
"""The most pairs of sets that are enumerated exactly for a block: enough for a chain of 22 leaves,
a star of 9, a clique of 7."""
LATEST = 2
"""How many of the leaves that change most are tried as the last one to be joined."""


def add_orders(memo: Memo, last_two_runs: tuple[Estimator, Estimator]) -> int:
    """Add join orders to every block of three or more leaves that changes; return the number of
    joins added. ``last_two_runs`` estimates as of the last run but one, and as of the last run."""
    sizes = _Sizes(memo, last_two_runs)
    seen: set[GroupId] = set()
    added = 0
    for expression in reversed(list(memo.expressions)):
        node, group = expression.node, memo.leader(expression.group)
        if not isinstance(node, Join) or node.kind is not JoinKind.INNER or group in seen:
            continue
        tree = join_block.read_block(memo, expression, join_block.INNER)
        seen |= {memo.leader(branch.joined.group) for branch in branches(tree)}
        if len(branches(tree)) > 1 and tvr_of(memo, tree.given).changing:
            added += _Block(memo, tree).add_orders(sizes)
    return added


class _Sizes:
    """Estimates of groups as of the last two runs, derived from the first expression of each."""

    def __init__(self, memo: Memo, last_two_runs: tuple[Estimator, Estimator]) -> None:
        self._memo = memo
        self._last_two_runs = last_two_runs
        self._done: dict[GroupId, tuple[Estimate, Estimate]] = {}

    def of(self, group: GroupId) -> tuple[Estimate, Estimate]:
        group = self._memo.leader(group)
        if group not in self._done:
            node = next(self._memo.alternatives(group)).node
            below = [self.of(i.group) for i in node.inputs if isinstance(i, Reference)]
            early, late = (
                moment.of_node(node, tuple(given[at] for given in below))
                for at, moment in enumerate(self._last_two_runs)
            )
            self._done[group] = early, late
        return self._done[group]

    def unfiltered(self, group: GroupId) -> tuple[float, float]:
        """Return the rows that a group has without its own filters."""
        node = next(self._memo.alternatives(group)).node
        while isinstance(node, Filter | Project) and isinstance(node.input, Reference):
            group = node.input.group
            node = next(self._memo.alternatives(group)).node
        early, late = self.of(group)
        return early.rows, late.rows


class _Block:
    """A join block with sets of leaves as bit sets.

    ``_made`` has the joins of the block that are in the memo, as pairs of sets; ``reads`` the
    leaves that each conjunct reads. ``_outside`` has, for each column, the leaves that must be
    joined before it can be dropped, with a further bit if the block outputs it."""

    def __init__(self, memo: Memo, tree: Branch) -> None:
        self._memo = memo
        self._tree = tree
        self.leaves = leaves(tree)
        self._whole = (1 << len(self.leaves)) - 1
        parts: tuple[Tree, ...] = (*self.leaves, *branches(tree))
        self._given = {_bits(one): one.given for one in parts}
        self._made = {frozenset((_bits(b.left), _bits(b.right))) for b in branches(tree)}
        columns = [(n, c) for n, leaf in enumerate(self.leaves) for c in leaf.given.columns]
        self._columns = {c.id: c for _, c in columns}
        self._owner = {c.id: 1 << n for n, c in columns}
        self.is_unique = len(columns) == len(self._columns)
        self.parts = tuple(part for one in branches(tree) for part in conjuncts(one.condition))
        self.reads = tuple(self._read(part) for part in self.parts)
        self._outside = dict.fromkeys(self._columns, 0)
        for part, read in zip(self.parts, self.reads, strict=True):
            for id_ in references(part):
                self._outside[id_] |= read
        for column in tree.given.columns:
            self._outside[column.id] |= self._whole + 1

    def _read(self, part: Scalar) -> Bits:
        read = 0
        for id_ in references(part):
            read |= self._owner[id_]
        return read

    def add_orders(self, sizes: _Sizes) -> int:
        """Add the joins of the wanted trees to the memo; return how many were new."""
        neighbours = self._neighbours()
        if not self._is_free() or not is_connected(neighbours):
            return 0
        rows = _Rows(self, sizes)
        pairs = connected_pairs(neighbours, PAIRS)
        if pairs is None:
            order = linear_order(*rows.graph(neighbours))
            pairs = neighbouring_pairs(neighbours, order, PAIRS)
        wanted = dict.fromkeys(_wanted(pairs, rows, self._whole))
        return sum(self._add(*rows.in_order(*pair)) for pair in wanted)

    def _neighbours(self) -> list[Bits]:
        found = [0 for _ in self.leaves]
        for part, read in zip(self.parts, self.reads, strict=True):
            if read.bit_count() == 2 and equality(part) is not None:
                for leaf in bits(read):
                    found[leaf] |= read & ~(1 << leaf)
        return found

    def _is_free(self) -> bool:
        """Return whether the block may be reordered: its column ids are unique, no conjunct can
        fail, and each one reads both sides of the join that applies it."""
        if not self.is_unique or not all(is_movable(part) for part in self.parts):
            return False
        for branch in branches(self._tree):
            left, right = _bits(branch.left), _bits(branch.right)
            reads = [self._read(part) for part in conjuncts(branch.condition)]
            if any(not read & ~left or not read & ~right for read in reads):
                return False
        return True

    def _add(self, left: Bits, right: Bits) -> bool:
        """Add the join of two sets that have groups; return False if the memo has it already."""
        split, whole = frozenset((left, right)), left | right
        if split in self._made:
            return False
        self._made.add(split)
        parts = tuple(
            part
            for part, read in zip(self.parts, self.reads, strict=True)
            if not read & ~whole and read & ~left and read & ~right
        )
        join = Join(JoinKind.INNER, self._given[left], self._given[right], conjunction(parts))
        known = self._given.get(whole)
        if known is not None:
            self._memo.equate(known.group, projected(join, known.columns), ORDER)
            return True
        kept = (c for c in join.columns if self._outside[c.id] & ~whole)
        group = self._memo.add(projected(join, tuple(kept)), ORDER)
        self._given[whole] = self._memo.reference(group)
        return True


class _Rows:
    """Estimated rows of the sets of a block as of the last two runs, and join costs in rows."""

    def __init__(self, block: _Block, sizes: _Sizes) -> None:
        found = [sizes.of(leaf.given.group) for leaf in block.leaves]
        self._leaves = [tuple(estimate.rows for estimate in pair) for pair in found]
        reads = [frozenset(bits(read)) for read in block.reads]
        self._shares: list[tuple[Bits, float, float]] = []
        whole = [sizes.unfiltered(leaf.given.group) for leaf in block.leaves]
        early, late = (
            block_selectivities(
                [pair[at] for pair in found], [pair[at] for pair in whole], block.parts, reads
            )
            for at in (0, 1)
        )
        for read, share in late.items():
            self._shares.append((sum(1 << leaf for leaf in read), early[read], share))
        self._done: dict[Bits, tuple[float, float]] = {}

    def of(self, leaves: Bits) -> tuple[float, float]:
        """Return the rows of a set as of the last run but one, and as of the last run."""
        known = self._done.get(leaves)
        if known is None:
            early = late = 1.0
            for leaf in bits(leaves):
                early *= self._leaves[leaf][0]
                late *= self._leaves[leaf][1]
            for read, share_early, share_late in self._shares:
                if not read & ~leaves:
                    early *= share_early
                    late *= share_late
            known = self._done[leaves] = min(early, late), late
        return known

    def graph(self, neighbours: list[Bits]) -> tuple[list[float], dict[Edge, float]]:
        """Return the rows of the leaves as of the last run, and the selectivities of the edges."""
        edges = {}
        for read, _, share in self._shares:
            if read.bit_count() == 2:
                one, other = bits(read)
                if neighbours[one] >> other & 1:
                    edges[one, other] = share
        return [late for _, late in self._leaves], edges

    def change(self, leaves: Bits) -> float:
        """Return the number of rows of a set that arrive with the last run."""
        early, late = self.of(leaves)
        return late - early

    def in_order(self, one: Bits, other: Bits) -> Pair:
        """Return the two sides, left side first: the one with more rows arriving in the last run,
        then the one with more rows. By the delta convention the delta of the left side meets NEW of
        the right one, and the delta of the right side meets OLD of the left one."""
        order = sorted((one, other), key=lambda s: (-self.change(s), -self.of(s)[1], s))
        return order[0], order[1]

    def whole(self, one: Bits, other: Bits) -> float:
        """Return the rows that one join of the whole day reads and outputs."""
        return self.of(one)[1] + self.of(other)[1] + self.of(one | other)[1]

    def last(self, one: Bits, other: Bits) -> float:
        """Return the rows that the last run reads and outputs if both sides are kept."""
        left, right = self.in_order(one, other)
        from_left, from_right = self.change(left), self.change(right)
        if not from_left and not from_right:
            return self.whole(one, other)
        price = self.change(left | right) + from_left + from_right
        price += self.of(right)[1] if from_left else 0.0
        return price + (self.of(left)[0] if from_right else 0.0)


def _wanted(pairs: list[Pair], rows: _Rows, whole: Bits) -> Iterator[Pair]:
    """Yield the joins of the wanted trees (see the module), inputs before their readers."""
    count = whole.bit_length()
    yield from joins_of(best_trees(count, pairs, rows.whole), whole)
    trees = best_trees(count, pairs, rows.last)
    yield from joins_of(trees, whole)
    changing = sorted(range(count), key=lambda leaf: (-rows.change(1 << leaf), leaf))
    for leaf in changing[:LATEST]:
        last, rest = 1 << leaf, whole & ~(1 << leaf)
        if rows.change(last) and rest in trees:
            yield from joins_of(trees, rest)
            yield rest, last


def _bits(tree: Tree) -> Bits:
    return sum(1 << leaf.number for leaf in leaves(tree))
