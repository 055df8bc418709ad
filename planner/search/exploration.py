"""The memo of a query by one method: its forms, and every version that the method's rules find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planner.algebra.relational import Relation
from planner.memo.memo import GroupId, Memo
from planner.request import SpeedUps
from planner.rules.explore.catalog import TreeRule
from planner.search.ablation import DIFFERENCES, merge_in_every_order
from planner.search.explore import Search, Trace
from planner.search.rule import MemoRule
from planner.tvr.signed import ColumnIds

BUDGET = 20_000
"""Most tries of rules in one search."""


@dataclass(frozen=True, slots=True)
class Scope:
    """``growing``: names of sources, ``retracting`` of those among them whose deliveries take rows
    back. ``runs``: how many the day has, of interest only where a speed-up is off."""

    growing: frozenset[str]
    retracting: frozenset[str] = frozenset()
    runs: int = 1
    speed: SpeedUps = field(default_factory=SpeedUps)


@dataclass(frozen=True, slots=True)
class Explored:
    """``root``: the group of the query. ``tries`` of rules and ``expressions``: over all steps that
    were explored, of which ``trace`` is the last one's."""

    memo: Memo
    root: GroupId
    trace: Trace
    tries: int
    expressions: int


def explore(
    relation: Relation,
    scope: Scope,
    trees: Sequence[TreeRule],
    rules: Sequence[MemoRule],
    ids: ColumnIds,
) -> Explored:
    """Rewrite the query, then fire rules to a fixpoint."""
    tries = expressions = 0
    if not scope.speed.symmetric:
        for _ in range(scope.runs - 1):
            other = _step(relation, scope, trees, rules, ids.fork())
            tries, expressions = tries + other.tries, expressions + other.expressions
    last = _step(relation, scope, trees, rules, ids)
    return replace(last, tries=tries + last.tries, expressions=expressions + last.expressions)


def _step(
    relation: Relation,
    scope: Scope,
    trees: Sequence[TreeRule],
    rules: Sequence[MemoRule],
    ids: ColumnIds,
) -> Explored:
    """One step of the day."""
    memo = Memo(scope.growing, scope.retracting)
    root = memo.add(relation)
    tried = rules if scope.speed.pruned else (*rules, *DIFFERENCES)
    search = Search(memo, tried, ids, BUDGET)
    form, query = relation, next(memo.alternatives(root)).id
    for tree in trees:
        after = tree.apply(form, ids)
        first = len(memo.expressions)
        found = after is not None and after != form
        if after is not None and found:
            memo.equate(root, after, tree.name)
            form = after
        search.trace.note(tree.name, query, first, len(memo.expressions), found=found)
    trace = search.run()
    if not scope.speed.guided:
        merge_in_every_order(memo, scope.runs, trace)
    return Explored(memo, root, trace, sum(trace.tried.values()), len(memo.expressions))
