"""The list of rewrites that pay or not depending on the data, in the order in which they run.

A tree rule rewrites the whole query, starting from the form that the previous one made; every form
is an alternative in the memo. A block rule looks once at every join block in the memo.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from forerun.planner.algebra.relational import Join, Relation, walk
from forerun.planner.memo.memo import Memo
from forerun.planner.rules.explore import (
    banded_joins,
    counted_values,
    distinct,
    interval_joins,
)
from forerun.planner.rules.explore.counted_nulls import count_nulls
from forerun.planner.rules.explore.eager_aggregate import aggregate_eagerly
from forerun.planner.rules.explore.fused_aggregates import fuse_aggregates
from forerun.planner.rules.explore.grouped_partners import OUTER, group_partners
from forerun.planner.rules.explore.join_orders import add_orders
from forerun.planner.rules.explore.magic_sets import restrict_groups
from forerun.planner.rules.explore.pane_groups import group_by_pane
from forerun.planner.rules.explore.reduced_partners import reduce_partners
from forerun.planner.rules.explore.same_group import join_groups_once
from forerun.planner.rules.explore.small_values import Magnitudes
from forerun.planner.rules.join_block import ORDER
from forerun.planner.search.rule import MemoRule
from forerun.planner.stats.estimate import Estimator
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge of a query's sources: the names of those that grow, of those of them of which rows
    are taken back, and of those that have panes; and the columns of whole numbers, by how large
    their values are (:mod:`forerun.planner.rules.explore.small_values`)."""

    growing: frozenset[str]
    magnitudes: Magnitudes = field(default_factory=dict)
    retracting: frozenset[str] = frozenset()
    paned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TreeRule:
    """A rewrite of the whole query: ``apply`` returns an equivalent relation, or None if it finds
    nothing to rewrite."""

    name: str
    apply: Callable[[Relation, ColumnIds, Known], Relation | None]


LastTwoRuns = tuple[Estimator, Estimator]
"""Estimators as of the last run but one, and as of the last run."""


@dataclass(frozen=True, slots=True)
class BlockRule:
    """A rewrite of join blocks: ``apply`` adds joins to a memo and returns how many."""

    name: str
    apply: Callable[[Memo, LastTwoRuns], int]


def _count_nulls(relation: Relation, ids: ColumnIds, known: Known) -> Relation | None:
    return count_nulls(relation, ids, known.growing)


def _group_by_pane(relation: Relation, ids: ColumnIds, known: Known) -> Relation | None:
    return group_by_pane(
        relation,
        ids,
        growing=known.growing,
        retracting=known.retracting,
        paned=known.paned,
    )


def _restrict_groups(relation: Relation, ids: ColumnIds, known: Known) -> Relation | None:
    return restrict_groups(relation, ids, known.growing)


def _aggregate_eagerly(relation: Relation, ids: ColumnIds, known: Known) -> Relation | None:
    return aggregate_eagerly(relation, ids, known.magnitudes)


def _group_partners(relation: Relation, ids: ColumnIds, known: Known) -> Relation | None:
    """Group the partners of an outer join, also of one below several other joins, through which the
    aggregate is pushed first."""
    if not any(isinstance(node, Join) and node.kind in OUTER for node in walk(relation)):
        return None
    for _joins_above in range(_MOST_JOINS_ABOVE):
        grouped = group_partners(relation, ids, known.magnitudes)
        pushed = None if grouped is not None else aggregate_eagerly(relation, ids, known.magnitudes)
        if pushed is None:
            return grouped
        relation = pushed
    return None


def _join_groups_once(relation: Relation, _: ColumnIds, __: Known) -> Relation | None:
    return join_groups_once(relation)


def _reduce_partners(relation: Relation, _: ColumnIds, __: Known) -> Relation | None:
    return reduce_partners(relation)


def _fuse_aggregates(relation: Relation, _: ColumnIds, __: Known) -> Relation | None:
    return fuse_aggregates(relation)


_MOST_JOINS_ABOVE = 4
ExploreRule = TreeRule | BlockRule
EXPLORE: tuple[ExploreRule, ...] = (
    TreeRule("CountedNulls", _count_nulls),
    TreeRule("PaneGroups", _group_by_pane),
    TreeRule("MagicSet", _restrict_groups),
    TreeRule("EagerAggregate", _aggregate_eagerly),
    TreeRule("GroupedPartners", _group_partners),  # what reads both sides of a left join
    TreeRule("GroupedPartners", _group_partners),  # and of a join among the partners
    TreeRule("JoinGroupsOnce", _join_groups_once),  # of sums that were pushed below the joins
    TreeRule("ReducedPartners", _reduce_partners),
    TreeRule("FusedAggregates", _fuse_aggregates),
    BlockRule(ORDER, add_orders),  # of every form: what was pushed below the joins is a leaf
)
LOCAL: tuple[MemoRule, ...] = (
    distinct.RULE,
    counted_values.RULE,
    banded_joins.RULE,
    interval_joins.RULE,
)
"""Rewrites of one operator and its input; they are memo rules and fire with those of a method."""
