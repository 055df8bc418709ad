"""The memo of a query by one method: its forms, and every version that the method's rules find."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.algebra.relational import Relation
from planner.memo.memo import GroupId, Memo
from planner.rules.explore.catalog import TreeRule
from planner.search.explore import Search, Trace
from planner.search.rule import MemoRule
from planner.tvr.signed import ColumnIds

BUDGET = 20_000
"""Most tries of rules in one search."""


@dataclass(frozen=True, slots=True)
class Explored:
    """``root``: the group of the query."""

    memo: Memo
    root: GroupId
    trace: Trace


def explore(
    relation: Relation,
    growing: frozenset[str],
    trees: Iterable[TreeRule],
    rules: Iterable[MemoRule],
    ids: ColumnIds,
    retracting: frozenset[str] = frozenset(),
) -> Explored:
    """Rewrite the query, then fire rules to a fixpoint. ``growing``: names of sources;
    ``retracting``: of those among them whose deliveries take rows back."""
    memo = Memo(growing, retracting)
    root = memo.add(relation)
    search = Search(memo, rules, ids, BUDGET)
    form, query = relation, next(memo.alternatives(root)).id
    for tree in trees:
        after = tree.apply(form, ids)
        first = len(memo.expressions)
        found = after is not None and after != form
        if after is not None and found:
            memo.equate(root, after, tree.name)
            form = after
        search.trace.note(tree.name, query, first, len(memo.expressions), found=found)
    return Explored(memo, root, search.run())
