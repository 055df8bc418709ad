"""The memo of a query by one method: its forms, and every version that the method's rules find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.algebra.relational import Relation
from planner.memo.memo import GroupId, Memo
from planner.request import Settings, SpeedUps
from planner.rules.explore.catalog import Moments, Rewrite, TreeRule
from planner.search.ablation import DIFFERENCES, merge_in_every_order
from planner.search.explore import Search, Trace
from planner.search.rule import MemoRule
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Scope:
    """``growing``: names of sources, ``retracting`` of those among them whose deliveries take rows
    back. ``runs``: how many the day has, of interest only where a speed-up is off. ``moments``:
    what rewrites of blocks of joins go by; without, they are not tried. ``budget``: of work, in
    each step. ``keys``: what authors declare to be unique, by source."""

    growing: frozenset[str]
    retracting: frozenset[str] = frozenset()
    runs: int = 1
    speed: SpeedUps = field(default_factory=SpeedUps)
    moments: Moments | None = None
    budget: int = Settings().explore
    keys: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)


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
    rewrites: Sequence[Rewrite],
    rules: Sequence[MemoRule],
    ids: ColumnIds,
) -> Explored:
    """Rewrite the query, then fire rules to a fixpoint. Without symmetry for each step of the day
    by itself; if merges are not guided either, for the merged deltas too, which lead from any run
    to any later one (run 0: what there was before). Snapshots count once per run."""
    tries = expressions = 0
    if not scope.speed.symmetric:
        merged = 0 if scope.speed.guided else scope.runs * (scope.runs - 1) // 2
        for number in range(1, scope.runs + merged):
            other = _step(relation, scope, rewrites, rules, ids.fork())
            if number < scope.runs:
                tries, expressions = tries + other.tries, expressions + other.expressions
            else:
                more = _of_deltas(other, rules)
                tries, expressions = tries + more[0], expressions + more[1]
    last = _step(relation, scope, rewrites, rules, ids)
    if not scope.speed.guided:
        merge_in_every_order(last.memo, scope.runs, last.trace)
    tries += sum(last.trace.tried.values())
    return replace(last, tries=tries, expressions=expressions + len(last.memo.expressions))


def _step(
    relation: Relation,
    scope: Scope,
    rewrites: Sequence[Rewrite],
    rules: Sequence[MemoRule],
    ids: ColumnIds,
) -> Explored:
    """One step of the day."""
    memo = Memo(scope.growing, scope.retracting, scope.keys)
    root = memo.add(relation)
    tried = rules if scope.speed.pruned else (*rules, *DIFFERENCES)
    search = Search(memo, tried, ids, scope.budget)
    _rewrite(memo, root, relation, scope, rewrites, search.trace, ids)
    trace = search.run()
    return Explored(memo, root, trace, sum(trace.tried.values()), len(memo.expressions))


def _of_deltas(found: Explored, rules: Sequence[MemoRule]) -> tuple[int, int]:
    """The tries and the expressions that a step has beside those of the snapshots at its end."""
    names = {rule.name for rule in (*rules, *DIFFERENCES) if rule.deltas}
    memo = found.memo
    steps = sum(memo.group(one.group).step for one in memo.expressions)
    return sum(count for name, count in found.trace.tried.items() if name in names), steps


def _rewrite(
    memo: Memo,
    root: GroupId,
    relation: Relation,
    scope: Scope,
    rewrites: Sequence[Rewrite],
    trace: Trace,
    ids: ColumnIds,
) -> None:
    """Add other forms of the query to its memo."""
    form, query = relation, next(memo.alternatives(root)).id
    for rule in rewrites:
        first = len(memo.expressions)
        if isinstance(rule, TreeRule):
            after = rule.apply(form, ids)
            found = after is not None and after != form
            if after is not None and found:
                memo.equate(root, after, rule.name)
                form = after
        else:
            found = scope.moments is not None and rule.apply(memo, scope.moments) > 0
        trace.note(rule.name, query, first, len(memo.expressions), found=found)
