"""Quotients of DECIMALs that an engine other than Spark gives the same values.

Spark rounds a quotient once, half up, to the scale that follows from the types. The small engine
computes four digits more than the dividend has, whatever the divisor, and cuts off what comes after
them. So the dividend is given at least the scale of Spark's result: of the quotient there are then
more digits than that, all of them those of the exact value, and a cast that rounds half up gives
what rounding the exact value gives. What does not fit into 38 digits is an error there, never
another value. Means are taken apart into sums and counts first
(:mod:`forerun.planner.exact.means`).
"""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.functions import MAX_PRECISION
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    Project,
    Relation,
)
from forerun.planner.algebra.scalar import Call, Scalar
from forerun.planner.algebra.types import UNKNOWN, DataType, decimal
from forerun.planner.exact.means import without_means
from forerun.planner.exact.narrowing import cast_to
from forerun.planner.tvr.signed import ColumnIds

QUOTIENT_DIGITS = 4
"""So many digits the small engine computes of a quotient beyond those of its dividend."""


def with_exact_quotients(node: Relation, ids: ColumnIds) -> Relation:
    """Return a relation of the same rows whose quotients and means are exact on the small engine,
    too. Raises ValueError for a quotient of so many digits that none is left to round."""
    below = tuple(with_exact_quotients(one, ids) for one in node.inputs)
    if below:
        node = node.with_inputs(below)
    if isinstance(node, Project):
        return replace(node, items=tuple((c, _exact(scalar)) for c, scalar in node.items))
    if isinstance(node, Filter):
        return replace(node, predicate=_exact(node.predicate))
    if isinstance(node, Join):
        return replace(node, condition=_exact(node.condition))
    if isinstance(node, Aggregate):
        sums, finished = without_means(node, ids)
        calls = tuple((column, _exact_call(call)) for column, call in sums.calls)
        sums = replace(sums, calls=calls)
        if finished:
            return Project(sums, tuple((c, _exact(scalar)) for c, scalar in finished))
        return sums
    return node


def _exact_call(call: AggregateCall) -> AggregateCall:
    where = None if call.where is None else _exact(call.where)
    return replace(call, args=tuple(map(_exact, call.args)), where=where)


def _exact(scalar: Scalar) -> Scalar:
    if not isinstance(scalar, Call):
        return scalar
    if scalar.name == "cast" and scalar.type.name == "DECIMAL":
        # A quotient without a type of its own has that of the cast, and is rounded there.
        inner = scalar.args[0]
        if isinstance(inner, Call) and inner.name == "/" and inner.type == UNKNOWN:
            dividend, divisor = map(_exact, inner.args)
            return _quotient(dividend, divisor, scalar.type)
    args = tuple(map(_exact, scalar.args))
    if scalar.name == "/" and scalar.type.name == "DECIMAL":
        return _quotient(args[0], args[1], scalar.type)
    return replace(scalar, args=args)


def _quotient(dividend: Scalar, divisor: Scalar, type_: DataType) -> Scalar:
    scale = max(dividend.type.scale, type_.scale)
    if scale + QUOTIENT_DIGITS > MAX_PRECISION:
        raise ValueError(f"a quotient of {dividend.type.sql} has no digit left to round")
    wide = cast_to(dividend, decimal(MAX_PRECISION, scale))
    return Call("cast", (Call("/", (wide, divisor), UNKNOWN),), type_)
