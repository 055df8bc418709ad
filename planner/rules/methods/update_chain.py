"""Deltas of a block of inner joins, one term per updated leaf, each with its own join order.

::

    d(T1 join .. join Tn)  =  sum over t:  dTt  join  M1  join  ..  join  Mk

with all leaves right of t NEW and all left of it OLD
(:mod:`forerun.planner.rules.join_block`). The M are the **update-independent parts**:
maximal connected sets of other leaves of one version, each a snapshot as of this run or of the last
one. If t connects all others, as a fact table connects its dimensions, the M are single leaves; if
t is at the edge, all others may be one M. Leaves without an equality between them are never put
into one M, so that no cross product is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from forerun.planner.algebra.predicates import equality
from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation, Version
from forerun.planner.algebra.scalar import Ref, Scalar, conjunction, conjuncts, references
from forerun.planner.algebra.types import BIGINT, Column, ColumnId
from forerun.planner.memo.groups import Expression, GroupId, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.rules import join_block
from forerun.planner.rules.join_block import Branch, Leaf, leaves, projected, tvr_of
from forerun.planner.tvr.signed import ColumnIds, Signed, times

Leaves = frozenset[int]


@dataclass(frozen=True, slots=True)
class IndependentPart:
    """An update-independent part: the join of some leaves as a group, as of the last run
    (``before``) or as of this one."""

    leaves: Leaves
    group: GroupId
    before: bool


@dataclass(frozen=True)
class InnerBlock:
    """A block of inner joins as a set of leaves and conjuncts, without an order. ``root`` is the
    group of the whole; ``subtrees`` has the groups of its leaves and of the joins below the root,
    by the leaves that they contain."""

    memo: Memo
    leaves: tuple[Leaf, ...]
    conditions: tuple[Scalar, ...]
    root: Reference
    subtrees: dict[Leaves, Reference]

    @cached_property
    def owner(self) -> dict[ColumnId, int]:
        """The number of the leaf that each column comes from."""
        return {c.id: leaf.number for leaf in self.leaves for c in leaf.given.columns}

    @cached_property
    def changing(self) -> tuple[Leaf, ...]:
        """The leaves that read a source that grows, from left to right."""
        return tuple(one for one in self.leaves if tvr_of(self.memo, one.given).changing)

    def spoken_of(self, condition: Scalar) -> Leaves:
        """Return the leaves whose columns a condition reads."""
        return frozenset(self.owner[id_] for id_ in references(condition))

    def columns_of(self, which: Leaves) -> dict[ColumnId, Column]:
        """Return the columns of some leaves, by id."""
        return {c.id: c for one in self.leaves if one.number in which for c in one.given.columns}

    def needed(self, which: Leaves, wanted: Iterable[ColumnId]) -> tuple[Column, ...]:
        """Return the columns of some leaves that are wanted, or that a condition reads which also
        reads other leaves."""
        read = set(wanted)
        for condition in self.conditions:
            if not self.spoken_of(condition) <= which:
                read |= references(condition)
        return tuple(c for id_, c in self.columns_of(which).items() if id_ in read)

    def between(self, one: Leaves, other: Leaves) -> tuple[Scalar, ...]:
        """Return the conditions that can be applied when two sets of leaves are joined, and not
        before."""
        return tuple(
            condition
            for condition in self.conditions
            if self.spoken_of(condition) <= one | other
            and not self.spoken_of(condition) <= one
            and not self.spoken_of(condition) <= other
        )

    def meet(self, one: Leaves, other: Leaves) -> bool:
        """Return whether an equality connects two sets of leaves, so that rows can be distributed
        by it."""
        return any(equality(condition) is not None for condition in self.between(one, other))

    def pieces(self, updated: Leaf) -> tuple[IndependentPart, ...] | None:
        """Return the update-independent parts for the update of one leaf, in the order in which its
        delta is joined with them; None if that needs a cross product."""
        changing = {leaf.number for leaf in self.changing}
        left = [leaf.number for leaf in self.leaves if leaf is not updated]
        found = []
        while left:
            members, before = frozenset({left.pop(0)}), None
            grown = True
            while grown:
                olds = {n < updated.number for n in members & changing}
                before = True in olds
                for number in left:
                    fits = number not in changing or olds <= {number < updated.number}
                    if fits and self.meet(members, frozenset({number})):
                        members |= {number}
                        left.remove(number)
                        break
                else:
                    grown = False
            found.append(IndependentPart(members, -1, bool(before)))
        return self._ordered(updated, found)

    def _ordered(
        self, updated: Leaf, found: list[IndependentPart]
    ) -> tuple[IndependentPart, ...] | None:
        ordered: list[IndependentPart] = []
        reached = frozenset({updated.number})
        while found:
            piece = next((p for p in found if self.meet(reached, p.leaves)), None)
            if piece is None:
                return None
            found.remove(piece)
            reached |= piece.leaves
            ordered.append(IndependentPart(piece.leaves, self._group(piece.leaves), piece.before))
        return tuple(ordered)

    def _group(self, which: Leaves) -> GroupId:
        """Return the group of the join of some leaves: the query's own, or else a new one that
        joins them from left to right."""
        if which in self.subtrees:
            return self.subtrees[which].group
        rest = [leaf for leaf in self.leaves if leaf.number in which]
        first = rest.pop(0)
        relation: Relation = first.given
        reached = frozenset({first.number})
        while rest:
            leaf = next(one for one in rest if self.meet(reached, frozenset({one.number})))
            rest.remove(leaf)
            here = frozenset({leaf.number})
            condition = conjunction(self.between(reached, here))
            relation = Join(JoinKind.INNER, relation, leaf.given, condition)
            reached |= here
            relation = projected(relation, self.needed(reached, self.wanted))
        return self.memo.add(relation, VIEW)

    @cached_property
    def wanted(self) -> frozenset[ColumnId]:
        """The columns that the block outputs."""
        return frozenset(column.id for column in self.root.columns)

    def version(self, piece: IndependentPart) -> Signed:
        """Return the rows of a piece, with their weights if its TVR takes rows back."""
        tvr = tvr_of(self.memo, self.memo.reference(piece.group))
        weighted = tvr.edges.get((Version.NEW, View.WEIGHTED))
        group = piece.group if weighted is None else weighted
        return Signed(
            self.memo.reference(group, before=piece.before),
            None if weighted is None else tvr.weight,
        )

    def delta(self, leaf: Leaf) -> Signed:
        """Return the delta of a changing leaf."""
        tvr = tvr_of(self.memo, leaf.given)
        group = tvr.edges[Version.DELTA, View.ROWS]
        return Signed(self.memo.reference(group), tvr.weight)

    def chain(
        self,
        start: Signed,
        updated: Leaf,
        others: Iterable[tuple[Leaves, Signed]],
        wanted: frozenset[ColumnId],
        ids: ColumnIds,
    ) -> Signed:
        """Join ``start``, rows of the updated leaf, with the others one after another. Each join
        keeps only the columns that are still read or ``wanted`` (also partial states, which are
        columns of no leaf)."""
        acc, reached = start, frozenset({updated.number})
        for which, rows in others:
            condition = conjunction(self.between(reached, which))
            joined = Join(JoinKind.INNER, acc.relation, rows.relation, condition)
            reached |= which
            read = {c.id for c in self.needed(reached, wanted)} | wanted
            kept = tuple(c for c in (*acc.columns, *rows.columns) if c.id in read)
            product = times((acc.weight, rows.weight))
            if product is None:
                acc = Signed(projected(joined, kept))
                continue
            weight = Column(ids.next_id(), "__w", BIGINT)
            acc = Signed(Project(joined, (*((c, Ref(c)) for c in kept), (weight, product))), weight)
        return acc


VIEW = "UpdateIndependentPart"
"""The origin of the joins that are added as update-independent parts, to be kept."""


def read_inner(memo: Memo, expression: Expression) -> InnerBlock:
    """Return the block of inner joins whose root is an expression."""
    return _block(memo, join_block.read_block(memo, expression, join_block.INNER))


def read_one(memo: Memo, expression: Expression, condition: Scalar) -> InnerBlock:
    """Return a block that consists of one inner join, with its inputs as leaves."""
    given = memo.reference(expression.group)
    left, right = (Leaf(number, side) for number, side in enumerate(expression.inputs))
    return _block(memo, Branch(JoinKind.INNER, left, right, condition, given, given))


def _block(memo: Memo, tree: Branch) -> InnerBlock:
    joins = join_block.branches(tree)
    conditions = tuple(part for join in joins for part in conjuncts(join.condition))
    subtrees = {_numbers(leaf): leaf.given for leaf in leaves(tree)}
    subtrees |= {_numbers(join): join.given for join in joins[:-1]}
    return InnerBlock(memo, leaves(tree), conditions, tree.given, subtrees)


def _numbers(tree: Branch | Leaf) -> Leaves:
    return frozenset(leaf.number for leaf in leaves(tree))
