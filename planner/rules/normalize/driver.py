"""The driver: explicit passes in order, rules to a fixpoint, a budget counted in firings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from planner.algebra.relational import Relation, rewrite
from planner.request import Source
from planner.rules.normalize import (
    constants,
    implied,
    join,
    nulls,
    outer_join,
    project,
    semi_join,
)
from planner.rules.normalize import (
    filter as filters,
)
from planner.rules.normalize.identity import with_unique_columns
from planner.rules.normalize.join_order import reorder_blocks
from planner.rules.normalize.prune import prune_columns
from planner.rules.normalize.rule import Context, Rule, reordered
from planner.rules.normalize.set_operation import count_sides
from planner.rules.normalize.sort import without_inner_sorts
from planner.stats.estimate import Estimator
from planner.tvr.signed import ColumnIds

Observer = Callable[[str, Relation, Relation], None]
"""Told of each rewrite: the rule or pass, the relation before and after. Tests check invariants."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One step: what a rule made of a node, or a pass of the whole query."""

    rule: str
    before: Relation
    after: Relation


FIRINGS_PER_NODE = 200
"""Budget of a rule set, per node of the query it starts from. TPC-H needs fewer than 10."""

PUSH: tuple[Rule, ...] = (
    constants.SIMPLIFY_FILTER,  # first: fewer and plainer conjuncts for all that follows
    constants.SIMPLIFY_CONDITION,
    outer_join.TURN_RIGHT_JOIN,  # one kind less for the rules below
    outer_join.OUTER_BELOW_FILTER,  # before filters leave the join: they are the evidence
    outer_join.OUTER_BELOW_JOIN,
    filters.MERGE_FILTERS,
    filters.BELOW_PROJECT,
    filters.BELOW_JOIN,
    filters.BELOW_AGGREGATE,
    filters.BELOW_WINDOW,
    filters.BELOW_UNION,
    filters.BELOW_SET_OPERATION,
    filters.BELOW_SORT,
    join.CONDITION_TO_INPUTS,
    join.ABOVE_RENAMING,  # joins become neighbours
    semi_join.BELOW_JOIN,  # after filters have gone down: it leaves the rest on top
    nulls.KNOWN_TEST,  # after filters have gone down: they are the evidence
    project.MERGE_PROJECTS,
    project.DROP_IDENTITY,
    project.DROP_DISTINCT,
)
IMPLY: tuple[Rule, ...] = (
    # Once, not to a fixpoint: what they add moves away, and they would add it again.
    implied.CONSTANTS_THROUGH_EQUALITY,
    implied.SIDES_OF_DISJUNCTION,
)
KEYS: tuple[Rule, ...] = (
    join.KEYS_TO_COLUMNS,  # after ordering: only then it is known which equalities meet where
)
CLEAN: tuple[Rule, ...] = (
    project.MERGE_PROJECTS,
    project.DROP_IDENTITY,
)
PASSES = ("DropInnerSorts", "CountSides", "ReorderJoins", "PruneColumns")
"""What is done once to the whole query, and may be left out. Unique column ids may not: all that
follows takes them for granted."""
RULE_NAMES = tuple(
    dict.fromkeys((*PASSES, *(rule.name for rule in (*PUSH, *IMPLY, *KEYS, *CLEAN))))
)


@dataclass
class _Run:
    """One normalization: the context, who watches, what is switched off, and how often rules have
    fired."""

    context: Context
    observer: Observer | None
    off: frozenset[str]

    def once(self, name: str, change: Callable[[Relation], Relation], r: Relation) -> Relation:
        after = r if name in self.off else change(r)
        if self.observer is not None and after != r:
            self.observer(name, r, after)
        return after

    def sweep(
        self,
        rules: Iterable[Rule],
        relation: Relation,
        budget: list[int],
        settled: dict[int, Relation] | None = None,
    ) -> Relation:
        """Each rule at each node, inputs first; at a node again while one fires.

        ``settled`` are nodes at which no rule of the set fires, by identity: a rule looks at a node
        and what is below it only, so none fires at the same node later.
        """
        table = tuple(rule for rule in rules if rule.name not in self.off)
        known = {} if settled is None else settled

        def at_node(node: Relation) -> Relation:
            fired = id(node) not in known
            while fired and budget[0] > 0:
                fired = False
                for rule in table:
                    if isinstance(node, rule.operator):
                        after = rule.apply(node, self.context)
                        if after is not None:
                            budget[0] -= 1
                            if self.observer is not None:
                                self.observer(rule.name, node, after)
                            node, fired = after, True
            known[id(node)] = node
            return node

        return rewrite(relation, at_node)

    def fixpoint(self, rules: Iterable[Rule], relation: Relation) -> Relation:
        """Sweeps until none changes anything. A spent budget leaves a right plan, if not the
        best: every single rewrite keeps the meaning."""
        table = tuple(rules)
        settled: dict[int, Relation] = {}
        budget = [FIRINGS_PER_NODE * (1 + sum(1 for _ in _nodes(relation)))]
        while budget[0] > 0:
            before = budget[0]
            relation = self.sweep(table, relation, budget, settled)
            if budget[0] == before:
                break
        return relation


def _nodes(relation: Relation) -> Iterable[Relation]:
    stack = [relation]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.inputs)


def normalize(
    relation: Relation,
    sources: Iterable[Source],
    ids: ColumnIds,
    observer: Observer | None = None,
    off: frozenset[str] = frozenset(),
) -> Relation:
    """An equivalent relation with the same output columns, in normal form, without the rules that
    are switched ``off``.

    Of the result: column ids are unique in the tree; filters are as low as they may be; there are
    no RIGHT joins; equalities between the sides of a join are of plain columns of one type where
    their types agree; blocks of inner joins are left-deep, without needless cross products; only
    needed columns flow; sorts are under limits or on top. Pure and deterministic.
    """
    given = tuple(sources)
    not_null = {s.name: frozenset(c.name for c in s.columns if not c.nullable) for s in given}
    context = Context(ids, Estimator(given), not_null)
    run = _Run(context, observer, off)
    columns = relation.columns
    result = run.once("UniqueColumns", lambda r: with_unique_columns(r, context), relation)
    columns = result.columns
    result = run.once("DropInnerSorts", without_inner_sorts, result)
    result = run.fixpoint(PUSH, result)
    result = run.sweep(IMPLY, result, [len(IMPLY) * FIRINGS_PER_NODE])
    result = run.fixpoint(PUSH, result)
    # After filters have gone below them, before joins are ordered by what the sides give.
    result = run.once("CountSides", lambda r: count_sides(r, context), result)
    result = run.once("ReorderJoins", lambda r: reorder_blocks(r, context), result)
    result = run.fixpoint(KEYS, result)
    result = run.fixpoint(CLEAN, result)
    result = run.once("PruneColumns", prune_columns, result)
    result = run.fixpoint(CLEAN, result)
    return reordered(result, columns)
