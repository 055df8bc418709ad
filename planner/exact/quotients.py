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
from decimal import Decimal

from forerun.planner.algebra.functions import MAX_PRECISION
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    Project,
    Relation,
)
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.types import BOOLEAN, STRING, UNKNOWN, DataType, decimal
from forerun.planner.exact.means import without_means
from forerun.planner.exact.narrowing import cast_to
from forerun.planner.tvr.signed import ColumnIds

DIVIDING = ("/", "%", "div", "mod", "pmod")
"""What fails by a divisor of zero."""
CONDITIONS = ("and", "or", "not", "in")
"""What the small engine computes whole, whatever its first part says of a row."""
NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE")
_BY_ZERO = "division by zero: "
QUOTIENT_DIGITS = 4
"""So many digits the small engine computes of a quotient beyond those of its dividend."""


def with_exact_quotients(node: Relation, ids: ColumnIds) -> Relation:
    """Return an operator of the same rows whose quotients and means are exact on the small engine,
    too. Those of so many digits that none is left to round stay as they are."""
    if isinstance(node, Project):
        return replace(node, items=tuple((c, _exact(scalar)) for c, scalar in node.items))
    if isinstance(node, Filter):
        return replace(node, predicate=_exact(node.predicate, fails=False))
    if isinstance(node, Join):
        return replace(node, condition=_exact(node.condition, fails=False))
    if isinstance(node, Aggregate):
        sums, finished = without_means(node, ids)
        calls = tuple((column, _exact_call(call)) for column, call in sums.calls)
        sums = replace(sums, calls=calls)
        if finished:
            return Project(sums, tuple((c, _exact(scalar)) for c, scalar in finished))
        return sums
    return node


def _exact_call(call: AggregateCall) -> AggregateCall:
    where = None if call.where is None else _exact(call.where, fails=False)
    return replace(call, args=tuple(map(_exact, call.args)), where=where)


def _exact(scalar: Scalar, *, fails: bool = True) -> Scalar:
    """Return a scalar with exact quotients. Those that are computed for more rows than it is
    evaluated for on Spark, as below AND, do not fail (``fails`` false)."""
    if not isinstance(scalar, Call):
        return scalar
    fails = fails and scalar.name not in CONDITIONS
    if scalar.name == "cast" and scalar.type.name == "DECIMAL":
        # A quotient without a type of its own has that of the cast, and is rounded there.
        inner = scalar.args[0]
        if isinstance(inner, Call) and inner.name == "/" and inner.type == UNKNOWN:
            dividend, divisor = (_exact(arg, fails=fails) for arg in inner.args)
            return _quotient(dividend, divisor, scalar.type, fails=fails)
    args = tuple(_exact(arg, fails=fails) for arg in scalar.args)
    if scalar.name == "/" and scalar.type.name == "DECIMAL":
        return _quotient(args[0], args[1], scalar.type, fails=fails)
    if scalar.name in DIVIDING:
        args = _guarded(*args, fails=fails)
    return replace(scalar, args=args)


def _quotient(dividend: Scalar, divisor: Scalar, type_: DataType, *, fails: bool) -> Scalar:
    scale = max(dividend.type.scale, type_.scale)
    if not has_digit_to_round(dividend.type, type_):
        return Call("/", _guarded(dividend, divisor, fails=fails), type_)
    wide = cast_to(dividend, decimal(MAX_PRECISION, scale))
    return Call("cast", (Call("/", _guarded(wide, divisor, fails=fails), UNKNOWN),), type_)


def has_digit_to_round(dividend: DataType, type_: DataType) -> bool:
    """Return whether a quotient of this type can be had from one with more digits."""
    return max(dividend.scale, type_.scale) + QUOTIENT_DIGITS <= MAX_PRECISION


def is_never_zero(divisor: Scalar) -> bool:
    """Return whether it is known when the query is planned that nothing is divided by zero."""
    if not isinstance(divisor, Literal) or divisor.text is None:
        return False
    return Decimal(divisor.text) != 0


def _guarded(dividend: Scalar, divisor: Scalar, *, fails: bool) -> tuple[Scalar, Scalar]:
    """Return both with NULL and 1 in their places where the divisor is NULL. The small engine
    divides in rows that are not there, and by the 0 that it has stored for a NULL, and fails. By a
    zero in a row that is there a cast fails, which looks at rows; with ``fails`` false the quotient
    is NULL: of such a one no exact result may be made."""
    if isinstance(divisor, Literal) or (isinstance(divisor, Call) and divisor.name == "greatest"):
        return dividend, divisor
    zero = Literal("0", divisor.type)
    some = Literal(str(Decimal(1).scaleb(-divisor.type.scale)), divisor.type)
    counts = Call("<>", (divisor, zero), BOOLEAN)
    cases: tuple[Scalar, ...] = (counts, dividend)
    if fails and dividend.type.name in NUMBERS:
        said = Call("concat", (Literal(_BY_ZERO, STRING), cast_to(divisor, STRING)), STRING)
        cases += (Call("=", (divisor, zero), BOOLEAN), cast_to(said, dividend.type))
    nothing = Literal(None, dividend.type)
    return (
        Call("case", (*cases, nothing), dividend.type),
        Call("case", (counts, divisor, some), divisor.type),
    )
