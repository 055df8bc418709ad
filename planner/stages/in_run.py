"""The number of a run in what is computed in it, where a rule asked for it."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.relational import Aggregate, AggregateCall, Filter, Project, Relation
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.types import INT
from forerun.planner.rules.incremental.rule import THIS_RUN


def in_run(node: Relation, run: int) -> Relation:
    """The operator with the number of the run where a rule asked for it."""
    this = Literal(str(run), INT)
    if isinstance(node, Filter):
        return replace(node, predicate=_number(node.predicate, this))
    if isinstance(node, Project):
        return replace(node, items=tuple((c, _number(s, this)) for c, s in node.items))
    if isinstance(node, Aggregate):
        calls = tuple((c, _call_in_run(call, this)) for c, call in node.calls)
        return replace(node, calls=calls)
    return node


def _call_in_run(call: AggregateCall, this: Literal) -> AggregateCall:
    args = tuple(_number(arg, this) for arg in call.args)
    where = None if call.where is None else _number(call.where, this)
    return replace(call, args=args, where=where)


def _number(scalar: Scalar, this: Literal) -> Scalar:
    if scalar == THIS_RUN:
        return this
    if not isinstance(scalar, Call):
        return scalar
    args = tuple(_number(arg, this) for arg in scalar.args)
    return scalar if args == scalar.args else replace(scalar, args=args)
