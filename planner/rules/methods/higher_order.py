"""HOV, higher-order views: the update-independent parts of a delta are maintained as views
themselves (Tempura 4.2 (3), equation 5).

::

    dQ  =  P(M, dT)        for the update of one relation T, M not reading T

For an inner join, M are the parts of :mod:`forerun.planner.rules.methods.update_chain`, each a
group with the role M for the update of T. P joins dT with them, starting from dT, so every updated
relation has its own join order. M is kept if that pays; it is a join itself, so the same rule
derives *its* delta from smaller views, down to single relations.

A left join is linear in its left side: d(L left R) has the part dL left M, with M = R for the
updates of L. Below an aggregate, M is R grouped by the key, the paper's own example
(:mod:`forerun.planner.rules.explore.grouped_partners`); what an update of R changes is looked for
in its domain (:mod:`forerun.planner.rules.methods.domain`), as M takes back what a group was.

Correct for bags, since the joins are multilinear: with T updated between the leaves that are NEW
and those that are still OLD, each combination of changes is counted once. NULL keys match in no
version. Retractions: weights multiply along the chain; an M that takes rows back is read with its
weights. Sources: Koch et al., "DBToaster", VLDBJ 2014; Nikolic, Dashti, Koch, SIGMOD 2016, 2.2.
"""

from __future__ import annotations

from forerun.planner.algebra.predicates import equality
from forerun.planner.algebra.relational import Join, JoinKind, Relation, walk
from forerun.planner.algebra.scalar import conjuncts, is_deterministic
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import Role
from forerun.planner.rules.explore.catalog import LOCAL
from forerun.planner.rules.incremental import foreign_key
from forerun.planner.rules.incremental.memo_rules import add_delta, without
from forerun.planner.rules.join_block import ORDER, projected, tvr_of
from forerun.planner.rules.methods import pre_aggregation
from forerun.planner.rules.methods.domain import DOMAIN
from forerun.planner.rules.methods.method import Method, WhyNot, changes
from forerun.planner.rules.methods.update_chain import (
    VIEW,
    InnerBlock,
    read_inner,
    read_one,
)
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed, plus

_SOURCE = "Tempura 4.2 (3), equation 5; Distributed IVM 2.2"
MOST_CHANGING = 4
"""The largest number of changing leaves with which a view still gets views of its own. Without a
limit, a star of n leaves has 2**n views."""
MOST_LEAVES = 10
"""The largest number of leaves of a block that is handled as a whole; in larger blocks each join is
handled alone."""


def block_of(match: Match) -> InnerBlock | None:
    """Return the block of inner joins below an expression, or the one join alone if the block is
    too large. Return None if the expression is no inner join of a TVR or is another order of a
    block, if no leaf changes, or if a changing leaf has no delta or a condition is not
    deterministic."""
    memo, node = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Join) or node.kind is not JoinKind.INNER or tvr is None:
        return None
    if match.expression.origin == ORDER:
        return None
    block = read_inner(memo, match.expression)
    recursive = match.expression.origin == VIEW
    if len(block.leaves) > MOST_LEAVES or (recursive and len(block.changing) > MOST_CHANGING):
        block = read_one(memo, match.expression, node.condition)
    if not block.changing:
        return None
    if not all(is_deterministic(condition) for condition in block.conditions):
        return None
    if not all(tvr_of(memo, leaf.given).has_delta for leaf in block.changing):
        return None
    return block


def _maintain(match: Match) -> bool:
    memo, tvr = match.memo, match.memo.tvr_of(match.expression.group)
    block = block_of(match)
    if block is None or tvr is None or (len(block.leaves) == 2 and tvr.has_delta):
        return False
    parts = _parts(block, match.ids)
    if parts is None:
        return False
    for leaf in block.changing:
        for piece in block.pieces(leaf) or ():
            view = tvr_of(memo, memo.reference(piece.group))
            if len(piece.leaves) > 1:
                memo.relate(tvr, Role.INDEPENDENT, view.id, tvr_of(memo, leaf.given).id)
    return add_delta(match, tvr, plus(parts, block.root.columns, match.ids), DELTA.name)


def _parts(block: InnerBlock, ids: ColumnIds) -> tuple[Signed, ...] | None:
    """Return the terms of the delta, one per updated leaf, the rightmost leaf first; None if some
    leaf cannot be joined with the others without a cross product."""
    parts = []
    for leaf in reversed(block.changing):
        pieces = block.pieces(leaf)
        if pieces is None:
            return None
        others = [(piece.leaves, block.version(piece)) for piece in pieces]
        rows = block.chain(block.delta(leaf), leaf, others, block.wanted, ids)
        columns = block.root.columns
        kept = columns if rows.weight is None else (*columns, rows.weight)
        parts.append(Signed(projected(rows.relation, kept), rows.weight))
    return tuple(parts)


DELTA = MemoRule("HigherOrderDelta", Join, _maintain, _SOURCE, deltas=True)


def _why_not(relation: Relation, growing: frozenset[str]) -> WhyNot | None:
    joins = [node for node in walk(relation) if isinstance(node, Join) and _grows(node, growing)]
    if not joins:
        what = (
            "no inner join reads a source that grows, and no left join's partners may still arrive"
        )
        return WhyNot(Reason.NO_INNER_JOIN, what)
    joins = [join for join in joins if is_deterministic(join.condition)]
    if not joins:
        return WhyNot(Reason.NOT_DETERMINISTIC, "each condition gives another value each time")
    if any(equality(part) is not None for join in joins for part in conjuncts(join.condition)):
        return None
    what = "no join has an equality, so an update is compared with all rows of the other side"
    return WhyNot(Reason.NO_EQUALITY, what)


def _grows(join: Join, growing: frozenset[str]) -> bool:
    """Return whether what a join's side is joined with is a view for the updates of the other."""
    if join.kind is JoinKind.INNER:
        return changes(join, growing)
    return join.kind is JoinKind.LEFT and changes(join.right, growing)


METHOD = Method(
    "hov",
    "HOV: what an update of one relation is joined with, as views that are maintained likewise",
    (*without("InnerJoinDelta"), *LOCAL, DELTA, pre_aggregation.RULE, *DOMAIN, foreign_key.RULE),
    _why_not,
    _SOURCE,
)
