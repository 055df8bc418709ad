"""What the three speed-ups of exploration (Tempura 5.4) spare, to be measured by leaving them out.

The product has all three, always. :func:`explore_without` explores like
:func:`forerun.planner.rules.exploration.explore`, without those that a :class:`SpeedUps` switches
off.

**Translational symmetry.** The memo describes one generic step, and time is an array beside it.
Without it, every step of a day is explored for itself.

**Pruning non-promising alternatives.** A delta can always be had as the difference of two
snapshots, both computed whole. Where a rule makes it from deltas, that is not looked at.

**Guided exploration.** What was kept is merged with the next delta, and so on: left-deep. Without
it, deltas of longer intervals are merged of shorter ones, in every order; and rules fire at what
was merged as at any delta. All orders cost the same, so no plan is made of these groups; they are
only explored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    Project,
    Relation,
    UnionAll,
    Version,
)
from forerun.planner.algebra.types import Column
from forerun.planner.memo.groups import Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import StepLeaf
from forerun.planner.props.repeatable import Repeats
from forerun.planner.rules.exploration import ExplorationScope, Explored, explore
from forerun.planner.rules.explore.catalog import ExploreRule
from forerun.planner.rules.incremental.memo_rules import add_delta
from forerun.planner.search.engine import Trace
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed, consolidate, plus, with_weight


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUps:
    """Which of the three are used. ``symmetric``: one generic step is explored, not each step of
    the day. ``pruned``: a delta is not also made as a difference of snapshots. ``guided``: deltas
    are merged in one order only."""

    symmetric: bool = True
    pruned: bool = True
    guided: bool = True


@dataclass(frozen=True, eq=False)
class Between(StepLeaf):
    """A delta between two runs that need not be neighbours, where time is no parameter."""

    group: int
    given: tuple[Column, ...]
    first: int
    last: int

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.given


@dataclass(frozen=True, slots=True)
class Work:
    """The memo of the last step, and the work of all steps that were explored: ``tries`` of rules,
    and ``expressions`` that they made."""

    explored: Explored
    tries: int
    expressions: int


def explore_without(
    speed: SpeedUps,
    runs: int,
    relation: Relation,
    scope: ExplorationScope,
    rewrites: Sequence[ExploreRule],
    rules: Sequence[MemoRule],
    ids: ColumnIds,
) -> Work:
    """Explore a query for a day of ``runs`` runs. Without symmetry this is done for each step of
    the day by itself; if merges are not guided either, for the merged deltas too, which lead from
    any run to any later one (run 0: what there was before). Snapshots count once per run."""
    tried = rules if speed.pruned else (*rules, *DIFFERENCES)
    tries = expressions = 0
    if not speed.symmetric:
        merged = 0 if speed.guided else runs * (runs - 1) // 2
        for number in range(1, runs + merged):
            other = explore(relation, scope, rewrites, tried, ids.fork())
            if number < runs:
                tries += sum(other.trace.tried.values())
                expressions += len(other.memo.expressions)
            else:
                more = _of_deltas(other, rules)
                tries, expressions = tries + more[0], expressions + more[1]
    last = explore(relation, scope, rewrites, tried, ids)
    if not speed.guided:
        merge_in_every_order(last.memo, runs, last.trace)
    tries += sum(last.trace.tried.values())
    return Work(last, tries, expressions + len(last.memo.expressions))


def _of_deltas(found: Explored, rules: Sequence[MemoRule]) -> tuple[int, int]:
    """The tries and the expressions that a step has beside those of the snapshots at its end."""
    names = {rule.name for rule in (*rules, *DIFFERENCES) if rule.deltas}
    memo = found.memo
    steps = sum(memo.group(one.group).step for one in memo.expressions)
    return sum(count for name, count in found.trace.tried.items() if name in names), steps


_NAME = "DeltaByDifference"
MERGE = "MergeOfDeltas"


def _difference(match: Match) -> bool:
    """d(R) = R_new - R_old; once for a time-varying relation that has a delta."""
    memo, ids = match.memo, match.ids
    tvr = memo.tvr_of(match.expression.group)
    if tvr is None or not tvr.changing or not tvr.has_delta:
        return False
    if tvr.repeats is not Repeats.ALWAYS:
        return False  # what has not changed would not cancel
    group = tvr.edges[Version.DELTA, View.ROWS]
    if any(one.origin == _NAME for one in memo.alternatives(group)):
        return False
    rows = memo.group(tvr.new).columns
    if any("MAP<" in column.type.name.upper() for column in rows):
        return False  # not to be compared
    new, old = (Signed(memo.reference(tvr.new, before=before)) for before in (False, True))
    both = plus((new, with_weight(old, ids, sign=-1)), rows, ids)
    # Of what takes nothing back, the difference is a plain bag.
    delta = Signed(consolidate(both, ids)) if tvr.weight is None else both
    return add_delta(match, tvr, delta, _NAME)


DIFFERENCES = tuple(
    MemoRule(
        _NAME,
        operator,
        _difference,
        "Tempura 4.1, intra-TVR: the inverse of the merge.",
        deltas=True,
        priority=1,
    )
    for operator in (Filter, Project, Join, UnionAll, Aggregate)
)


def merge_in_every_order(memo: Memo, runs: int, trace: Trace) -> None:
    """The deltas between any two of the runs, each as every sum of two shorter ones."""
    for tvr in list(memo.tvrs):
        if tvr.has_delta and memo.tvr_of(tvr.new) is tvr:
            _merge(memo, tvr, runs, trace)


def _merge(memo: Memo, tvr: Tvr, runs: int, trace: Trace) -> None:
    group = memo.group(tvr.edges[Version.DELTA, View.ROWS])
    at = next(memo.alternatives(group.id)).id
    for length in range(2, runs + 1):
        for first in range(runs - length + 1):
            last = first + length
            whole = memo.add(Between(group.id, group.columns, first, last), MERGE, part=True)
            for middle in range(first + 1, last):
                parts = (
                    Between(group.id, group.columns, first, middle),
                    Between(group.id, group.columns, middle, last),
                )
                before = len(memo.expressions)
                memo.equate(whole, UnionAll(parts, group.columns), MERGE, part=True)
                trace.note(MERGE, at, before, len(memo.expressions), found=True)
