"""Join blocks of the memo: maximal trees of inner and outer joins over leaves.

A leaf is any group that is not a join of the block; projections that only drop columns are skipped.
Leaves are numbered from left to right. A delta updates them **one at a time, from right to left**
(the n-ary convention of :mod:`forerun.planner.tvr.signed`): at the *virtual time point* at which
leaf ``t`` is updated, the leaves right of it are NEW already and those left of it are still OLD. So
a virtual time point is the number of a leaf, and a subtree whose leaves are all on one side of
``t`` is a snapshot as of this run or of the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forerun.planner.algebra.predicates import rejects_nulls_of, split_condition
from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation
from forerun.planner.algebra.scalar import Ref, Scalar, is_deterministic, references
from forerun.planner.algebra.types import Column, ColumnId
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import Expression, Tvr
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference

ORDER = "JoinOrders"
"""The origin of joins that are other orders of a block. Rules that handle a block as a whole skip
these, since they handle the block in the order of the query."""
INNER = frozenset({JoinKind.INNER})
INNER_AND_OUTER = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL})


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a join block; ``given`` is the group that the join above reads."""

    number: int
    given: Reference


@dataclass(frozen=True, slots=True)
class Branch:
    """A join of a block. ``joined`` is the group of the join itself, ``given`` the group that is
    read above: the same, or that of a projection of it."""

    kind: JoinKind
    left: Tree
    right: Tree
    condition: Scalar
    given: Reference
    joined: Reference


Tree = Leaf | Branch


def read_block(
    memo: Memo, expression: Expression, kinds: frozenset[JoinKind] = INNER_AND_OUTER
) -> Branch:
    """Return the block of joins of the given kinds whose root is a join expression."""
    given = memo.reference(expression.group)
    reader = _Reader(memo, kinds, iter(range(len(memo.groups))))
    tree = reader.branch(expression.node, given, given)
    if tree is None:
        raise TypeError(f"{expression.node} is no join of the block")
    return tree


@dataclass(frozen=True, slots=True)
class _Reader:
    memo: Memo
    kinds: frozenset[JoinKind]
    counter: Iterator[int]

    def branch(self, node: Relation, given: Reference, joined: Reference) -> Branch | None:
        if not isinstance(node, Join) or node.kind not in self.kinds:
            return None
        left, right = self.tree(node.left), self.tree(node.right)
        return Branch(node.kind, left, right, node.condition, given, joined)

    def tree(self, given: Relation) -> Tree:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        joined, node = given, next(self.memo.alternatives(given.group)).node
        while isinstance(node, Project) and only_drops(node):
            if not isinstance(node.input, Reference):
                raise TypeError(f"{node.input} is no reference")
            joined = node.input
            node = next(self.memo.alternatives(joined.group)).node
        return self.branch(node, given, joined) or Leaf(next(self.counter), given)


def only_drops(node: Project) -> bool:
    """Return whether a projection computes nothing, and hands columns on under their own ids."""
    return all(isinstance(v, Ref) and v.column.id == c.id for c, v in node.items)


def leaves(tree: Tree) -> tuple[Leaf, ...]:
    """Return the leaves from left to right."""
    if isinstance(tree, Leaf):
        return (tree,)
    return (*leaves(tree.left), *leaves(tree.right))


def branches(tree: Tree) -> tuple[Branch, ...]:
    """Return the joins of a tree, inputs before the joins that read them."""
    if isinstance(tree, Leaf):
        return ()
    return (*branches(tree.left), *branches(tree.right), tree)


def columns_of(tree: Tree) -> frozenset[ColumnId]:
    """Return the ids of the columns that a tree gives to the join above."""
    return frozenset(column.id for column in tree.given.columns)


def changing_leaves(memo: Memo, tree: Tree) -> tuple[Leaf, ...]:
    """Return the leaves that read a source that grows, from left to right."""
    return tuple(leaf for leaf in leaves(tree) if tvr_of(memo, leaf.given).changing)


def tvr_of(memo: Memo, given: Reference) -> Tvr:
    """Return the TVR of a referenced snapshot; ValueError if the group has none."""
    tvr = memo.tvr_of(given.group)
    if tvr is None:
        raise ValueError(f"group {given.group} is no version of a TVR")
    return tvr


