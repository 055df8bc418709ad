"""What an update of one relation of an inner join brings, each relation in its own order of joins.

::

    d(T1 join .. join Tn)  =  sum over t:  dTt  join  M1  join  ..  join  Mk

with all leaves right of t NEW and all left of it OLD (:mod:`planner.rules.methods.join_block`). The
M are the **update-independent parts**: the maximal connected sets of other leaves that are of one
version, each a snapshot as of this run or of the last one. Where t holds the block together, as a
fact table does its dimensions, they are single leaves; where it is at its edge, all the others are
one. Leaves that share no condition are never put into one M: a cross product is no state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from planner.algebra.predicates import equality
from planner.algebra.relational import Join, JoinKind, Project, Relation, Version
from planner.algebra.scalar import Ref, Scalar, conjunction, conjuncts, references
from planner.algebra.types import BIGINT, Column, ColumnId
from planner.memo.memo import Expression, GroupId, Memo, View
from planner.memo.reference import Reference
from planner.rules.methods import join_block
from planner.rules.methods.join_block import Branch, Leaf, leaves, tvr_of
from planner.tvr.signed import ColumnIds, Signed, times

Leaves = frozenset[int]


@dataclass(frozen=True, slots=True)
class Piece:
    """An update-independent part: a group, as of the last run (``before``) or this one."""

    leaves: Leaves
    group: GroupId
    before: bool


@dataclass(frozen=True)
class InnerBlock:
    """Inner joins over leaves, in no order. ``subtrees``: the joins of leaves in the query."""

    memo: Memo
    leaves: tuple[Leaf, ...]
    conditions: tuple[Scalar, ...]
    root: Reference
    subtrees: dict[Leaves, Reference]

    @cached_property
    def owner(self) -> dict[ColumnId, int]:
        """The leaf of a column."""
        return {c.id: leaf.number for leaf in self.leaves for c in leaf.given.columns}

    @cached_property
    def changing(self) -> tuple[Leaf, ...]:
        return tuple(one for one in self.leaves if tvr_of(self.memo, one.given).changing)

    def spoken_of(self, condition: Scalar) -> Leaves:
        return frozenset(self.owner[id_] for id_ in references(condition))

    def columns_of(self, which: Leaves) -> dict[ColumnId, Column]:
        return {c.id: c for one in self.leaves if one.number in which for c in one.given.columns}

    def needed(self, which: Leaves, wanted: Iterable[ColumnId]) -> tuple[Column, ...]:
        """The columns of leaves that are wanted, or that a condition with other leaves reads."""
        read = set(wanted)
        for condition in self.conditions:
            if not self.spoken_of(condition) <= which:
                read |= references(condition)
        return tuple(c for id_, c in self.columns_of(which).items() if id_ in read)

    def between(self, one: Leaves, other: Leaves) -> tuple[Scalar, ...]:
        """The conditions that can be checked where two sets of leaves meet, and not before."""
        return tuple(
            condition
            for condition in self.conditions
            if self.spoken_of(condition) <= one | other
            and not self.spoken_of(condition) <= one
            and not self.spoken_of(condition) <= other
        )

    def meet(self, one: Leaves, other: Leaves) -> bool:
        """Whether an equality joins them, so that rows can be kept by it."""
        return any(equality(condition) is not None for condition in self.between(one, other))

    def pieces(self, updated: Leaf) -> tuple[Piece, ...] | None:
        """The update-independent parts where one leaf is updated, in the order in which they are
        joined with its delta; None if there is no such order without a cross product."""
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
            found.append(Piece(members, -1, bool(before)))
        return self._ordered(updated, found)

    def _ordered(self, updated: Leaf, found: list[Piece]) -> tuple[Piece, ...] | None:
        ordered: list[Piece] = []
        reached = frozenset({updated.number})
        while found:
            piece = next((p for p in found if self.meet(reached, p.leaves)), None)
            if piece is None:
                return None
            found.remove(piece)
            reached |= piece.leaves
            ordered.append(Piece(piece.leaves, self._group(piece.leaves), piece.before))
        return tuple(ordered)

    def _group(self, which: Leaves) -> GroupId:
        """The join of leaves: as the query has it, or from left to right."""
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
        return frozenset(column.id for column in self.root.columns)

    def version(self, piece: Piece) -> Signed:
        """The rows of a piece, with their weights where it has some."""
        tvr = tvr_of(self.memo, self.memo.reference(piece.group))
        weighted = tvr.edges.get((Version.NEW, View.WEIGHTED))
        group = piece.group if weighted is None else weighted
        return Signed(
            self.memo.reference(group, before=piece.before),
            None if weighted is None else tvr.weight,
        )

    def delta(self, leaf: Leaf) -> Signed:
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
        """The rows of the updated leaf joined with others, one after another; of all columns only
        those that are still read. Columns that are of no leaf (partial states) are handed on."""
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
"""The origin of the joins that are made to be kept."""


def projected(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    """Only some of the columns, in this order."""
    if relation.columns == columns:
        return relation
    return Project(relation, tuple((c, Ref(c)) for c in columns))


def read_inner(memo: Memo, expression: Expression) -> InnerBlock:
    """The inner joins of which the expression is the root."""
    return _block(memo, join_block.read_block(memo, expression, join_block.INNER))


def read_one(memo: Memo, expression: Expression, condition: Scalar) -> InnerBlock:
    """One inner join alone, whatever its inputs are."""
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
