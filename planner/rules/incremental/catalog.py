"""The list of delta rules, in the order in which they are asked. Nothing registers itself."""

from __future__ import annotations

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import Join, Limit, Relation, Sort
from forerun.planner.errors import Reason
from forerun.planner.rules.incremental import aggregate, join, linear, outer_join, panes
from forerun.planner.rules.incremental.rule import Applies, DeltaRule, Input

INCREMENTAL: tuple[DeltaRule, ...] = (
    linear.FILTER,
    linear.PROJECT,
    linear.UNION_ALL,
    linear.REPEAT,
    linear.GENERATE,
    join.STATIC_RIGHT,  # before the general rules: keeps nothing
    join.INNER,
    outer_join.BY_KEY,  # before TOUCHED: recomputes nothing
    outer_join.TOUCHED,
    outer_join.SEMI_BY_KEY,  # before SEMI_TOUCHED: recomputes nothing
    outer_join.SEMI_TOUCHED,
    aggregate.MERGED,  # before AFFECTED: keeps no input
    panes.BY_PANE,  # before AFFECTED, too
    aggregate.AFFECTED,
)


def find(node: Relation, inputs: tuple[Input, ...]) -> tuple[DeltaRule, Applies] | Reason:
    """Return the first rule that covers an operator, with its answer, or the most specific reason
    why none does."""
    reason = Reason.LIMIT if isinstance(node, Sort | Limit) else Reason.OPERATOR
    for rule in INCREMENTAL:
        if isinstance(node, rule.operator):
            answer = rule.applies(node, inputs)
            if isinstance(answer, Applies):
                return rule, answer
            if answer is not Reason.OPERATOR:
                reason = answer
    if reason is Reason.OPERATOR and isinstance(node, Join) and not split_condition(node).pairs:
        return Reason.NO_EQUALITY
    return reason