def plain(memo: Memo, tvr: Tvr, *, before: bool) -> Reference:
    """Return the rows of a TVR without weights, as of this run or of the last one (``before``)."""
    return memo.reference(tvr.new, before=before and tvr.changing)


_MOST_LEAVES = 12
"""Of 45 left joins one after the other, planning took 13.8 CPU s without a limit, 2.3 with it."""


def reason_against(tree: Branch) -> Reason | None:
    """Return why a block has no join-disjunctive normal form that can be maintained, else None.

    Of ``n`` leaves each has its own parts at each of ``n`` joins, which are made of ``n`` joins.

    Each outer join needs an equality and must read both sides. The condition of a join must be NULL
    or false if all columns of a leaf that it reads are NULL; inner joins without an outer join
    below are exempt. A row with a partner then has a column that is not NULL from each of these
    leaves, so leaves need no declared keys.
    """
    if len(leaves(tree)) > _MOST_LEAVES:
        return Reason.MANY_JOINS
    for branch in branches(tree):
        if not is_deterministic(branch.condition):
            return Reason.NOT_DETERMINISTIC
        if branch.kind is JoinKind.INNER:
            outer_below = any(b.kind is not JoinKind.INNER for b in branches(branch)[:-1])
            if outer_below and not _rejects_nulls(branch):
                return Reason.NULLS_MATCH
            continue
        read = references(branch.condition)
        if not all(read & columns_of(side) for side in (branch.left, branch.right)):
            return Reason.NO_EQUALITY
        join = Join(branch.kind, branch.left.given, branch.right.given, branch.condition)
        if not split_condition(join).pairs:
            return Reason.NO_EQUALITY
        if not _rejects_nulls(branch):
            return Reason.NULLS_MATCH
    return None


def _rejects_nulls(branch: Branch) -> bool:
    read = references(branch.condition)
    spoken_of = (leaf for leaf in leaves(branch) if read & columns_of(leaf))
    return all(rejects_nulls_of(branch.condition, columns_of(leaf)) for leaf in spoken_of)


def core(memo: Memo, tree: Tree, read: frozenset[ColumnId]) -> Tree:
    """Return the part of a tree that decides whether a row has a partner in it, for a condition
    that reads ``read`` and rejects NULLs: the inner join of the leaves of ``read`` and of the
    leaves that must have a match for these to be present.

    A row in which a leaf of ``read`` is NULL is nobody's partner, and an outer join removes no row
    of the side that it keeps. In the normal form, these are the leaves that the parents of a term
    add to it.
    """
    if isinstance(tree, Leaf):
        return tree
    on_left, on_right = read & columns_of(tree.left), read & columns_of(tree.right)
    if tree.kind is not JoinKind.INNER and not on_right:
        return core(memo, tree.left, read)
    if tree.kind is JoinKind.FULL and not on_left:
        return core(memo, tree.right, read)
    needed = read | references(tree.condition)
    left, right = core(memo, tree.left, needed), core(memo, tree.right, needed)
    if tree.kind is JoinKind.INNER and left is tree.left and right is tree.right:
        return tree
    given = memo.reference(
        memo.add(Join(JoinKind.INNER, left.given, right.given, tree.condition), "CoreOfJoins")
    )
    return Branch(JoinKind.INNER, left, right, tree.condition, given, given)


def at(memo: Memo, tree: Tree, updated: int, *, after: bool) -> Relation:
    """Return a tree at the virtual time point of leaf ``updated``: before or ``after`` it."""
    olds = {
        leaf.number < updated or (leaf.number == updated and not after)
        for leaf in changing_leaves(memo, tree)
    }
    if isinstance(tree, Leaf) or len(olds) < 2:
        return memo.reference(tree.given.group, before=olds == {True})
    left, right = (at(memo, side, updated, after=after) for side in (tree.left, tree.right))
    return Join(tree.kind, left, right, tree.condition)


def projected(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    """Return the relation restricted to the given columns, in the given order."""
    if relation.columns == columns:
        return relation
    return Project(relation, tuple((c, Ref(c)) for c in columns))
