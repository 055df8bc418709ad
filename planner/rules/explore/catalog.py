"""Rewrites that are good or bad by the data, in order.

Those of the whole query go on from what the one before has made, and every form is an alternative
in the memo. Those of blocks of joins look at every block of the memo once, as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.algebra.relational import Relation
from planner.memo.memo import Memo
from planner.rules.explore import distinct
from planner.rules.explore.eager_aggregate import aggregate_eagerly
from planner.rules.explore.join_orders import add_orders
from planner.rules.explore.same_group import join_groups_once
from planner.rules.methods.join_block import ORDER
from planner.search.rule import MemoRule
from planner.stats.estimate import Estimator
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class TreeRule:
    """``apply`` answers an equivalent relation, or None where there is nothing to rewrite."""

    name: str
    apply: Callable[[Relation, ColumnIds], Relation | None]


Moments = tuple[Estimator, Estimator]
"""As of the last run but one, and as of the last run."""


@dataclass(frozen=True, slots=True)
class BlockRule:
    """``apply`` adds joins to a memo; it answers how many."""

    name: str
    apply: Callable[[Memo, Moments], int]


def _join_groups_once(relation: Relation, _: ColumnIds) -> Relation | None:
    return join_groups_once(relation)


Rewrite = TreeRule | BlockRule
EXPLORE: tuple[Rewrite, ...] = (
    TreeRule("EagerAggregate", aggregate_eagerly),
    TreeRule("JoinGroupsOnce", _join_groups_once),  # of sums that were pushed below the joins
    BlockRule(ORDER, add_orders),  # of every form: what was pushed below the joins is a leaf
)
LOCAL: tuple[MemoRule, ...] = (distinct.RULE,)
"""Of one operator and what it reads; they fire as the others of a method do."""
