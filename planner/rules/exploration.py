"""Exploration: fills the memo of a query with its equivalent forms and with every version of its
relations that the rules of a method find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forerun.planner.algebra.relational import Relation, Scan, walk
from forerun.planner.algebra.types import ColumnId
from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.memo import Memo
from forerun.planner.request import Settings
from forerun.planner.rules.explore.catalog import ExploreRule, Known, LastTwoRuns, TreeRule
from forerun.planner.rules.explore.small_values import Magnitude
from forerun.planner.search.engine import RuleEngine, Trace
from forerun.planner.search.rule import MemoRule
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class ExplorationScope:
    """The parts of a request that exploration depends on.

    ``growing`` are the names of the sources that grow, ``retracting`` those of them whose
    deliveries take rows back. ``last_two_runs`` are the estimates by which join orders are chosen;
    without them no other orders are tried. ``budget`` limits rule applications plus the expressions
    that they add. ``keys`` are the keys that authors declare, by source, and ``foreign_keys`` those
    foreign keys of which runs can verify what rules rely on. ``repairable`` is that of
    :class:`forerun.planner.request.PlanRequest`. ``magnitudes`` are those of columns of whole
    numbers, each with its source; ``ordered`` are the columns in whose order rows are declared to
    come. ``paned`` are the names of the sources that have panes.
    """

    growing: frozenset[str]
    retracting: frozenset[str] = frozenset()
    last_two_runs: LastTwoRuns | None = None
    budget: int = Settings().explore
    keys: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    foreign_keys: tuple[ReliedForeignKey, ...] = ()
    repairable: bool = False
    magnitudes: Mapping[tuple[str, str], Magnitude] = field(default_factory=dict)
    ordered: frozenset[tuple[str, str]] = frozenset()
    paned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Explored:
    """The explored memo, the group of the query in it (``root``), and the record of the search."""

    memo: Memo
    root: GroupId
    trace: Trace


def explore(
    relation: Relation,
    scope: ExplorationScope,
    rewrites: Sequence[ExploreRule],
    rules: Sequence[MemoRule],
    ids: ColumnIds,
) -> Explored:
    """Build the memo of a query: add the forms that ``rewrites`` give, then apply ``rules`` to a
    fixpoint or until the budget is spent. The memo describes one generic step of the day, so its
    size does not depend on the number of runs."""
    memo = Memo(
        scope.growing,
        scope.retracting,
        scope.keys,
        scope.foreign_keys,
        repairable=scope.repairable,
        in_order=frozenset(
            id_ for id_, name in _stored_columns(relation).items() if name in scope.ordered
        ),
    )
    root = memo.add(relation)
    search = RuleEngine(memo, rules, ids, scope.budget)
    _rewrite(memo, root, relation, scope, rewrites, search.trace, ids)
    return Explored(memo, root, search.run())


def _stored_columns(relation: Relation) -> dict[ColumnId, tuple[str, str]]:
    """Return the columns of sources that a query reads, each with the name of its source."""
    return {
        column.id: (scan.source, column.name)
        for scan in walk(relation)
        if isinstance(scan, Scan)
        for column in scan.columns
    }


def _rewrite(
    memo: Memo,
    root: GroupId,
    relation: Relation,
    scope: ExplorationScope,
    rewrites: Sequence[ExploreRule],
    trace: Trace,
    ids: ColumnIds,
) -> None:
    """Add the other forms of the query to its memo; each tree rule starts from the last form."""
    form, query = relation, next(memo.alternatives(root)).id
    stored = _stored_columns(relation)
    magnitudes = {
        id_: scope.magnitudes[name] for id_, name in stored.items() if name in scope.magnitudes
    }
    known = Known(scope.growing, magnitudes, scope.retracting, scope.paned)
    for rule in rewrites:
        first = len(memo.expressions)
        if isinstance(rule, TreeRule):
            after = rule.apply(form, ids, known)
            found = after is not None and after != form
            if after is not None and found:
                memo.equate(root, after, rule.name)
                form = after
        else:
            found = scope.last_two_runs is not None and rule.apply(memo, scope.last_two_runs) > 0
        trace.note(rule.name, query, first, len(memo.expressions), found=found)
