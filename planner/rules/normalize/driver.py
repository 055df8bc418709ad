"""The driver of normalization: it runs explicit passes in order, and rule sets to a fixpoint within
a budget counted in firings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from forerun.planner.algebra.relational import Relation, rewrite
from forerun.planner.errors import TooDeepError
from forerun.planner.props.lists import determine_lists
from forerun.planner.request import Source
from forerun.planner.rules.normalize import (
    constants,
    empty,
    generated_leaves,
    implied,
    join,
    nulls,
    outer_join,
    project,
    repeated,
    semi_join,
    sort,
)
from forerun.planner.rules.normalize import (
    filter as filters,
)
from forerun.planner.rules.normalize.choice import determine_choices
from forerun.planner.rules.normalize.identity import with_unique_columns
from forerun.planner.rules.normalize.join_order import reorder_blocks
from forerun.planner.rules.normalize.leaves import read_leaves
from forerun.planner.rules.normalize.prune import prune_columns
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule, reordered
from forerun.planner.rules.normalize.set_operation import count_sides
from forerun.planner.stats.estimate import Estimator
from forerun.planner.tvr.signed import ColumnIds

Observer = Callable[[str, Relation, Relation], None]
"""A callback after each rewrite, with the name of the rule or pass and the relation before and
after it; tests check invariants with it."""


@dataclass(frozen=True, slots=True)
class AppliedRewrite:
    """One rewrite, of a node by a rule or of the whole query by a pass."""

    rule: str
    before: Relation
    after: Relation


FIRINGS_PER_NODE = 200
"""The budget of a rule set: firings per node of the query that it starts from. TPC-H needs fewer
than 10."""

PUSH: tuple[NormalizeRule, ...] = (
    constants.SIMPLIFY_FILTER,  # first: fewer and plainer conjuncts for all that follows
    constants.SIMPLIFY_CONDITION,
    empty.DROP_EMPTY,  # nothing else needs to be done to what goes
    empty.DROP_SIDE,  # after it: of what is left here, some rows stay
    empty.DROP_BRANCH,
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
    sort.MERGE_LIMITS,
)
IMPLY: tuple[NormalizeRule, ...] = (
    # Once, not to a fixpoint: what they add moves away, and they would add it again.
    implied.CONSTANTS_THROUGH_EQUALITY,
    implied.SIDES_OF_DISJUNCTION,
)
KEYS: tuple[NormalizeRule, ...] = (
    join.KEYS_TO_COLUMNS,  # after ordering: only then it is known which equalities meet where
)
CLEAN: tuple[NormalizeRule, ...] = (
    project.MERGE_PROJECTS,
    project.DROP_IDENTITY,
)
PASSES = (
    "DropInnerSorts", "CountSides", "ReorderJoins", "DetermineChoices",
    generated_leaves.NAME, "ReadLeaves", "PruneColumns", repeated.NAME,
)  # fmt: skip
"""The passes that run once over the whole query and can be switched off. The pass that makes column
ids unique cannot, since all others rely on it."""
RULE_NAMES = tuple(
    dict.fromkeys((*PASSES, *(rule.name for rule in (*PUSH, *IMPLY, *KEYS, *CLEAN))))
)


@dataclass
class _Run:
    """One normalization: its context, its observer, and the names of what is switched ``off``."""

    context: NormalizeContext
    observer: Observer | None
    off: frozenset[str]

    def once(self, name: str, change: Callable[[Relation], Relation], r: Relation) -> Relation:
        after = r if name in self.off else change(r)
        if self.observer is not None and after != r:
            self.observer(name, r, after)
        return after

    def sweep(
        self,
        rules: Iterable[NormalizeRule],
        relation: Relation,
        budget: list[int],
        settled: dict[int, Relation] | None = None,
    ) -> Relation:
        """Apply each rule at each node, inputs first, and repeat at a node while one fires.

        ``settled`` has the nodes at which no rule of the set fires, by identity. A rule looks only
        at a node and below it, so these need not be tried again. ``budget`` is a counter in a list.
        """
        table = tuple(rule for rule in rules if rule.name not in self.off)
        known = {} if settled is None else settled

        def at_node(node: Relation) -> Relation:
            fired = id(node) not in known
            while fired and budget[0] > 0:
                fired = False
                for rule in table:
                    if isinstance(node, rule.operator):
                        after = _applied(rule, node, self.context)
                        if after is not None:
                            budget[0] -= 1
                            if self.observer is not None:
                                self.observer(rule.name, node, after)
                            node, fired = after, True
            known[id(node)] = node
            return node

        return rewrite(relation, at_node)

    def fixpoint(self, rules: Iterable[NormalizeRule], relation: Relation) -> Relation:
        """Sweep until nothing changes or the budget is spent. After a spent budget the plan is
        correct but perhaps not the best, since every single rewrite preserves the meaning."""
        table = tuple(rules)
        settled: dict[int, Relation] = {}
        budget = [FIRINGS_PER_NODE * (1 + sum(1 for _ in _nodes(relation)))]
        while budget[0] > 0:
            before = budget[0]
            relation = self.sweep(table, relation, budget, settled)
            if budget[0] == before:
                break
        return relation


def _applied(rule: NormalizeRule, node: Relation, context: NormalizeContext) -> Relation | None:
    """Apply a rule at a node. A rule does not fire if its result would nest expressions too deeply,
    as when the projections of many subqueries are merged."""
    try:
        return rule.apply(node, context)
    except TooDeepError:
        return None


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
    relied: set[tuple[str, str]] | None = None,
) -> Relation:
    """Return an equivalent relation in normal form with the same output columns, without using the
    rules that are switched ``off``. The function is deterministic.

    In the result, a column id is of one node, and sub-plans that are equal but for their ids, with
    some joins in them, are one object; filters are as low as they may be; there are no RIGHT
    joins; equalities of a join whose sides have the same type compare plain columns; blocks of
    inner joins are left-deep, without needless cross products; unneeded columns are pruned; sorts
    are only under limits or on top.

    The (source, column) pairs whose declared NOT NULL the result depends on are added to
    ``relied``; the result is equivalent only if these columns hold no NULL.
    """
    given = tuple(sources)
    not_null = {s.name: frozenset(c.name for c in s.columns if not c.nullable) for s in given}
    keys = {s.name: s.keys for s in given}
    context = NormalizeContext(
        ids, Estimator(given), not_null, relied if relied is not None else set(), keys
    )
    run = _Run(context, observer, off)
    columns = relation.columns
    result = run.once("UniqueColumns", lambda r: with_unique_columns(r, context), relation)
    columns = result.columns
    result = run.once("DropInnerSorts", sort.without_inner_sorts, result)
    result = run.fixpoint(PUSH, result)
    result = run.sweep(IMPLY, result, [len(IMPLY) * FIRINGS_PER_NODE])
    result = run.fixpoint(PUSH, result)
    # After filters have moved below them; before joins are ordered by the estimates of their sides.
    result = run.once("CountSides", lambda r: count_sides(r, context), result)
    result = run.once("ReorderJoins", lambda r: reorder_blocks(r, context), result)
    # After filters are in place: columns that they fix to a constant are determined.
    result = run.once("DetermineChoices", lambda r: determine_choices(r, context), result)
    result = run.once("DetermineLists", determine_lists, result)
    result = run.fixpoint(KEYS, result)
    result = run.fixpoint(CLEAN, result)
    result = run.once(
        generated_leaves.NAME, lambda r: generated_leaves.read_generated_leaves(r, context), result
    )
    result = run.once("ReadLeaves", lambda r: read_leaves(r, context), result)
    result = run.once("PruneColumns", prune_columns, result)
    # After all that a reader alone may need has been pushed into its copy.
    result = run.once(repeated.NAME, lambda r: repeated.share_repeated(r, context), result)
    result = run.fixpoint(CLEAN, result)
    return reordered(result, columns)
