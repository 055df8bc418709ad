"""Conditions that rows must meet: WHERE, HAVING, ON of an inner join."""

from __future__ import annotations

from sqlglot import exp

from forerun.planner.algebra.relational import Filter
from forerun.planner.algebra.scalar import conjunction
from forerun.planner.algebra.types import BOOLEAN, STRING
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.coercion import cast
from forerun.planner.sql.subqueries.apply import exists_condition, in_condition
from forerun.planner.sql.subqueries.negation import without_outer_not

SUBQUERIES = (exp.Subquery, exp.Select, exp.SetOperation, exp.Exists)


def filter_by(binder: Binder, node: exp.Expr) -> None:
    """Keep the rows for which the condition is true. Conjuncts without subqueries come first,
    so that what joins the subqueries in has less to do."""
    plain, memberships, others = [], [], []
    parts = conjuncts(node)
    for part in parts:
        inner, negated = _stripped(part)
        if isinstance(inner, exp.Exists) or (
            isinstance(inner, exp.In) and inner.args.get("query") is not None
        ):
            memberships.append((inner, negated))
        elif any(True for _ in part.find_all(*SUBQUERIES)):
            others.append(part)
        else:
            plain.append(part)
    alone = len(parts) == 1
    bound = [binder.bind(part) for part in plain]
    texts = {id(part) for part, value in zip(plain, bound, strict=True) if value.type == STRING}
    if not alone and any(id(part) not in texts for part in parts[:2]):  # beside a condition
        bound = [cast(value, BOOLEAN) if value.type == STRING else value for value in bound]
    predicates = [
        binder.predicate(part) if alone else binder.condition(part, value)
        for part, value in zip(plain, bound, strict=True)
    ]
    if predicates:
        binder.relation = Filter(binder.relation, conjunction(tuple(predicates)))
    for inner, negated in memberships:
        if isinstance(inner, exp.Exists):
            exists_condition(binder, inner, negated=negated)
        else:
            in_condition(binder, inner, negated=negated)
    for part in others:
        predicate = binder.predicate(part)
        binder.relation = Filter(binder.relation, predicate)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Return what AND connects in a condition, whatever stands in parentheses."""
    parts, stack = [], [node]
    while stack:
        part = stack.pop()
        inner = part.unnest() if isinstance(part, exp.Paren) else part
        negated = inner.this.unnest() if isinstance(inner, exp.Not) else None
        pushed = None if negated is None else without_outer_not(negated)
        if pushed is not None:
            stack.append(pushed)
        elif isinstance(inner, exp.And):
            stack += [inner.args["expression"], inner.this]
        else:
            parts.append(part)
    return parts


def _stripped(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The condition without parentheses and NOTs, and whether it is negated."""
    negated = False
    while isinstance(node, exp.Paren | exp.Not):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    return node, negated
