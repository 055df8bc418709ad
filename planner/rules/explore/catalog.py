"""Rewrites of a whole query that are good or bad by the data, in order: each goes on from what the
one before has made, and every form is an alternative in the memo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.algebra.relational import Relation
from planner.rules.explore.eager_aggregate import aggregate_eagerly
from planner.rules.explore.same_group import join_groups_once
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class TreeRule:
    """``apply`` answers an equivalent relation, or None where there is nothing to rewrite."""

    name: str
    apply: Callable[[Relation, ColumnIds], Relation | None]


def _join_groups_once(relation: Relation, _: ColumnIds) -> Relation | None:
    return join_groups_once(relation)


EXPLORE: tuple[TreeRule, ...] = (
    TreeRule("EagerAggregate", aggregate_eagerly),
    TreeRule("JoinGroupsOnce", _join_groups_once),  # of sums that were pushed below the joins
)
